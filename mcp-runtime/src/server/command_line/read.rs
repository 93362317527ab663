//! `read`: reads a resource.

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use crate::client::ListRequest;
use crate::server::command_line::call::argument_text;
use crate::server::command_line::outcome::{CommandError, CommandResult};
use crate::server::command_line::print;
use crate::server::command_line::session::{CommandSession, with_answer_options};

pub(super) fn command() -> Command {
    with_answer_options(Command::new("read").about("Read a resource")).arg(
        Arg::new("uri")
            .value_name("URI")
            .required(true)
            .help("The URI of a resource, or one that matches a template"),
    )
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    if !session.client.server_offers(ListRequest::Resources) {
        return Err(CommandError::Failed(
            "the server has no resources".to_owned(),
        ));
    }
    let params = json!({"uri": argument_text(matches, "uri")});
    let result = session.call("resources/read", params).await?;
    if session.prints_json() {
        print::json(&result);
        return Ok(true);
    }
    for contents in result["contents"].as_array().into_iter().flatten() {
        print::line(&print::content(contents));
    }
    Ok(true)
}
