//! `completions`: a script that completes command lines in a shell, and the hidden command that the script calls back
//! with the words typed so far.
//!
//! The scripts are short and only handle how their shell passes words and accepts candidates, so they remain valid when
//! the server changes. The words to complete are determined here (`line.rs`, `candidates.rs`), whereas names and values
//! come from the server (`values.rs`, `uri.rs`).

mod candidates;
mod line;
#[cfg(test)]
mod tests;

use std::path::Path;

use candidates::{Candidate, candidates};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use line::{CommandLine, LastWord};

use crate::server::Server;
use crate::server::command_line::call::{argument_text, given_arguments};
use crate::server::command_line::print;
use crate::server::command_line::session::CommandResult;

/// The command that scripts call, which exits with status 1 if the shell should complete a file name instead.
const CALLBACK: &str = "__complete";

/// The shells and their scripts.
const SCRIPTS: [(&str, &str); 3] = [
    ("bash", include_str!("script.bash")),
    ("zsh", include_str!("script.zsh")),
    ("fish", include_str!("script.fish")),
];

pub(super) fn with_commands(command: Command) -> Command {
    let shell = || {
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCRIPTS.map(|(shell, _)| shell)))
            .help("The shell")
    };
    command
        .subcommand(
            Command::new("completions")
                .about("Print a script that lets a shell complete commands, names and values")
                .long_about(
                    "Prints a script that lets a shell complete commands, options, names of tools, prompts and resources, and the \
                     values of their arguments. The shell must be able to find the program by its name. Load the script in the \
                     shell's start-up file:\n\n  bash  source <(my-server completions bash)\n  zsh   source <(my-server completions zsh)\n  \
                     fish  my-server completions fish | source",
                )
                .arg(shell()),
        )
        .subcommand(
            Command::new(CALLBACK)
                .hide(true)
                .arg(shell())
                .arg(Arg::new("arguments").num_args(0..)),
        )
}

pub(super) fn is_command(name: &str) -> bool {
    matches!(name, "completions" | CALLBACK)
}

/// Runs one of the commands. `grammar` defines all commands.
pub(super) async fn run(
    name: &str,
    server: Server,
    grammar: &Command,
    matches: &ArgMatches,
) -> CommandResult {
    let shell = argument_text(matches, "shell");
    if name != CALLBACK {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_stem().unwrap_or_default();
        print::line(&script(shell, &program.to_string_lossy())?);
        return Ok(true);
    }
    let (line, last) = match (shell, &*given_arguments(matches)) {
        ("bash", [breaks, line]) => line::parse(line, breaks),
        (_, [words @ .., last]) => (words.to_vec(), LastWord::whole(last)),
        _ => return Ok(false),
    };
    let line = CommandLine::read(grammar, &line);
    let mut found = match candidates(server, grammar, &line, &last.text).await {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(false),
        // A server that cannot start does not have candidates, and completing file names would be wrong.
        Err(_) => return Ok(true),
    };
    found.retain(|candidate| {
        candidate.value.starts_with(&last.text) && !candidate.value.contains(char::is_control)
    });
    let lines: Vec<_> = found
        .iter()
        .filter_map(|candidate| match shell {
            "bash" => last.rest_of(&candidate.value),
            _ => Some(described(candidate)),
        })
        .collect();
    if !lines.is_empty() {
        print::line(&lines.join("\n"));
    }
    Ok(true)
}

/// Returns the script for a program with this name.
fn script(shell: &str, program: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    if program.is_empty() || !program.chars().all(is_plain) {
        return Err(format!(
            "no shell can complete a program named `{program}`; rename it"
        ));
    }
    let function = program.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let script = SCRIPTS.iter().find(|(name, _)| *name == shell);
    let script = script.map_or("", |(_, script)| script);
    Ok(script
        .replace("FUNCTION", &format!("_mcp_{function}"))
        .replace("PROGRAM", program))
}

/// Returns a candidate and its description in the form that the zsh and fish scripts expect.
fn described(candidate: &Candidate) -> String {
    let about = print::first_line(&candidate.about);
    let about: String = about.chars().filter(|c| !c.is_control()).collect();
    format!("{}\t{about}", candidate.value)
}
