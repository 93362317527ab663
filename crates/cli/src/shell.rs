//! `shell`: runs several commands on a single server, which keeps its state between them.

use std::io;
use std::io::IsTerminal as _;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command};
use mcp_core::context::Capability;
use mcp_schema::suggest::closest;

use crate::session::{
    CommandError, CommandResult, CommandSession, has_connection_options, with_common_options,
};
use crate::terminal::{CANCELLED, give_up, interrupted, read_line, say};
use crate::{perform_in, print, with_commands};

pub(super) fn command() -> Command {
    with_common_options(
        Command::new("shell")
            .about("Run several commands on one server that keeps its state")
            .long_about(
                "Reads commands from standard input, one per line: `call add a=1 b=2`, `tools`, `read URI`. They are the same as \
                 on the command line, and all run on one server, so each call sees the changes made by earlier ones.\n\nPut text \
                 with spaces in quotes. `help` lists the commands; `exit` or the end of the input ends the shell. If the input \
                 is not a terminal, it is a script: each line is printed before its results, except with `--json`, and the \
                 process fails if a command fails.",
            ),
    )
}

pub(super) async fn run(session: &CommandSession) -> CommandResult {
    let is_script = !io::stdin().is_terminal();
    let mut good = true;
    while let Some(line) = next_line(is_script).await? {
        if is_script && !session.always_json && !line.trim().is_empty() {
            print::line(&format!("> {}", line.trim()));
        }
        let words = match split_words(&line) {
            Ok(words) => words,
            Err(problem) => {
                print::error(problem);
                good = false;
                continue;
            }
        };
        match words.first().map(String::as_str) {
            None => {}
            Some(comment) if comment.starts_with('#') => {}
            Some("exit" | "quit") => break,
            Some(_) => match perform_line(session, words).await {
                Err(CommandError::Interrupted) if is_script => {
                    return Err(CommandError::Interrupted);
                }
                outcome => good &= report(outcome),
            },
        }
    }
    Ok(good || !is_script)
}

async fn perform_line(session: &CommandSession, words: Vec<String>) -> CommandResult {
    let matches: ArgMatches = match grammar().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) {
                return Err(unknown_command(session, name).await.into());
            }
            // Requested help is not an error. Printing fails only if standard output is closed.
            let _ = error.print();
            return Ok(!error.use_stderr());
        }
    };
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(true);
    };
    if has_connection_options(matches) {
        let problem = "pass `--protocol-version`, `--as`, `--scope`, `--claim` and `--header` to `shell` itself";
        return Err(problem.to_owned().into());
    }
    perform_in(session, name, matches).await
}

/// Prints the reason if a command failed. Returns `true` if it succeeded.
fn report(outcome: CommandResult) -> bool {
    let reason = match outcome {
        Ok(good) => return good,
        Err(CommandError::Failed(text)) => text,
        Err(CommandError::Start(error)) => error.to_string(),
        Err(CommandError::Interrupted) => CANCELLED.to_owned(),
    };
    print::error(&reason);
    false
}

/// Returns the message for an unknown command. The message may suggest a command, or a call to the tool with that name.
async fn unknown_command(session: &CommandSession, name: &str) -> String {
    let tools = session.list(Capability::Tools).await;
    let is_tool = tools.is_ok_and(|tools| tools.iter().any(|tool| tool["name"] == name));
    let grammar = grammar();
    let commands = grammar.get_subcommands().map(Command::get_name);
    match closest(name, commands) {
        _ if is_tool => format!("there is no command `{name}`; did you mean `call {name}`?"),
        Some(meant) => format!("there is no command `{name}`; did you mean `{meant}`?"),
        None => format!("there is no command `{name}`; `help` lists the commands"),
    }
}

/// Returns the grammar for commands in the shell, which are not preceded by the program's name.
fn grammar() -> Command {
    let exit = Command::new("exit").about("End the shell");
    with_commands(Command::new("shell"))
        .no_binary_name(true)
        .subcommand_required(true)
        .disable_help_flag(true)
        .help_template("{subcommands}")
        .subcommand(exit)
}

/// Reads the next line. Returns `None` at the end of the input. Ctrl-C starts a new line or ends a script.
async fn next_line(is_script: bool) -> Result<Option<String>, CommandError> {
    const PROMPT: &str = "> ";
    if !is_script {
        say(PROMPT);
    }
    let mut read = tokio::task::spawn_blocking(read_line);
    loop {
        tokio::select! {
            line = &mut read => {
                let line = line.unwrap_or(Ok(None))?;
                if line.is_none() && !is_script {
                    // Ends the prompt's line, because the following output does not belong to it.
                    say("\n");
                }
                return Ok(line);
            }
            () = interrupted() => {
                if is_script {
                    give_up();
                    return Err(CommandError::Interrupted);
                }
                say("\n");
                say(PROMPT);
            }
        }
    }
}

/// Splits a line into words. As in other shells, quotes preserve spaces and a backslash escapes the next character.
fn split_words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.trim().chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            (close, Some(open)) if close == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(characters.next()),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(_) => Err("unclosed quote"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_into_words_like_in_other_shells() {
        for (line, expected) in [
            ("call add a=1  b=2\n", vec!["call", "add", "a=1", "b=2"]),
            (
                "call note text='buy milk'",
                vec!["call", "note", "text=buy milk"],
            ),
            (
                "call t '{\"a\": \"b\"}'",
                vec!["call", "t", "{\"a\": \"b\"}"],
            ),
            (
                r#"x "a \"b\" c" d\ e ''"#,
                vec!["x", "a \"b\" c", "d e", ""],
            ),
            ("  ", vec![]),
        ] {
            assert_eq!(split_words(line).unwrap(), expected, "{line}");
        }
        split_words("call 'x").unwrap_err();
    }

    #[test]
    fn the_command_definitions_are_consistent() {
        grammar().debug_assert();
    }
}
