//! `prompt`: gets a prompt.

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};

use crate::client::ListRequest;
use crate::server::command_line::arguments::arguments;
use crate::server::command_line::call::{given, name, words};
use crate::server::command_line::outcome::CommandResult;
use crate::server::command_line::print;
use crate::server::command_line::session::{CommandSession, asking};

pub(super) fn command() -> Command {
    asking(Command::new("prompt").about("Get a prompt"))
        .arg(
            Arg::new("prompt")
                .value_name("PROMPT")
                .required(true)
                .help("The name of the prompt"),
        )
        .arg(words())
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    let name = name(matches, "prompt");
    session.find(ListRequest::Prompts, name).await?;
    // Prompt arguments are strings.
    let arguments = arguments(&given(matches), &Value::Null)?;
    let params = json!({"name": name, "arguments": arguments});
    let result = session.call("prompts/get", params).await?;
    if session.json() {
        print::json(&result);
        return Ok(true);
    }
    for message in result["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        print::line(&format!("{role}: {}", print::content(&message["content"])));
    }
    Ok(true)
}
