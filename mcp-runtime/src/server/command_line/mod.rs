//! The command line that [`Server::run`] offers: serving, and one command a file for trying, checking and installing it.
//!
//! Commands that look at the server start it in this process and speak the full protocol to it, as any client would.

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
mod terminal;

use std::ffi::OsString;

use clap::{ArgMatches, Command};

use crate::client::{Failure, Listed};
use crate::error::Error;
use crate::server::Server;
use crate::types::Implementation;
pub(super) use serve::Wishes;
use session::Session;

/// What the command line asks for.
pub(super) enum Wish {
    Serve(Wishes),
    Command(ArgMatches),
}

/// Reads the arguments of this process. Ends it if they ask for help, or cannot be understood.
pub(super) fn read(identity: &Implementation) -> Wish {
    if std::env::args_os().len() <= 1 {
        return Wish::Serve(Wishes::default());
    }
    parse(identity, std::env::args_os()).unwrap_or_else(|error| error.exit())
}

fn parse(
    identity: &Implementation,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Wish, clap::Error> {
    let matches = command(identity).try_get_matches_from(arguments)?;
    Ok(match matches.subcommand() {
        None => Wish::Serve(Wishes::read(&matches)),
        Some(_) => Wish::Command(matches),
    })
}

fn command(identity: &Implementation) -> Command {
    let about = identity
        .description
        .clone()
        .unwrap_or_else(|| "A server of the Model Context Protocol".to_owned());
    serve::arguments(Command::new(identity.name.clone()))
        .about(about)
        .after_help(
            "Without a command it serves standard input and output, for clients that start servers themselves.",
        )
        .version(identity.version.clone())
        .args_conflicts_with_subcommands(true)
        .subcommand_value_name("COMMAND")
        .subcommand(list::command("tools", "List the tools and their arguments").alias("list"))
        .subcommand(list::command("prompts", "List the prompts and their arguments"))
        .subcommand(list::command("resources", "List the resources"))
        .subcommand(list::command("templates", "List the resource templates"))
        .subcommand(call::command())
        .subcommand(prompt::command())
        .subcommand(read::command())
        .subcommand(complete::command())
        .subcommand(check::command())
        .subcommand(install::command())
}

/// Why a command came to nothing.
#[derive(Debug)]
enum Fault {
    /// The server does not start.
    Start(Error),
    /// This.
    Said(String),
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self::Said(text)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Said(failure.to_string())
    }
}

/// Whether what was looked at is as it should be.
type Outcome = Result<bool, Fault>;

/// Runs a command; says whether it went well.
///
/// # Errors
///
/// If the server does not start.
pub(super) async fn run(server: Server, matches: &ArgMatches) -> Result<bool, Error> {
    match perform(server, matches).await {
        Ok(good) => Ok(good),
        Err(Fault::Start(error)) => Err(error),
        Err(Fault::Said(text)) => {
            print::complain(&text);
            Ok(false)
        }
    }
}

async fn perform(server: Server, matches: &ArgMatches) -> Outcome {
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(true);
    };
    if name == "install" {
        return install::run(server.identity(), matches);
    }
    let session = Session::start(server, matches).await?;
    match name {
        "tools" => list::run(&session, Listed::Tools).await,
        "prompts" => list::run(&session, Listed::Prompts).await,
        "resources" => list::run(&session, Listed::Resources).await,
        "templates" => list::run(&session, Listed::Templates).await,
        "call" => call::run(&session, matches).await,
        "prompt" => prompt::run(&session, matches).await,
        "read" => read::run(&session, matches).await,
        "complete" => complete::run(&session, matches).await,
        _ => check::run(&session, matches).await,
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
    fn what_nobody_knows_is_refused_with_what_was_meant() {
        for (arguments, hint) in [
            (&["--htpp"][..], ""),
            (&["--allow-host", "a"], ""),
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
