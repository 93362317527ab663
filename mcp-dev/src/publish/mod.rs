//! `manifest`, `bundle` and `recipe`: write files about a server for the MCP registry, hosts and operators, from what its
//! program tells about itself.
//!
//! These commands do not send any data; publishing is left to the registry's tools.

mod bundle;
mod manifest;
mod output;
mod recipe;
#[cfg(test)]
mod tests;

use anyhow::Result;
use clap::{ArgMatches, Command};

use crate::describe::{Description, Program};
use crate::lines::say;
use crate::target::Target;

/// One of the commands, and its arguments.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) matches: ArgMatches,
}

/// Returns the definitions of the commands, without the arguments that specify the program.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    [manifest::command(), bundle::command(), recipe::command()].into_iter()
}

/// Runs a command for a program.
pub(crate) async fn run(request: &Request, target: Target) -> Result<()> {
    let program = Program::of(target).await?;
    let description = program.describe().await?;
    say(&answer(request, &program, &description)?)
}

/// Returns the text that a command prints.
fn answer(
    Request { name, matches }: &Request,
    program: &Program,
    about: &Description,
) -> Result<String> {
    match name.as_str() {
        "manifest" => manifest::run(about, matches),
        "recipe" => recipe::run(program, about, matches),
        _ => bundle::run(program, about, matches),
    }
}
