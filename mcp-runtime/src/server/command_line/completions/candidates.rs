//! Finds the candidates that can be inserted at the cursor.

use clap::{Arg, ArgMatches, Command};

use crate::context::Capability;
use crate::server::Server;
use crate::server::command_line::completions::line::CommandLine;
use crate::server::command_line::completions::uri;
use crate::server::command_line::completions::values;
use crate::server::command_line::outcome::CommandError;
use crate::server::command_line::session::CommandSession;

/// A string that can be inserted at the cursor.
#[derive(Debug, PartialEq)]
pub(super) struct Candidate {
    /// The whole word.
    pub(super) value: String,
    pub(super) about: String,
}

impl Candidate {
    pub(super) fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            about: about.into(),
        }
    }
}

/// The candidates, or `None` if file names should be completed.
pub(super) type Found = Option<Vec<Candidate>>;

/// Returns the candidates for the word at the cursor.
///
/// # Errors
///
/// Fails if names are needed and the server cannot start.
pub(super) async fn candidates(
    server: Server,
    program: &Command,
    line: &CommandLine<'_>,
    typed: &str,
) -> Result<Found, CommandError> {
    if let Some(option) = line.awaiting {
        return Ok(of_values(option, ""));
    }
    if let Some((option, _)) = typed
        .strip_prefix("--")
        .and_then(|typed| typed.split_once('='))
    {
        let found = line.option(option);
        return Ok(found.map_or(Some(Vec::new()), |found| {
            of_values(found, &format!("--{option}="))
        }));
    }
    if typed.starts_with('-') {
        return Ok(Some(options(line.command)));
    }
    if line.is_program {
        let commands = line.command.get_subcommands();
        let commands = commands.filter(|command| !command.is_hide_set());
        let commands = commands.map(|command| {
            let about = command.get_about().map(ToString::to_string);
            Candidate::new(command.get_name(), about.unwrap_or_default())
        });
        return Ok(Some(commands.collect()));
    }
    let position = line.given.len();
    let first = line.given.first().map_or("", String::as_str);
    let command = line.command.get_name();
    if !matches!(command, "call" | "prompt" | "read" | "complete") {
        let argument = line.command.get_positionals().nth(position);
        return Ok(argument.map_or(Some(Vec::new()), |argument| of_values(argument, "")));
    }
    let session = start(server, program, line).await?;
    match (command, position) {
        ("call", 0) => names(&session, Capability::Tools).await.map(Some),
        ("prompt", 0) => names(&session, Capability::Prompts).await.map(Some),
        ("read", 0) => {
            let mut found = names(&session, Capability::Resources).await?;
            found.extend(uri::candidates(&session, typed).await?);
            Ok(Some(found))
        }
        ("complete", 0) => {
            let mut found = names(&session, Capability::Prompts).await?;
            found.extend(names(&session, Capability::Templates).await?);
            Ok(Some(found))
        }
        ("call", _) => {
            let tool = session.find(Capability::Tools, first).await?;
            Ok(values::of_tool(
                &tool["inputSchema"],
                &line.given[1..],
                typed,
            ))
        }
        ("prompt", _) => values::of_prompt(&session, first, &line.given[1..], typed).await,
        ("complete", 1) => {
            let prompt = session.find(Capability::Prompts, first).await?;
            let arguments = values::prompt_arguments(&prompt);
            let arguments = arguments.map(|(name, about)| Candidate::new(name, about));
            Ok(Some(arguments.collect()))
        }
        _ => Ok(Some(Vec::new())),
    }
}

/// Starts the server, which can list its definitions without values for its settings.
async fn start(
    mut server: Server,
    program: &Command,
    line: &CommandLine<'_>,
) -> Result<CommandSession, CommandError> {
    server.environment.faults.clear();
    let words = ["", "tools"].into_iter().map(str::to_owned);
    let words = words.chain(line.common.iter().cloned());
    let matches = program.clone().try_get_matches_from(words);
    let matches: ArgMatches = matches.map_err(|error| error.to_string())?;
    CommandSession::start(
        server,
        &matches,
        matches.subcommand().map_or(&matches, |(_, of)| of),
    )
    .await
}

async fn names(session: &CommandSession, list: Capability) -> Result<Vec<Candidate>, CommandError> {
    let items = session.list(list).await?;
    let names = items.iter().filter_map(|item| {
        let about = item["title"].as_str().or(item["description"].as_str());
        let about = about.or(item["name"].as_str()).unwrap_or_default();
        Some(Candidate::new(item[list.item_key()].as_str()?, about))
    });
    Ok(names.collect())
}

/// Returns the options of a command.
fn options(command: &Command) -> Vec<Candidate> {
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options = options.filter_map(|option| {
        let about = option.get_help().map(ToString::to_string);
        let name = format!("--{}", option.get_long()?);
        Some(Candidate::new(name, about.unwrap_or_default()))
    });
    let help = Candidate::new("--help", "Print help");
    options.chain(std::iter::once(help)).collect()
}

/// Returns the values of an argument that are known in advance. `before` is the text that precedes them in the same
/// word.
fn of_values(argument: &Arg, before: &str) -> Found {
    let values = argument.get_possible_values();
    let names = argument.get_value_names().into_iter().flatten();
    if values.is_empty() && names.into_iter().any(|name| name.contains("FILE")) {
        return None;
    }
    let values = values.iter();
    let values = values.map(|value| Candidate::new(format!("{before}{}", value.get_name()), ""));
    Some(values.collect())
}
