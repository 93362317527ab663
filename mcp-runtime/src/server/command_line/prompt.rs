//! `prompt`: gets a prompt.

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};

use crate::context::Capability;
use crate::server::command_line::arguments::parse_arguments;
use crate::server::command_line::call::{argument_text, given_arguments, name_value_arg};
use crate::server::command_line::print;
use crate::server::command_line::session::{CommandResult, CommandSession, with_answer_options};

pub(super) fn command() -> Command {
    with_answer_options(Command::new("prompt").about("Get a prompt"))
        .arg(
            Arg::new("prompt")
                .value_name("PROMPT")
                .required(true)
                .help("The name of the prompt"),
        )
        .arg(name_value_arg())
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
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
