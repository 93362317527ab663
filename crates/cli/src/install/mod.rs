//! `install`, `uninstall` and `installed`: manage the server's entries in client configurations.
//!
//! Everything else in a file is preserved, and a backup of the old file is saved next to it.

mod add;
mod change;
mod document;
mod editor;
mod entry;
mod file;
mod hosts;
mod installed;
mod options;
mod plain_json;
#[cfg(test)]
mod tests;
mod uninstall;

use clap::{ArgMatches, Command};
use editor::TextEditor;
use mcp_protocol::types::Implementation;
use mcp_settings::ServerEnvironment;
use options::HostEntry;

use crate::session::CommandResult;

/// Adds the commands for client configurations.
pub(super) fn with_commands(command: Command) -> Command {
    command
        .subcommand(add::command())
        .subcommand(uninstall::command())
        .subcommand(installed::command())
}

/// Runs one of the commands.
pub(super) fn run(
    name: &str,
    (identity, environment): (&Implementation, &ServerEnvironment),
    before: &ArgMatches,
    matches: &ArgMatches,
) -> CommandResult {
    match name {
        "installed" => installed::run(
            identity,
            before.get_flag("json") || matches.get_flag("json"),
            TextEditor::read(matches),
        ),
        "uninstall" => uninstall::run(&HostEntry::read(identity, matches)?, matches),
        _ => add::run(&HostEntry::read(identity, matches)?, environment, matches),
    }
}

/// Returns `true` for the names of these commands.
pub(super) fn is_command(name: &str) -> bool {
    matches!(name, "install" | "uninstall" | "installed")
}
