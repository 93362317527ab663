//! `read`: reads a resource.

use clap::{Arg, ArgMatches, Command};
use serde_json::json;

use crate::client::ListRequest;
use crate::server::command_line::call::name;
use crate::server::command_line::outcome::{CommandError, CommandResult};
use crate::server::command_line::print;
use crate::server::command_line::session::{CommandSession, asking};

pub(super) fn command() -> Command {
    asking(Command::new("read").about("Read a resource")).arg(
        Arg::new("uri")
            .value_name("URI")
            .required(true)
            .help("The URI of a resource, or one that matches a template"),
    )
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    if !session.client.offers(ListRequest::Resources) {
        return Err(CommandError::Failed(
            "the server has no resources".to_owned(),
        ));
    }
    let params = json!({"uri": name(matches, "uri")});
    let result = session.call("resources/read", params).await?;
    if session.json() {
        print::json(&result);
        return Ok(true);
    }
    for contents in result["contents"].as_array().into_iter().flatten() {
        print::line(&print::content(contents));
    }
    Ok(true)
}
