//! `tools`, `prompts`, `resources`, `templates`: list the server's definitions.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io;

use clap::Command;
use mcp_core::context::Capability;
use mcp_schema::explain::{kind, members};
use serde_json::Value;

use crate::print;
use crate::print::Style;
use crate::session::{CommandResult, CommandSession, with_common_options};

pub(super) fn command(name: &'static str, about: &'static str) -> Command {
    with_common_options(Command::new(name).about(about))
}

pub(super) async fn run(session: &CommandSession, list: Capability) -> CommandResult {
    let items = session.list(list).await?;
    if session.prints_json() {
        print::json(&Value::Array(items));
        return Ok(true);
    }
    if items.is_empty() {
        print::line("none");
        return Ok(true);
    }
    let texts: Vec<_> = items.iter().map(|item| describe(list, item)).collect();
    let between = match list {
        Capability::Tools | Capability::Prompts => "\n",
        Capability::Resources | Capability::Templates => "",
    };
    print::styled_line(&texts.join(between));
    Ok(true)
}

fn styled(text: impl Display, style: Style) -> String {
    print::styled(text, style, &io::stdout())
}

fn shown(text: &str) -> Cow<'_, str> {
    print::shown(text, &io::stdout())
}

fn describe(list: Capability, item: &Value) -> String {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let mut description = match list {
        Capability::Tools => format!("({})", shown(&tool_arguments(item))),
        Capability::Prompts => format!("({})", shown(&prompt_arguments(item))),
        Capability::Resources | Capability::Templates => String::new(),
    };
    description.insert_str(0, &styled(text(list.item_key()), Style::Name));
    if let Some(mime_type) = item["mimeType"].as_str() {
        let _ = write!(
            description,
            "  {}",
            styled(format!("[{mime_type}]"), Style::Aside)
        );
    }
    let hints = [
        ("readOnlyHint", "read-only"),
        ("destructiveHint", "destructive"),
        ("idempotentHint", "idempotent"),
    ];
    for (hint, word) in hints {
        if item["annotations"][hint] == true {
            let _ = write!(
                description,
                "  {}",
                styled(format!("[{word}]"), Style::Aside)
            );
        }
    }
    description.push('\n');
    for line in text("description").lines() {
        let _ = writeln!(description, "    {}", shown(line));
    }
    let arguments = described_arguments(list, item);
    let width = arguments.iter().map(|(name, _)| name.chars().count()).max();
    for (name, about) in arguments {
        let name = shown(name);
        let width = width.unwrap_or_default();
        let _ = writeln!(
            description,
            "      {name:width$}  {}",
            styled(print::first_line(about), Style::Aside)
        );
    }
    description
}

/// Formats a tool's arguments, as in `a: integer, b?: string = "x"`.
fn tool_arguments(tool: &Value) -> String {
    members(&tool["inputSchema"], kind).join(", ")
}

fn prompt_arguments(prompt: &Value) -> String {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    let arguments = arguments.map(|argument| {
        let optional = if argument["required"] == true {
            ""
        } else {
            "?"
        };
        format!(
            "{}{optional}",
            argument["name"].as_str().unwrap_or_default()
        )
    });
    arguments.collect::<Vec<_>>().join(", ")
}

/// Returns the name and description of each argument that has a description.
fn described_arguments(list: Capability, item: &Value) -> Vec<(&str, &str)> {
    if list == Capability::Tools {
        let properties = item["inputSchema"]["properties"].as_object();
        let properties = properties.into_iter().flatten();
        return properties
            .filter_map(|(name, property)| Some((name.as_str(), property["description"].as_str()?)))
            .collect();
    }
    let arguments = item["arguments"].as_array().into_iter().flatten();
    arguments
        .filter_map(|argument| {
            Some((
                argument["name"].as_str()?,
                argument["description"].as_str()?,
            ))
        })
        .collect()
}
