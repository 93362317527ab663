//! Parses a command line that is being typed: splits a bash line into words and determines the command and arguments
//! that they form.

use clap::{Arg, Command};

use crate::server::command_line::session::COMMON;

/// The part of the current word before the cursor.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LastWord {
    pub(super) text: String,
    /// The number of bytes that the shell keeps; the rest is replaced.
    kept: usize,
    /// The quote that is open at the cursor.
    quote: Option<char>,
    is_in_bash: bool,
}

impl LastWord {
    /// Creates a word that the shell replaces as a whole.
    pub(super) fn whole(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the part of a candidate that bash should insert at the cursor, with the required quotes and escapes.
    pub(super) fn rest_of(&self, candidate: &str) -> Option<String> {
        let rest = candidate.get(self.kept..)?;
        let is_plain = |c: char| c.is_alphanumeric() || "_./:=@%+,-".contains(c);
        let mut text = String::new();
        for character in rest.chars() {
            let escapes = match self.quote {
                // Characters cannot be escaped within single quotes.
                Some('\'') if character == '\'' => return None,
                Some('\'') => false,
                Some(_) => "\"\\$`".contains(character),
                None => self.is_in_bash && !is_plain(character),
            };
            if escapes {
                text.push('\\');
            }
            text.push(character);
        }
        if self.quote.is_none() && !text.ends_with(['=', '/', ':']) {
            text.push(' ');
        }
        Some(text)
    }
}

/// Splits a bash line into the words after the program and the word at its end. `breaks` are the characters at which
/// bash begins a new word for completion.
pub(super) fn parse(line: &str, breaks: &str) -> (Vec<String>, LastWord) {
    let mut words = Vec::new();
    let mut word: Option<LastWord> = None;
    let mut characters = line.trim_start().chars();
    while let Some(character) = characters.next() {
        let quote = word.as_ref().and_then(|word| word.quote);
        if quote.is_none() && character.is_whitespace() {
            words.extend(word.take().map(|word| word.text));
            continue;
        }
        let word = word.get_or_insert_default();
        match (character, quote) {
            (close, Some(open)) if close == open => word.quote = None,
            ('\\', None | Some('"')) => word.text.extend(characters.next()),
            ('"' | '\'', None) => {
                word.quote = Some(character);
                word.kept = word.text.len();
            }
            (other, _) => {
                word.text.push(other);
                // A word that begins with `@` could be a host name, so bash does not split the word.
                if quote.is_none() && other != '@' && breaks.contains(other) {
                    word.kept = word.text.len();
                }
            }
        }
    }
    let mut last = word.unwrap_or_default();
    last.is_in_bash = true;
    if !words.is_empty() {
        // The first word is the program.
        words.remove(0);
    }
    (words, last)
}

/// The words before the cursor, parsed as a command line.
pub(super) struct CommandLine<'c> {
    /// The command, or the program if there is none yet.
    pub(super) command: &'c Command,
    pub(super) is_program: bool,
    /// Positional arguments.
    pub(super) given: Vec<String>,
    /// The option whose value is at the cursor.
    pub(super) awaiting: Option<&'c Arg>,
    /// Options shared by all commands, with their values.
    pub(super) common: Vec<String>,
}

impl<'c> CommandLine<'c> {
    pub(super) fn read(program: &'c Command, words: &[String]) -> Self {
        let mut line = Self {
            command: program,
            is_program: true,
            given: Vec::new(),
            awaiting: None,
            common: Vec::new(),
        };
        for word in words {
            if let Some(option) = line.awaiting.take() {
                line.keep_common(option, word);
                continue;
            }
            if let Some(named) = word.strip_prefix('-').filter(|named| !named.is_empty()) {
                let (name, value) = match named.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (named, None),
                };
                match (line.option(name.trim_start_matches('-')), value) {
                    (Some(option), Some(value)) => line.keep_common(option, value),
                    (option, None) => {
                        line.awaiting = option.filter(|option| option.get_action().takes_values());
                    }
                    (None, Some(_)) => {}
                }
                continue;
            }
            match program.find_subcommand(word) {
                Some(command) if line.is_program => {
                    line.command = command;
                    line.is_program = false;
                }
                _ => line.given.push(word.clone()),
            }
        }
        line
    }

    /// Finds an option by its name without hyphens.
    pub(super) fn option(&self, name: &str) -> Option<&'c Arg> {
        let mut letters = name.chars();
        let letter = letters.next().filter(|_| letters.next().is_none());
        self.command.get_arguments().find(|option| {
            option
                .get_long_and_visible_aliases()
                .is_some_and(|names| names.contains(&name))
                || letter.is_some_and(|letter| option.get_short() == Some(letter))
        })
    }

    fn keep_common(&mut self, option: &Arg, value: &str) {
        let name = option.get_id().as_str();
        if COMMON.contains(&name) {
            self.common.push(format!("--{name}={value}"));
        }
    }
}
