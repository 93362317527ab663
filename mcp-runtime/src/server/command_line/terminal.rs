//! The user at the terminal, who answers the server's questions and sees its log messages and progress.
//!
//! All output from this module goes to standard error, because standard output is reserved for results.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, MutexGuard};

use mcp_schema::explain::kind;
use mcp_schema::suggest::closest;
use mcp_schema::text::read_text;
use serde_json::{Map, Value, json};

use crate::client::{ClientHost, Notification, Question};
use crate::context::Progress;
use crate::lock::lock;
use crate::server::command_line::input::{ask, read_line, say, say_as_is};
use crate::server::command_line::print;
use crate::server::command_line::print::{bar, single_line, terminal_width};
use crate::types::LoggingLevel;

/// Answers given on the command line for a single command.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Form fields and their values.
    pub(super) fields: Vec<(String, String)>,
    pub(super) agree: bool,
    /// The response to all forms and URLs, if they are refused.
    pub(super) refusal: Option<&'static str>,
    /// Answers to sampling requests, in order.
    pub(super) say: VecDeque<String>,
    /// Fields that have been requested or already reported.
    pub(super) asked: Vec<String>,
    /// `true` once a handler that may ask questions has been called.
    pub(super) called: bool,
}

#[derive(Debug, Default)]
pub(super) struct Terminal {
    answers: Mutex<Answers>,
    /// Number of characters in the progress bar currently displayed.
    bar: Mutex<usize>,
    /// The last status message of a task that was written as a line.
    status: Mutex<String>,
}

/// Maximum number of columns of a status message that is not shown on a terminal.
const MAX_LINE: usize = 500;

impl ClientHost for Terminal {
    fn blocks(&self) -> bool {
        true
    }

    fn answer_question(&self, question: &Question) -> Result<Value, String> {
        self.clear_bar();
        match question.method.as_str() {
            "roots/list" => Ok(json!({"roots": current_directory_root()})),
            "sampling/createMessage" => self.answer_sampling(&question.params),
            _ if let Some(action) = self.answers().refusal => Ok(json!({"action": action})),
            _ if question.params["url"].is_string() => self.ask_to_open_url(question),
            _ => self.fill_in_form(question),
        }
    }

    fn handle_notification(&self, notification: Notification) {
        match notification {
            Notification::Progress(progress) => self.show_progress(&progress),
            Notification::Log { level, data, .. } if level >= LoggingLevel::Info => {
                self.clear_bar();
                let text = data
                    .as_str()
                    .map_or_else(|| data.to_string(), str::to_owned);
                say(&format!("{}: {text}\n", level.as_str()));
            }
            _ => {}
        }
    }
}

impl Answers {
    /// Returns the fields that the server has not requested.
    fn unused(&self) -> impl Iterator<Item = &str> {
        let names = self.fields.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !self.asked.iter().any(|asked| asked == name))
    }

    /// Records a form's fields. Fails if an answer's name is evidently a misspelled field name.
    fn match_with(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        self.asked.extend(fields.keys().cloned());
        let open = fields.keys().map(String::as_str);
        let open = open.filter(|open| !self.fields.iter().any(|(given, _)| given == open));
        let mistaken = self
            .unused()
            .find_map(|name| Some((name.to_owned(), closest(name, open.clone())?)));
        let Some((name, meant)) = mistaken else {
            return Ok(());
        };
        let problem =
            format!("`--answer {name}=…`: the form has no field `{name}`; did you mean `{meant}`?");
        self.asked.push(name);
        Err(problem)
    }
}

impl Terminal {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        lock(&self.answers)
    }

    /// Starts a command with the given answers.
    pub(super) fn set_answers(&self, answers: Answers) {
        *self.answers() = answers;
    }

    /// Ends a call whose handler may have asked questions.
    pub(super) fn end_call(&self) {
        self.clear_bar();
        self.answers().called = true;
    }

    /// Ends a command and reports unused answers.
    pub(super) fn report_unused_answers(&self) {
        let answers = self.answers();
        for name in answers.unused().filter(|_| answers.called) {
            print::error(&format!(
                "unused `--answer {name}`: the server never asked for it"
            ));
        }
    }

    fn fill_in_form(&self, question: &Question) -> Result<Value, String> {
        let schema = &question.params["requestedSchema"];
        let required = schema["required"].as_array();
        let required =
            |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        let is_asked = io::stdin().is_terminal();
        if is_asked {
            say(&format!("{}\n", question.message()));
        }
        let (mut content, mut missing) = (Map::new(), Vec::new());
        let no_fields = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&no_fields);
        self.answers().match_with(fields)?;
        for (name, field) in fields {
            let given = {
                let answers = self.answers();
                let given = answers.fields.iter().find(|(field, _)| field == name);
                given.map(|(_, text)| text.clone())
            };
            if let Some(text) = given {
                content.insert(name.clone(), read_text(field, &text));
            } else if is_asked {
                match ask(name, field, required(name))? {
                    Some(value) => drop(content.insert(name.clone(), value)),
                    None => return Ok(json!({"action": "cancel"})),
                }
            } else if required(name) {
                missing.push(format!("--answer {name}=<{}>", kind(field)));
            }
        }
        if !missing.is_empty() {
            return Err(format!(
                "the server asks: {}\nNo terminal is available; answer with {}, or decline with --decline",
                question.message(),
                missing.join(" ")
            ));
        }
        content.retain(|_, value| !value.is_null());
        Ok(json!({"action": "accept", "content": content}))
    }

    fn ask_to_open_url(&self, question: &Question) -> Result<Value, String> {
        let url = question.params["url"].as_str().unwrap_or_default();
        let text = format!("{}\n{url}\n", question.message());
        if self.answers().agree {
            say(&text);
            return Ok(json!({"action": "accept"}));
        }
        if !io::stdin().is_terminal() {
            return Err(format!(
                "the server asks to open a URL: {text}No terminal is available; agree with --agree, or decline with \
                 --decline"
            ));
        }
        say(&format!("{text}Open it? [y/n] "));
        let action = match read_line()?.as_deref() {
            Some("y" | "yes") => "accept",
            Some(_) => "decline",
            None => "cancel",
        };
        Ok(json!({"action": action}))
    }

    fn answer_sampling(&self, params: &Value) -> Result<Value, String> {
        let mut asked = String::new();
        for message in params["messages"].as_array().into_iter().flatten() {
            let text = message["content"]["text"].as_str().unwrap_or("(no text)");
            let _ = writeln!(
                asked,
                "{}: {text}",
                message["role"].as_str().unwrap_or_default()
            );
        }
        let next = self.answers().say.pop_front();
        let text = match next {
            Some(text) => text,
            None if io::stdin().is_terminal() => {
                say(&format!("The server asks the model:\n{asked}assistant: "));
                read_line()?.unwrap_or_default()
            }
            None => {
                return Err(format!(
                    "the server asks the model:\n{asked}No terminal is available; answer with --say <text>"
                ));
            }
        };
        let content = json!({"type": "text", "text": text});
        Ok(
            json!({"role": "assistant", "content": content, "model": "person", "stopReason": "endTurn"}),
        )
    }

    fn show_progress(&self, progress: &Progress) {
        if !io::stderr().is_terminal() {
            return;
        }
        self.show_line(&bar(progress, terminal_width()));
    }

    /// Shows the progress of a task: in the last line of a terminal, or as a line for each change.
    pub(super) fn show_task(&self, task: &Value) {
        let Some(text) = task["statusMessage"].as_str() else {
            return;
        };
        if io::stderr().is_terminal() {
            return self.show_line(&single_line(text, terminal_width()));
        }
        let line = single_line(text, MAX_LINE);
        let mut shown = lock(&self.status);
        if *shown != line {
            say(&format!("{line}\n"));
            *shown = line;
        }
    }

    /// Replaces the last line on the terminal.
    fn show_line(&self, text: &str) {
        let mut shown = lock(&self.bar);
        let length = text.chars().count();
        say_as_is(&format!(
            "\r{text}{}",
            " ".repeat(shown.saturating_sub(length))
        ));
        *shown = length;
    }

    fn clear_bar(&self) {
        let mut shown = lock(&self.bar);
        if *shown > 0 {
            say_as_is(&format!("\r{}\r", " ".repeat(*shown)));
            *shown = 0;
        }
    }
}

/// Returns the current directory as a root.
fn current_directory_root() -> Vec<Value> {
    let Ok(here) = std::env::current_dir() else {
        return Vec::new();
    };
    let path = here.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if path.starts_with('/') {
        "file://"
    } else {
        "file:///"
    });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b':' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    vec![json!({"uri": uri})]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_a_field_that_is_not_there_is_named() {
        let form = json!({"really": {"type": "boolean"}, "note": {"type": "string"}});
        let form = form.as_object().unwrap();
        for (given, wrong) in [
            (&["really"][..], None),
            (&["realy"], Some("did you mean `really`?")),
            (&["really", "realy"], None),
            (&["colour"], None),
        ] {
            let fields = given.iter().map(|name| ((*name).to_owned(), String::new()));
            let mut answers = Answers {
                fields: fields.collect(),
                ..Answers::default()
            };
            let matched = answers.match_with(form);
            match wrong {
                Some(text) => assert!(matched.unwrap_err().contains(text)),
                None => matched.unwrap(),
            }
            // An answer that has already been reported is not reported again.
            let unused = given
                .iter()
                .filter(|name| **name != "really" && wrong.is_none());
            let unused = unused.count();
            assert_eq!(answers.unused().count(), unused, "{given:?}");
        }
    }
}
