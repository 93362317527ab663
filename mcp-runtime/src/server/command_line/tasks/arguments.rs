//! Arguments and errors shared by several task commands.

use clap::{Arg, ArgMatches};

use crate::server::command_line::session::CommandError;
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

pub(super) fn unknown(id: impl std::fmt::Display) -> CommandError {
    format!("there is no task `{id}`, or its time to live has ended").into()
}

#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn unavailable(error: Box<dyn std::error::Error + Send + Sync>) -> CommandError {
    format!("the task store failed: {error}").into()
}
