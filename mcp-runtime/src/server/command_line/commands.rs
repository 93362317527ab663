//! Defines the commands that use the server, and runs a command in a session.

use clap::{ArgMatches, Command};

use crate::context::Capability;
use crate::server::command_line::session::{CommandError, CommandResult, CommandSession};
use crate::server::command_line::{call, check, complete, list, print, prompt, read, types};

/// Adds the commands that use the server.
pub(super) fn with_commands(command: Command) -> Command {
    command
        .subcommand_value_name("COMMAND")
        .subcommand(list::command("tools", "List the tools and their arguments").alias("list"))
        .subcommand(list::command(
            "prompts",
            "List the prompts and their arguments",
        ))
        .subcommand(list::command("resources", "List the resources"))
        .subcommand(list::command("templates", "List the resource templates"))
        .subcommand(call::command())
        .subcommand(prompt::command())
        .subcommand(read::command())
        .subcommand(complete::command())
        .subcommand(check::command())
        .subcommand(types::command())
}

/// Returns `true` if the command reads only definitions, for which the server needs no values for its settings.
/// Resources are not among them, because user code can list them.
pub(super) fn needs_only_definitions(name: &str) -> bool {
    matches!(name, "tools" | "prompts" | "templates" | "types" | "check")
}

/// Runs a command on the server.
pub(super) async fn perform_in(
    session: &CommandSession,
    name: &str,
    matches: &ArgMatches,
) -> CommandResult {
    session.begin_command(matches)?;
    let outcome = match dispatch(session, name, matches).await {
        Err(CommandError::Failed(text)) => {
            print::error(&text);
            Ok(false)
        }
        outcome => outcome,
    };
    session.report_unused_answers();
    outcome
}

async fn dispatch(session: &CommandSession, name: &str, matches: &ArgMatches) -> CommandResult {
    match name {
        "tools" => list::run(session, Capability::Tools).await,
        "prompts" => list::run(session, Capability::Prompts).await,
        "resources" => list::run(session, Capability::Resources).await,
        "templates" => list::run(session, Capability::Templates).await,
        "call" => call::run(session, matches).await,
        "prompt" => prompt::run(session, matches).await,
        "read" => read::run(session, matches).await,
        "complete" => complete::run(session, matches).await,
        "types" => types::run(session).await,
        _ => check::run(session, matches).await,
    }
}
