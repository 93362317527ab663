//! The extension `io.modelcontextprotocol/ui`, MCP Apps: pages that hosts display next to tool results.
//!
//! A page is an ordinary resource, and a tool names it in `_meta`, so an author could write all of this with `meta = …`
//! and [`Extension`]; the `app` attribute and the `app` tool option only add checks. `page` contains the parts of a
//! page on the wire, and `bridge.js` is the script through which a page communicates with its host. The messages
//! between the two never reach the server.
//!
//! Specification: the repository `modelcontextprotocol/ext-apps`, version 2026-01-26.

mod page;

use mcp_core::context::Context;
use mcp_core::extension::Extension;
use mcp_core::handler::option::{AdaptedTool, AddOn, ToolOption, ToolUse, ToolUseFormat};
pub use page::{
    AppCsp, AppPage, AppPermission, ToolVisibility, page_contents, page_meta, tool_meta,
};
use serde_json::{Map, Value, json};

/// The identifier of the extension.
const ID: &str = "io.modelcontextprotocol/ui";

/// The media type of pages.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// A page that hosts display, named by a struct with the `#[app]` attribute. Only the attribute
/// implements this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an app",
    label = "not an app",
    note = "name a struct with the attribute `app`: `#[app(\"ui/chart.html\")] struct Chart;`"
)]
pub trait App: 'static {
    /// The URI of the page, such as `ui://garden/ui/chart.html`.
    const URI: &'static str;
    #[doc(hidden)]
    const PAGE: &'static AppPage;
}

/// Marks a page, and the tools whose results it displays: the `app` option.
#[derive(Clone, Copy, Debug)]
pub struct InApp;

impl ToolOption for InApp {
    fn name(&self) -> &'static str {
        "app"
    }

    fn adapt(&self, _: &mut AdaptedTool) {}

    fn add_on(&self) -> AddOn {
        AddOn {
            name: "apps",
            adds_extension: true,
            // The host provides the extension's methods, so the server only declares it.
            start: |server| server.added.extensions.push(Extension::new(ID)),
        }
    }

    fn wraps_calls(&self) -> bool {
        false
    }
}

/// What a handler can ask about apps.
pub trait AppContextExt {
    /// Returns `true` if the client displays the pages of apps. Returns `false` if the server has
    /// no apps.
    ///
    /// A tool's result is the same in either case: `content` for the model, `structuredContent` for the page. A tool
    /// can use this to omit content that the page displays anyway.
    ///
    /// Source: the extension `io.modelcontextprotocol/ui`, "Client<>Server Capability Negotiation".
    #[must_use]
    fn shows_apps(&self) -> bool;
}

impl AppContextExt for Context {
    fn shows_apps(&self) -> bool {
        let settings = self.extension(ID);
        let types = settings.and_then(|settings| settings.get("mimeTypes")?.as_array());
        types.is_some_and(|types| types.iter().any(|one| one.as_str() == Some(MIME_TYPE)))
    }
}

inventory::submit! {
    ToolUseFormat {
        read: read_tool_use,
        write_for_models: |meta| {
            meta.insert("ui".to_owned(), json!({"visibility": ["model"]}));
        },
    }
}

/// Returns the page that hosts display for a tool, and whether only pages can call it, so that hosts hide it from models.
fn read_tool_use(meta: &Map<String, Value>) -> ToolUse<'_> {
    let ui = meta.get("ui");
    let users = ui.and_then(|ui| ui.get("visibility")?.as_array());
    ToolUse {
        companion: ui.and_then(|ui| ui.get("resourceUri")?.as_str()),
        is_hidden_from_models: users.is_some_and(|users| !users.iter().any(|user| user == "model")),
    }
}

/// Inserts members into the `ui` object, overwriting members with the same name that the author has set.
fn insert_ui(meta: &mut Value, members: Map<String, Value>) {
    if let Value::Object(meta) = meta {
        let ui = meta
            .entry("ui")
            .or_insert_with(|| Value::Object(members.clone()));
        if let Value::Object(ui) = ui {
            ui.extend(members);
        }
    }
}
