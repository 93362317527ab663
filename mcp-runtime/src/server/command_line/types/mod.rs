//! `types`: prints TypeScript declarations for the tools' arguments and structured results, and for the script that
//! connects a page to its host, so that code editors can assist the authors of pages.

mod typescript;

use std::fmt::Write as _;

use clap::Command;
use serde_json::Value;

use crate::client::ListRequest;
use crate::extension::apps::BRIDGE_TYPES;
use crate::server::command_line::outcome::CommandResult;
use crate::server::command_line::print;
use crate::server::command_line::session::{CommandSession, with_common_options};
use typescript::{comment, type_of};

pub(super) fn command() -> Command {
    with_common_options(
        Command::new("types")
            .about("Print TypeScript declarations of the tools, for pages of apps")
            .long_about(
                "Prints TypeScript declarations of the tools' arguments and structured results, and of `mcpApp`, the connection \
                 of a page to its host. With `// @ts-check` and `/// <reference path=\"mcp-app.d.ts\" />` in the script of a page, \
                 editors check what it does without any build step.",
            ),
    )
}

pub(super) async fn run(session: &CommandSession) -> CommandResult {
    let tools = session.list(ListRequest::Tools).await?;
    let text = declarations(&tools);
    if session.prints_json() {
        print::json(&Value::String(text));
    } else {
        print::line(&text);
    }
    Ok(true)
}

fn declarations(tools: &[Value]) -> String {
    let mut text = String::from(
        "// Written by the command `types`. Do not edit.\n\n/** The tools of the server. */\ninterface McpTools {\n",
    );
    for tool in tools {
        let name = &tool["name"];
        let input = type_of(&tool["inputSchema"], 2);
        let result = match &tool["outputSchema"] {
            Value::Null => "undefined".to_owned(),
            schema => type_of(schema, 2),
        };
        let about = comment(tool, 1);
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "{about}  {name}: {{\n    arguments: {input};\n    result: {result};\n  }};\n"
        );
    }
    text.push_str("}\n\n");
    let names: Vec<_> = tools
        .iter()
        .filter(|tool| opens_page(tool))
        .map(|tool| tool["name"].to_string())
        .collect();
    let names = match names.as_slice() {
        [] => "never".to_owned(),
        names => names.join(" | "),
    };
    let _ = write!(
        text,
        "/** The tools whose results pages show. */\ntype McpPageTool = {names};\n{BRIDGE_TYPES}"
    );
    text
}

/// Returns `true` if the host shows a page when the model calls the tool. A page receives the results of other tools
/// only if it calls them.
fn opens_page(tool: &Value) -> bool {
    let ui = &tool["_meta"]["ui"];
    let visibility = ui["visibility"].as_array();
    let is_for_models = visibility.is_none_or(|users| users.iter().any(|user| user == "model"));
    ui["resourceUri"].is_string() && is_for_models
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_becomes_a_member_with_its_types() {
        let tools = [
            json!({"name": "a.b", "description": "Adds.", "inputSchema": {"type": "object"}}),
            json!({
                "name": "sales",
                "inputSchema": {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]},
                "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}},
                "_meta": {"ui": {"resourceUri": "ui://a/b"}},
            }),
        ];
        let text = declarations(&tools);
        let (head, _) = text.split_once("type McpToolName").unwrap();
        expect_test::expect![[r#"
            // Written by the command `types`. Do not edit.

            /** The tools of the server. */
            interface McpTools {
              /** Adds. */
              "a.b": {
                arguments: Record<string, unknown>;
                result: undefined;
              };
              "sales": {
                arguments: {
                  year: number;
                };
                result: {
                  sum?: number;
                };
              };
            }

            /** The tools whose results pages show. */
            type McpPageTool = "sales";
        "#]]
        .assert_eq(head);
    }
}
