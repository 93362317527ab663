//! `manifest`, `bundle` and `recipe`: write files about the server for the MCP registry, hosts and operators. Requires
//! the `ship` feature.
//!
//! These commands do not send any data; publishing is left to the registry's tools.

mod bundle;
mod manifest;
mod output;
#[cfg(feature = "http")]
mod recipe;
#[cfg(test)]
mod tests;

use clap::{ArgMatches, Command};

use crate::server::Server;
use crate::server::command_line::session::CommandResult;

/// Adds the commands.
pub(super) fn with_commands(command: Command) -> Command {
    let command = command
        .subcommand(manifest::command())
        .subcommand(bundle::command());
    #[cfg(feature = "http")]
    let command = command.subcommand(recipe::command());
    command
}

/// Returns `true` for the names of these commands.
pub(super) fn is_command(name: &str) -> bool {
    matches!(name, "manifest" | "bundle" | "recipe")
}

/// Runs one of the commands.
pub(super) async fn run(
    name: &str,
    server: Server,
    before: &ArgMatches,
    matches: &ArgMatches,
) -> CommandResult {
    match name {
        "manifest" => manifest::run(&server, matches),
        #[cfg(feature = "http")]
        "recipe" => recipe::run(&server, matches),
        _ => bundle::run(server, before, matches).await,
    }
}
