//! A bundle's `manifest.json`: the server's definitions, the command that starts it, and the settings that hosts ask
//! users for.
//!
//! Source: repository modelcontextprotocol/mcpb, `MANIFEST.md`, version 0.3.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::environment::DeclaredVariable;

/// The programs in a bundle, keyed by platform.
pub(super) struct BundledPrograms {
    /// The format's name for each platform, and the program's path in the bundle.
    pub(super) paths: Vec<(&'static str, String)>,
    pub(super) arguments: Vec<String>,
}

impl BundledPrograms {
    /// Returns the `server` member, which contains the first program, with the others as exceptions.
    pub(super) fn server(&self, variables: &[DeclaredVariable]) -> Value {
        let mut paths = self.paths.iter();
        let path = paths.next().map_or("", |(_, path)| path.as_str());
        let command = |path: &str| format!("${{__dirname}}/{path}");
        let mut config = json!({"command": command(path), "args": self.arguments});
        if !variables.is_empty() {
            let values = variables.iter().map(|variable| {
                let value = format!("${{user_config.{}}}", key(variable));
                (variable.name.clone(), value.into())
            });
            config["env"] = values.collect::<Map<_, _>>().into();
        }
        let others = paths
            .map(|(platform, path)| ((*platform).to_owned(), json!({"command": command(path)})));
        let others: Map<_, _> = others.collect();
        if !others.is_empty() {
            config["platform_overrides"] = others.into();
        }
        json!({"type": "binary", "entry_point": path, "mcp_config": config})
    }

    /// Returns the `compatibility` member.
    pub(super) fn compatibility(&self) -> Value {
        let platforms: Vec<_> = self.paths.iter().map(|(platform, _)| *platform).collect();
        json!({"platforms": platforms})
    }
}

/// Returns the names and descriptions of the tools.
pub(super) fn tools(tools: &[Value]) -> Value {
    let described = tools.iter().map(|tool| {
        let mut described = json!({"name": tool["name"]});
        if let Some(text) = tool["description"].as_str() {
            described["description"] = text.into();
        }
        described
    });
    described.collect()
}

/// Returns the settings that hosts ask users for, one for each environment variable that the server declares.
pub(super) fn user_config(variables: &[DeclaredVariable]) -> Value {
    let settings = variables
        .iter()
        .map(|variable| (key(variable), setting(variable)));
    settings.collect::<Map<_, _>>().into()
}

/// Returns the first setting name that two variables would share, if any.
pub(super) fn shared_setting(variables: &[DeclaredVariable]) -> Option<String> {
    let mut names = BTreeSet::new();
    let mut keys = variables.iter().map(key);
    keys.find(|key| !names.insert(key.clone()))
}

fn setting(variable: &DeclaredVariable) -> Value {
    let kind = match variable.kind() {
        // Only strings can be marked as secret.
        _ if variable.is_secret => "string",
        "integer" | "number" => "number",
        "boolean" => "boolean",
        _ => "string",
    };
    let title = title(variable);
    let description = variable.description().unwrap_or_else(|| title.clone());
    let mut setting = json!({
        "type": kind,
        "title": title,
        "description": description,
        "required": variable.is_required,
    });
    if variable.is_secret {
        setting["sensitive"] = true.into();
    }
    match variable.default() {
        Some(default @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            setting["default"] = default.clone();
        }
        // List items are separated by commas, and other values are JSON.
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            setting["default"] = items.join(",").into();
        }
        Some(Value::Null) | None => {}
        Some(default) => setting["default"] = default.to_string().into(),
    }
    if kind == "number" {
        for (bound, member) in [("minimum", "min"), ("maximum", "max")] {
            if variable.schema[bound].is_number() {
                setting[member] = variable.schema[bound].clone();
            }
        }
    }
    setting
}

/// Returns the name of a setting, such as `notes_max_rows`.
fn key(variable: &DeclaredVariable) -> String {
    variable.name.to_lowercase()
}

/// Returns the title of a setting, such as `Max rows`.
fn title(variable: &DeclaredVariable) -> String {
    let words = variable.field.to_lowercase().replace(['_', '-'], " ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
