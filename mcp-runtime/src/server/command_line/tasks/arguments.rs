//! Arguments shared by several task commands.

use clap::{Arg, ArgMatches};

use crate::server::command_line::outcome::CommandError;
use crate::server::command_line::tasks::refusals::unknown;
use crate::stores::TaskId;

pub(super) fn owner() -> Arg {
    Arg::new("owner")
        .long("owner")
        .value_name("CALLER")
        .help("The key of the caller, as listed; an empty string for anonymous callers")
}

pub(super) fn text<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

pub(super) fn id(matches: &ArgMatches) -> Result<TaskId, CommandError> {
    let text = text(matches, "id").unwrap_or_default();
    TaskId::parse(text).ok_or_else(|| unknown(text))
}
