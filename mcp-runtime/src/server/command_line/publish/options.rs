//! Options that the commands share, and the files specified with them.

use std::fs::File;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches};

use crate::server::Server;

/// Defines an option that takes a value.
pub(in crate::server::command_line::publish) fn option(
    name: &'static str,
    value: &'static str,
    help: &'static str,
) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// Defines an option that takes a value and may be repeated.
pub(in crate::server::command_line::publish) fn repeated(
    name: &'static str,
    value: &'static str,
    help: &'static str,
) -> Arg {
    option(name, value, help).action(ArgAction::Append)
}

pub(in crate::server::command_line::publish) fn flag(
    name: &'static str,
    help: &'static str,
) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// Opens a file for reading. Pipes and devices are rejected, because they may never end.
pub(in crate::server::command_line::publish) fn open(path: &Path) -> Result<File, String> {
    let describe = |error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(describe)?;
    if !file.metadata().map_err(describe)?.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    Ok(file)
}

/// Returns the value of an option.
pub(in crate::server::command_line::publish) fn text<'m>(
    matches: &'m ArgMatches,
    name: &str,
) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// Returns the values of an option that may be repeated.
pub(in crate::server::command_line::publish) fn texts<'m>(
    matches: &'m ArgMatches,
    name: &str,
) -> impl Iterator<Item = &'m str> {
    let values = matches.get_many::<String>(name);
    values.into_iter().flatten().map(String::as_str)
}

/// Returns the server's description, taken from the option or, failing that, from the program.
pub(in crate::server::command_line::publish) fn description<'a>(
    server: &'a Server,
    matches: &'a ArgMatches,
) -> Result<&'a str, String> {
    let own = server.identity.description.as_deref();
    text(matches, "description").or(own).ok_or_else(|| {
        "the server has no description: call `.description(…)` on it, or pass `--description`"
            .to_owned()
    })
}
