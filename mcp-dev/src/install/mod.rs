//! `install`, `uninstall` and `installed`: the commands of a server made with mcp-runtime, which edit the configuration of
//! hosts, for files that a server cannot edit without a library: JSON with comments, and TOML.
//!
//! The server does everything except editing such text, for which it starts this program (`edit`).

mod commented_json;
pub(crate) mod edit;
#[cfg(test)]
mod tests;
mod toml;

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command};
use tokio::process::Command as Process;

use crate::describe::Program;
use crate::target::{Target, flag, option};

/// One of the commands, and its arguments.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) matches: ArgMatches,
}

const CLIENT: &str = "client";

/// Returns the definitions of the commands, without the arguments that specify the program. The options are those of the
/// server's commands, which check their values.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    let client = || {
        Arg::new(CLIENT)
            .value_name("CLIENT")
            .required(true)
            .help("The client")
    };
    let name = || {
        option(
            "name",
            "NAME",
            "The name of the entry (default: the server's name)",
        )
    };
    let config = || {
        option(
            "config",
            "FILE",
            "The configuration file (default: the client's usual one)",
        )
    };
    let dry_run = || flag("dry-run", "Print the new file and change nothing");
    let repeated = |name, value, help| option(name, value, help).action(ArgAction::Append);
    let install = Command::new("install")
        .about("Add the server to a client's configuration, and keep the comments in it")
        .args([client(), name(), config()])
        .arg(repeated(
            "env",
            "NAME=VALUE",
            "An environment variable for the server; may be repeated",
        ))
        .arg(
            repeated(
                "arg",
                "ARGUMENT",
                "An argument for the server; may be repeated",
            )
            .allow_hyphen_values(true),
        )
        .arg(option(
            "url",
            "URL",
            "Let the client connect to a server at this URL",
        ))
        .arg(option(
            "executable",
            "FILE",
            "The executable that the client starts (default: the program)",
        ))
        .arg(repeated(
            "header",
            "NAME=VALUE",
            "A header for requests to the URL; may be repeated",
        ))
        .arg(flag("print", "Print the entry and change nothing"))
        .arg(dry_run());
    let uninstall = Command::new("uninstall")
        .about("Remove the server from a client's configuration, and keep the comments in it")
        .args([client(), name(), config(), dry_run()]);
    let installed = Command::new("installed")
        .about("List the clients that have the server in their configuration")
        .arg(flag("json", "Print JSON, for programs"));
    [install, uninstall, installed].into_iter()
}

/// Runs the server's command. Returns `false` if it failed.
pub(crate) async fn run(Request { name, matches }: &Request, target: Target) -> Result<bool> {
    let program = Program::of(target).await?;
    // Any other program would do something else with these arguments.
    program.describe().await?;
    let editor = std::env::current_exe().context("the path of mcp-dev is not known")?;
    let (program, arguments) = program
        .words()
        .split_first()
        .context("there is no program")?;
    let mut command = Process::new(program);
    command
        .args(arguments)
        .arg(name)
        .args(forwarded(name, matches));
    command.arg("--editor").arg(editor).kill_on_drop(true);
    let status = command.status().await;
    let status = status.with_context(|| format!("cannot start `{program}`"))?;
    Ok(status.success())
}

/// Returns the arguments for the server's command with this name.
fn forwarded(name: &str, matches: &ArgMatches) -> Vec<OsString> {
    let mut words = Vec::new();
    let command = commands().find(|command| command.get_name() == name);
    for argument in command.iter().flat_map(Command::get_arguments) {
        let id = argument.get_id().as_str();
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            if matches.get_flag(id) {
                words.push(format!("--{id}").into());
            }
            continue;
        }
        for value in matches.get_many::<String>(id).into_iter().flatten() {
            words.push(if id == CLIENT {
                value.into()
            } else {
                format!("--{id}={value}").into()
            });
        }
    }
    words
}
