//! `manifest` and `bundle`: the server as the MCP registry and hosts expect it. Needs feature `ship`.
//!
//! Nothing is sent anywhere; publishing is left to the tools of the registry.

mod archive;
mod bundle;
mod bundle_manifest;
mod manifest;
mod output;
mod schema;
#[cfg(test)]
mod tests;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::server::Server;
use crate::server::command_line::outcome::CommandResult;

/// Adds the commands.
pub(super) fn with_commands(command: Command) -> Command {
    command
        .subcommand(manifest::command())
        .subcommand(bundle::command())
}

/// Returns `true` for the names of these commands.
pub(super) fn is_command(name: &str) -> bool {
    matches!(name, "manifest" | "bundle")
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
        _ => bundle::run(server, before, matches).await,
    }
}

/// Defines an option that takes a value.
fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// Defines an option that takes a value and may be repeated.
fn repeated(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).action(ArgAction::Append)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// Returns the value of an option.
fn text<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// Returns the values of an option that may be repeated.
fn texts<'m>(matches: &'m ArgMatches, name: &str) -> impl Iterator<Item = &'m str> {
    let values = matches.get_many::<String>(name);
    values.into_iter().flatten().map(String::as_str)
}

/// Returns the description of the server: the option, or what the program says.
fn description<'a>(server: &'a Server, matches: &'a ArgMatches) -> Result<&'a str, String> {
    let own = server.identity.description.as_deref();
    text(matches, "description").or(own).ok_or_else(|| {
        "the server has no description: call `.description(…)` on it, or pass `--description`"
            .to_owned()
    })
}
