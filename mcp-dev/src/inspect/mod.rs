//! `check` and `types`: what is wrong with the definitions of a server, and TypeScript declarations of its tools, for any
//! server: a command, a URL or a cargo project.
//!
//! A command starts the server as a client does (`client`). What only servers made with mcp-runtime can tell, such as
//! the places of definitions in the source, comes from their `--describe`.

mod check;
mod client;
mod types;

use std::time::Duration;

use anyhow::Result;
use clap::{ArgMatches, Command, value_parser};

use crate::session::Era;
use crate::target::{Target, option};

pub(crate) use check::{examine, findings};
pub(crate) use client::{ConnectOptions, ServerClient};

/// One of the commands, and its arguments.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) matches: ArgMatches,
}

/// Returns the definitions of the commands, without the arguments that specify the server.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    [check::command(), types::command()]
        .into_iter()
        .map(with_connection)
}

/// Runs a command for a server. Returns `false` if it found a problem.
pub(crate) async fn run(request: &Request, target: Target) -> Result<bool> {
    let target = target.built().await?;
    let Request { name, matches } = request;
    match name.as_str() {
        "types" => types::run(matches, &target).await,
        _ => check::run(matches, &target).await,
    }
}

/// Time limit for an answer of the server unless the user sets another.
const PATIENCE_SECONDS: u64 = 30;

/// Adds the options for connecting to a server.
fn with_connection(command: Command) -> Command {
    command
        .arg(
            option(
                "protocol-version",
                "DATE",
                "The protocol version to speak (default: the newest that the server has)",
            )
            .value_parser(Era::BOTH.map(Era::version)),
        )
        .arg(
            option(
                "timeout",
                "SECONDS",
                "Time limit for each answer of the server (default: 30)",
            )
            .value_parser(value_parser!(u64).range(1..=86_400)),
        )
}

/// Reads the options for connecting to a server.
fn connection(matches: &ArgMatches) -> ConnectOptions {
    let version = matches.get_one::<String>("protocol-version");
    let seconds = matches.get_one::<u64>("timeout").copied();
    ConnectOptions {
        era: version.and_then(|date| Era::BOTH.into_iter().find(|era| era.version() == date)),
        patience: Duration::from_secs(seconds.unwrap_or(PATIENCE_SECONDS)),
    }
}
