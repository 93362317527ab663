//! Tools that are not known at compile time: a file defines them, and they are added and removed as it changes.
//!
//! `DYNAMIC_TOOLS` names the file. It contains a list such as
//! `[{"name": "greet", "description": "Greets a user", "arguments": {"name": "Name"}, "answer": "Hello, {name}!"}]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{Capability, ServerHandle};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A tool, as defined in the file.
#[data(input)]
struct Definition {
    name: String,
    description: String,
    /// Descriptions of the arguments, all of which are strings.
    #[serde(default)]
    arguments: BTreeMap<String, String>,
    /// The tool's result; `{city}` is replaced by the argument `city`.
    answer: String,
}

impl Definition {
    fn into_tool(self) -> DynamicTool {
        let properties: BTreeMap<_, _> = self
            .arguments
            .iter()
            .map(|(name, meaning)| (name, json!({"type": "string", "description": meaning})))
            .collect();
        let required: Vec<_> = self.arguments.keys().collect();
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let answer = self.answer;
        let say = move |arguments: Arguments, _: Context| {
            // Every second part was in braces and names an argument.
            let parts = answer.split(['{', '}']).enumerate();
            let text: String = parts
                .map(|(index, part)| match index % 2 {
                    0 => part,
                    _ => arguments.text(part).unwrap_or_default(),
                })
                .collect();
            async { text }
        };
        DynamicTool::new(self.name, schema, say).description(self.description)
    }
}

/// Serves the tools defined in the file, and no others. `loaded` is the text that the current tools were made from.
fn load(path: &Path, server: &ServerHandle, loaded: &mut String) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    if text == *loaded {
        return Ok(());
    }
    let definitions: Vec<Definition> = mcp_runtime::serde_json::from_str(&text)?;
    let tools = server.tools();
    let before = tools.names();
    // Applied as a whole or not at all, with a single notification.
    tools.edit(|tools| {
        for name in before {
            tools.remove(name);
        }
        for definition in definitions {
            tools.insert(definition.into_tool());
        }
    })?;
    *loaded = text;
    Ok(())
}

/// Loads the file, and loads it again whenever it changes, until the returned watcher is dropped.
fn follow(path: &Path, server: ServerHandle) -> Result<RecommendedWatcher, Box<dyn Error>> {
    let path = path.canonicalize()?;
    let mut loaded = String::new();
    load(&path, &server, &mut loaded)?;

    // Editors replace the file with a new one, so the directory is watched.
    let directory = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        let is_ours = event.need_rescan() || event.paths.contains(&path);
        if is_ours
            && !event.kind.is_access()
            && let Err(error) = load(&path, &server, &mut loaded)
        {
            tracing::error!("the tools stay as they are: {error}");
        }
    })?;
    watcher.watch(&directory, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::var_os("DYNAMIC_TOOLS").ok_or("set `DYNAMIC_TOOLS` to a file of tools")?;
    let server = Server::new("dynamic", "1.0.0").capability(Capability::Tools);
    let _watcher = follow(Path::new(&path), server.handle())?;
    server.run().await?;
    Ok(())
}
