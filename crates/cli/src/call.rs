//! `call` and `prompt`: call a tool, and get a prompt.

use std::io;
use std::io::IsTerminal as _;

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_core::context::Capability;
use serde_json::{Value, json};

use crate::arguments::parse_arguments;
use crate::print;
use crate::print::terminal_width;
use crate::session::{CommandResult, CommandSession, with_answer_options};

pub(super) fn command() -> Command {
    with_answer_options(Command::new("call").about("Call a tool").long_about(
        "Calls a tool and prints its result. Fails if the tool fails.\n\nThe tool's schema determines the types of values: \
         `call add a=1 b=2`. Write arrays and objects as JSON. You can also pass all arguments as one \
         JSON object, or as `@file`, where the file contains one. `text=@file` sends the contents of a file if the \
         argument takes a string or bytes; `text=@@home` is the string `@home`.",
    ))
    .arg(Arg::new("tool").value_name("TOOL").required(true).help("The name of the tool"))
    .arg(name_value_arg())
    .arg(
        Arg::new("task")
            .long("task")
            .action(ArgAction::SetTrue)
            .help("Call the tool as a task and wait for its result"),
    )
}

/// Defines the command-line argument that contains the arguments for a tool or prompt.
pub(super) fn name_value_arg() -> Arg {
    Arg::new("arguments")
        .value_name("NAME=VALUE")
        .num_args(0..)
        .help("Arguments, one JSON object, or `@file`")
}

pub(super) fn given_arguments(matches: &ArgMatches) -> Vec<String> {
    let words = matches.get_many::<String>("arguments");
    words.into_iter().flatten().cloned().collect()
}

pub(super) fn argument_text<'m>(matches: &'m ArgMatches, argument: &str) -> &'m str {
    matches
        .get_one::<String>(argument)
        .map_or("", String::as_str)
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    let name = argument_text(matches, "tool");
    let tool = match session.find(Capability::Tools, name).await {
        Err(unknown) if session.is_principal => {
            // A tool may be unlisted because it requires scopes. Calling the tool returns an error that names those
            // scopes.
            session.call("tools/call", json!({"name": name})).await?;
            return Err(unknown);
        }
        found => found?,
    };
    let arguments = parse_arguments(&given_arguments(matches), &tool["inputSchema"])?;
    let params = json!({"name": name, "arguments": arguments});
    let result = if matches.get_flag("task") {
        session.call_as_task(params).await?
    } else {
        session.call("tools/call", params).await?
    };
    let failed = result["isError"] == true;
    if session.prints_json() {
        print::json(&result);
        return Ok(!failed);
    }
    let blocks = result["content"].as_array().into_iter().flatten();
    let text = blocks.map(print::content).collect::<Vec<_>>().join("\n");
    let stdout = io::stdout();
    // If the tool describes the result in its own words, that text is printed instead of a table.
    let is_data =
        serde_json::from_str(&text).is_ok_and(|data: Value| data == result["structuredContent"]);
    if failed {
        print::error(&text);
    } else if is_data
        && stdout.is_terminal()
        && let Some(table) = print::table(
            &result["structuredContent"],
            terminal_width(),
            |text, style| print::styled(text, style, &stdout),
        )
    {
        print::styled_line(&table);
    } else if !text.is_empty() {
        print::line(&text);
    }
    Ok(!failed)
}

// --- `prompt`: gets a prompt.

pub(super) fn prompt_command() -> Command {
    with_answer_options(Command::new("prompt").about("Get a prompt"))
        .arg(
            Arg::new("prompt")
                .value_name("PROMPT")
                .required(true)
                .help("The name of the prompt"),
        )
        .arg(name_value_arg())
}

pub(super) async fn run_prompt(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    let name = argument_text(matches, "prompt");
    session.find(Capability::Prompts, name).await?;
    // Prompt arguments are strings.
    let arguments = parse_arguments(&given_arguments(matches), &Value::Null)?;
    let params = json!({"name": name, "arguments": arguments});
    let result = session.call("prompts/get", params).await?;
    if session.prints_json() {
        print::json(&result);
        return Ok(true);
    }
    for message in result["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        print::line(&format!("{role}: {}", print::content(&message["content"])));
    }
    Ok(true)
}
