//! `recipe`: writes files for running the server in various environments, filled in with facts about the server.
//! Requires the `ship` and `http` features.
//!
//! The files contain only references to the values of settings, never the values themselves, so they can be shared.

mod container;
mod facts;
mod kubernetes;
mod systemd;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use crate::server::Server;
use crate::server::command_line::outcome::CommandResult;
use crate::server::command_line::print;
use crate::server::command_line::publish::options::{flag, option, text};
use crate::server::command_line::publish::output;
use crate::server::command_line::publish::recipe::facts::Recipe;

/// Creates the text of a file.
type MakeFile = fn(&Recipe<'_>) -> String;

/// The kinds of files.
const KINDS: [(&str, MakeFile); 4] = [
    ("docker", container::dockerfile),
    ("compose", container::compose),
    ("kubernetes", kubernetes::manifests),
    ("systemd", systemd::unit),
];

pub(super) fn command() -> Command {
    Command::new("recipe")
        .about("Print a Dockerfile, or files for Compose, Kubernetes or systemd")
        .long_about(
            "Prints a file that runs the server over HTTP: `docker` a Dockerfile, `compose` a compose.yaml, `kubernetes` a \
             Deployment and a Service, `systemd` a unit. It is filled in with the server's name, port, health checks and \
             shutdown time. The environment variables that the server declares become references; no values are written.",
        )
        .arg(
            Arg::new("kind")
                .value_name("KIND")
                .required(true)
                .value_parser(PossibleValuesParser::new(KINDS.map(|(kind, _)| kind)))
                .help("The kind of file"),
        )
        .arg(option("host", "NAME", "The host name that clients use (default: the first that the server allows)"))
        .arg(option("image", "IMAGE", "The container image (default: the server's name and version)"))
        .arg(option("port", "PORT", "The port to listen on (default: 8000)").value_parser(clap::value_parser!(u16).range(1..)))
        .arg(option("output", "FILE", "Write this file instead of printing").short('o'))
        .arg(flag("force", "Replace an existing file"))
}

pub(super) fn run(server: &Server, matches: &ArgMatches) -> CommandResult {
    let program = std::env::current_exe().map_err(|error| format!("executable path: {error}"))?;
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let recipe = Recipe::read(server, &program, matches)?;
    let kind = text(matches, "kind");
    let Some((_, make)) = KINDS.iter().find(|(name, _)| Some(*name) == kind) else {
        return Ok(false);
    };
    let file = make(&recipe);
    match text(matches, "output") {
        None => print::line(&file),
        Some(path) => {
            output::write(Path::new(path), matches.get_flag("force"), |new| {
                new.write_all(file.as_bytes())
            })?;
            print::line(&format!("Wrote {path}"));
        }
    }
    Ok(true)
}
