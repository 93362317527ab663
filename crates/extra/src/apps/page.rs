//! A page and its tools on the wire: their contents and `_meta` members.

use std::borrow::Cow;

use mcp_core::handler::output::IntoResourceResult as _;
use mcp_core::handler::run::{CallOutput, Output};
use mcp_protocol::types::ResourceContents;
use mcp_schema::template::normal_uri;
use serde_json::{Map, Value, json};

use crate::apps::{MIME_TYPE, insert_ui};

/// The element that is replaced with the bridge.
const MARKER: &str = "<script src=\"mcp-app.js\"></script>";
/// The bridge as embedded in pages, which does not contain `</script`.
const BRIDGE: &str = include_str!("bridge.js");

/// A page as described by its attribute. Created only by the macro.
#[derive(Debug)]
pub struct AppPage {
    /// The file.
    pub html: &'static str,
    /// `csp(…)`
    pub csp: Option<AppCsp>,
    /// `permissions(…)`
    pub permissions: Option<&'static [AppPermission]>,
    /// `domain`
    pub domain: Option<&'static str>,
    /// `prefers_border`
    pub prefers_border: Option<bool>,
    /// `deprecated_key`: tools also name the page in `_meta["ui/resourceUri"]`
    pub deprecated_key: bool,
    /// The URI.
    pub uri: &'static str,
}

impl AppPage {
    /// An empty page without options.
    pub const NONE: Self = Self {
        html: "",
        csp: None,
        permissions: None,
        domain: None,
        prefers_border: None,
        deprecated_key: false,
        uri: "",
    };
}

/// The origins that a page uses. The host refuses all other origins.
#[derive(Debug)]
#[allow(
    clippy::struct_field_names,
    reason = "the fields are the specification's"
)]
pub struct AppCsp {
    /// `connect_domains(…)`
    pub connect_domains: &'static [&'static str],
    /// `resource_domains(…)`
    pub resource_domains: &'static [&'static str],
    /// `frame_domains(…)`
    pub frame_domains: &'static [&'static str],
    /// `base_uri_domains(…)`
    pub base_uri_domains: &'static [&'static str],
}

impl AppCsp {
    /// No origins.
    pub const NONE: Self = Self {
        connect_domains: &[],
        resource_domains: &[],
        frame_domains: &[],
        base_uri_domains: &[],
    };
}

/// A browser feature that a page requests.
#[derive(Clone, Copy, Debug)]
pub enum AppPermission {
    /// `camera`
    Camera,
    /// `microphone`
    Microphone,
    /// `geolocation`
    Geolocation,
    /// `clipboard_write`
    ClipboardWrite,
}

/// A user of a tool.
#[derive(Clone, Copy, Debug)]
pub enum ToolVisibility {
    /// `model`
    Model,
    /// `app`
    App,
}

/// Returns the result of reading a page. The result repeats the `_meta` from the list, because many hosts look only
/// here.
///
/// # Errors
///
/// Never fails.
pub fn page_contents(page: &'static AppPage) -> Output {
    let mut contents = ResourceContents::text("", with_bridge(page.html)).with_mime_type(MIME_TYPE);
    let members = page_members(page);
    if !members.is_empty() {
        let ui = json!({ "ui": members });
        contents.meta = ui.as_object().cloned();
    }
    contents.into_resource_result().map(CallOutput::Resource)
}

/// Returns a page's `_meta` for the list of resources. `meta` is the author's `_meta`.
#[must_use]
pub fn page_meta(page: &'static AppPage, meta: Option<Value>) -> Value {
    let mut meta = meta.unwrap_or_else(|| Value::Object(Map::new()));
    let members = page_members(page);
    if !members.is_empty() {
        insert_ui(&mut meta, members);
    }
    meta
}

/// Returns a tool's `_meta`. `meta` is the author's `_meta`.
#[must_use]
pub fn tool_meta(
    page: Option<&'static AppPage>,
    visibility: &[ToolVisibility],
    meta: Option<Value>,
) -> Value {
    let mut meta = meta.unwrap_or_else(|| Value::Object(Map::new()));
    let mut members = Map::new();
    if let Some(page) = page {
        // As the page is listed.
        let uri = normal_uri(page.uri);
        members.insert("resourceUri".to_owned(), uri.clone().into());
        if let (true, Value::Object(meta)) = (page.deprecated_key, &mut meta) {
            meta.insert("ui/resourceUri".to_owned(), uri.clone().into());
        }
    }
    if !visibility.is_empty() {
        let users = visibility.iter().map(|user| match user {
            ToolVisibility::Model => "model",
            ToolVisibility::App => "app",
        });
        members.insert("visibility".to_owned(), users.collect());
    }
    insert_ui(&mut meta, members);
    meta
}

/// Returns the members of a page's `_meta.ui`.
fn page_members(page: &AppPage) -> Map<String, Value> {
    let mut members = Map::new();
    if let Some(csp) = &page.csp {
        let lists = [
            ("connectDomains", csp.connect_domains),
            ("resourceDomains", csp.resource_domains),
            ("frameDomains", csp.frame_domains),
            ("baseUriDomains", csp.base_uri_domains),
        ];
        let lists = lists.into_iter().filter(|(_, origins)| !origins.is_empty());
        let csp: Map<_, _> = lists
            .map(|(name, origins)| (name.to_owned(), origins.into()))
            .collect();
        members.insert("csp".to_owned(), csp.into());
    }
    if let Some(permissions) = page.permissions {
        let names = permissions.iter().map(|permission| match permission {
            AppPermission::Camera => "camera",
            AppPermission::Microphone => "microphone",
            AppPermission::Geolocation => "geolocation",
            AppPermission::ClipboardWrite => "clipboardWrite",
        });
        let permissions: Map<_, _> = names.map(|name| (name.to_owned(), json!({}))).collect();
        members.insert("permissions".to_owned(), permissions.into());
    }
    if let Some(domain) = page.domain {
        members.insert("domain".to_owned(), domain.into());
    }
    if let Some(prefers) = page.prefers_border {
        members.insert("prefersBorder".to_owned(), prefers.into());
    }
    members
}

/// Replaces the first marker with the bridge.
fn with_bridge(html: &str) -> Cow<'_, str> {
    match html.split_once(MARKER) {
        Some((before, after)) => {
            let parts = [before, "<script>\n", BRIDGE, "</script>", after];
            Cow::Owned(parts.concat())
        }
        None => Cow::Borrowed(html),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridge_is_short_and_can_be_embedded() {
        assert!(BRIDGE.lines().count() <= 200);
        assert!(!BRIDGE.to_ascii_lowercase().contains("</script"));
        assert!(!BRIDGE.contains("<!--"));
    }

    #[test]
    fn the_marker_is_replaced_once_and_a_page_without_it_stays_as_it_is() {
        let page = format!("<p>é</p>{MARKER}<p>{MARKER}</p>");
        let embedded = with_bridge(&page);
        assert!(embedded.starts_with("<p>é</p><script>\n"));
        assert!(embedded.contains(BRIDGE));
        assert!(embedded.ends_with(&format!("</script><p>{MARKER}</p>")));
        assert!(matches!(with_bridge("<p></p>"), Cow::Borrowed("<p></p>")));
    }

    #[test]
    fn meta_can_add_members_but_not_replace_those_of_options() {
        static PAGE: AppPage = AppPage {
            uri: "ui://a/b",
            deprecated_key: true,
            ..AppPage::NONE
        };
        let meta = json!({"x": 1, "ui": {"resourceUri": "ui://c", "later": true}});
        let expected = json!({
            "x": 1,
            "ui": {"resourceUri": "ui://a/b", "later": true, "visibility": ["app"]},
            "ui/resourceUri": "ui://a/b",
        });
        let visibility = [ToolVisibility::App];
        assert_eq!(tool_meta(Some(&PAGE), &visibility, Some(meta)), expected);
    }
}
