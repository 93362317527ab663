//! The command line of [`Server::run`]: serving, and commands that try, check and install the server. Each command has
//! its own file.
//!
//! Commands that use the server start it in this process and speak the full protocol to it, as any client would.

mod arguments;
mod call;
mod check;
mod complete;
mod install;
mod list;
mod print;
mod prompt;
mod read;
mod serve;
mod session;
mod shell;
mod terminal;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command};

use crate::client::{Failure, ListRequest};
use crate::error::Error;
use crate::server::Server;
use crate::types::Implementation;
pub(super) use serve::Wishes;
use session::CommandSession;

/// The action requested on the command line.
pub(super) enum Wish {
    Serve(Wishes),
    Command(ArgMatches),
}

/// Parses the arguments of this process. Exits if they request help or are invalid.
pub(super) fn read(identity: &Implementation) -> Wish {
    if std::env::args_os().len() <= 1 {
        return Wish::Serve(Wishes::default());
    }
    parse(identity, std::env::args_os()).unwrap_or_else(|error| error.exit())
}

/// Parses the arguments of this process if they begin with a command. Exits if they request help for the command or are
/// invalid.
pub(super) fn read_command(identity: &Implementation) -> Option<ArgMatches> {
    let arguments: Vec<_> = std::env::args_os().collect();
    if !begins_with_command(&command(identity), &arguments) {
        return None;
    }
    match parse(identity, arguments).unwrap_or_else(|error| error.exit()) {
        Wish::Command(matches) => Some(matches),
        Wish::Serve(_) => None,
    }
}

/// Returns `true` for a common option that includes its value, such as `--revision=…`.
fn is_common_with_value(word: &str) -> bool {
    let option = word
        .strip_prefix("--")
        .and_then(|word| word.split_once('='));
    option.is_some_and(|(name, _)| session::COMMON.contains(&name))
}

/// Returns `true` if the first argument, after any common options, names a command.
fn begins_with_command(command: &Command, arguments: &[OsString]) -> bool {
    let mut arguments = arguments.iter().skip(1).map(|word| word.to_str());
    loop {
        match arguments.next().flatten() {
            Some("--json") => {}
            Some("--revision" | "--as" | "--scope") => drop(arguments.next()),
            Some(word) if is_common_with_value(word) => {}
            Some(word) => return command.find_subcommand(word).is_some(),
            None => return false,
        }
    }
}

fn parse(
    identity: &Implementation,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Wish, clap::Error> {
    let mut command = command(identity);
    let matches = command.try_get_matches_from_mut(arguments)?;
    let refused = |kind, text: &str| Err(command.clone().error(kind, text));
    match matches.subcommand() {
        Some(_) if Wishes::is_given(&matches) => refused(
            ErrorKind::ArgumentConflict,
            "a command does not serve, so `--http` and its options cannot be used with it",
        ),
        Some(_) => Ok(Wish::Command(matches)),
        None if matches.get_flag("json") || session::is_chosen(&matches) => refused(
            ErrorKind::MissingSubcommand,
            "`--json`, `--revision`, `--as` and `--scope` need a command, such as `tools`",
        ),
        None => Ok(Wish::Serve(Wishes::read(&matches))),
    }
}

fn command(identity: &Implementation) -> Command {
    let about = identity
        .description
        .clone()
        .unwrap_or_else(|| "A Model Context Protocol server".to_owned());
    let command = serve::arguments(Command::new(identity.name.clone()));
    // Common options may precede a command too; the help of each command shows them.
    let command = session::common(command).mut_args(|argument| {
        let is_common = session::COMMON.contains(&argument.get_id().as_str());
        argument.hide(is_common)
    });
    commands(command)
        .about(about)
        .after_help(
            "Without a command, it serves standard input and output, for clients that start servers themselves.",
        )
        .version(identity.version.clone())
        .subcommand(shell::command())
        .subcommand(install::command())
}

/// Adds the commands that use the server.
fn commands(command: Command) -> Command {
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
}

/// Failure of a command.
#[derive(Debug)]
enum CommandError {
    /// The server could not start.
    Start(Error),
    /// The command failed with this message.
    Said(String),
}

impl From<String> for CommandError {
    fn from(text: String) -> Self {
        Self::Said(text)
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Said(failure.to_string())
    }
}

/// Outcome of a command: `true` if it found no problems.
type CommandResult = Result<bool, CommandError>;

/// Runs a command. Returns `true` if it succeeded.
///
/// # Errors
///
/// Fails if the server cannot start.
pub(super) async fn run(server: Server, matches: &ArgMatches) -> Result<bool, Error> {
    match perform(server, matches).await {
        Ok(good) => Ok(good),
        Err(CommandError::Start(error)) => Err(error),
        Err(CommandError::Said(text)) => {
            print::complain(&text);
            Ok(false)
        }
    }
}

async fn perform(server: Server, before: &ArgMatches) -> CommandResult {
    let Some((name, matches)) = before.subcommand() else {
        return Ok(true);
    };
    if name == "install" {
        return install::run(server.identity(), matches);
    }
    let session = CommandSession::start(server, before, matches).await?;
    if name == "shell" {
        return shell::run(&session).await;
    }
    perform_in(&session, name, matches).await
}

/// Runs a command on the server.
async fn perform_in(session: &CommandSession, name: &str, matches: &ArgMatches) -> CommandResult {
    session.begin(matches)?;
    let outcome = match look(session, name, matches).await {
        Err(CommandError::Said(text)) => {
            print::complain(&text);
            Ok(false)
        }
        outcome => outcome,
    };
    session.end();
    outcome
}

async fn look(session: &CommandSession, name: &str, matches: &ArgMatches) -> CommandResult {
    match name {
        "tools" => list::run(session, ListRequest::Tools).await,
        "prompts" => list::run(session, ListRequest::Prompts).await,
        "resources" => list::run(session, ListRequest::Resources).await,
        "templates" => list::run(session, ListRequest::Templates).await,
        "call" => call::run(session, matches).await,
        "prompt" => prompt::run(session, matches).await,
        "read" => read::run(session, matches).await,
        "complete" => complete::run(session, matches).await,
        _ => check::run(session, matches).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(arguments: &[&str]) -> Result<Wish, clap::Error> {
        let arguments = std::iter::once(&"server").chain(arguments);
        parse(
            &Implementation::new("server", "1"),
            arguments.map(OsString::from),
        )
    }

    #[test]
    fn the_commands_hold_together() {
        command(&Implementation::new("server", "1")).debug_assert();
    }

    #[cfg(feature = "http")]
    #[test]
    fn http_has_an_address_of_its_own_and_takes_another() {
        let wishes = |arguments: &[&str]| match wish(arguments) {
            Ok(Wish::Serve(wishes)) => wishes,
            _ => panic!("{arguments:?} serves"),
        };
        assert_eq!(wishes(&[]).http, None);
        assert_eq!(
            wishes(&["--http"]).http.as_deref(),
            Some(serve::DEFAULT_ADDRESS)
        );
        let wishes = wishes(&["--http", "[::1]:9", "--allow-host", "a", "--allow-host=b"]);
        assert_eq!(wishes.http.as_deref(), Some("[::1]:9"));
        assert_eq!(wishes.hosts, ["a", "b"]);
    }

    #[test]
    fn what_holds_for_every_command_may_stand_before_it() {
        for arguments in [
            &["--json", "--revision", "2025-11-25", "tools"][..],
            &["tools", "--revision=2025-11-25", "--json"],
            &["--json", "call", "--revision", "2025-11-25", "add"],
        ] {
            let Ok(Wish::Command(matches)) = wish(arguments) else {
                panic!("{arguments:?} is a command");
            };
            let (_, after) = matches.subcommand().unwrap();
            let date = |matches: &ArgMatches| matches.get_one::<String>("revision").cloned();
            assert_eq!(
                date(&matches).or(date(after)).as_deref(),
                Some("2025-11-25")
            );
            assert!(matches.get_flag("json") || after.get_flag("json"));
        }
    }

    #[test]
    fn other_arguments_are_left_to_the_program() {
        let command = command(&Implementation::new("server", "1"));
        for (arguments, expected) in [
            (&["tools"][..], true),
            (&["list"], true),
            (&["--json", "--revision", "x", "call", "add"], true),
            (&["--revision=x", "check"], true),
            (&[], false),
            (&["127.0.0.1:8000"], false),
            (&["--json"], false),
            (&["--verbose", "tools"], false),
            (&["--help"], false),
        ] {
            let words = std::iter::once(&"server").chain(arguments);
            let words: Vec<_> = words.map(OsString::from).collect();
            assert_eq!(
                begins_with_command(&command, &words),
                expected,
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn what_nobody_knows_is_refused_with_what_was_meant() {
        for (arguments, hint) in [
            (&["--htpp"][..], ""),
            (&["--allow-host", "a"], ""),
            (&["--http", "[::1]:9", "tools"], "`--http`"),
            (&["--json"], "`tools`"),
            (&["cal"], "'call'"),
            (&["tool"], "'tools'"),
            (&["instal", "cursor"], "'install'"),
            (&["install", "cursr"], "'cursor'"),
            (&["tools", "--revision", "2025-01-01"], "2025-11-25"),
        ] {
            let Err(error) = wish(arguments) else {
                panic!("{arguments:?} is understood");
            };
            let text = error.to_string();
            assert!(text.contains(hint), "{text}");
        }
    }
}
