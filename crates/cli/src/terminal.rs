//! The user at the terminal, who answers the server's questions and sees its log messages and progress.
//!
//! All output from this module goes to standard error, because standard output is reserved for results.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::{io, thread};

use mcp_client::{ClientHost, Notification, Question};
use mcp_core::context::Progress;
use mcp_core::sync::lock;
use mcp_protocol::types::LoggingLevel;
use mcp_schema::explain::kind;
use mcp_schema::suggest::closest;
use mcp_schema::text::read_text;
use serde_json::{Map, Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::print;
use crate::print::{bar, shown, single_line, terminal_width};

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

// --- Prompts the user for input and reads it from the terminal.

/// Prompts for one field until the input is valid. Returns `None` at the end of the input.
pub(super) fn ask(name: &str, field: &Value, required: bool) -> Result<Option<Value>, String> {
    let about = field["description"].as_str().or(field["title"].as_str());
    let default = &field["default"];
    loop {
        let mut text = format!("  {}", about.unwrap_or(name));
        let _ = write!(text, " ({}", kind(field));
        if !default.is_null() {
            let _ = write!(text, ", default {default}");
        } else if !required {
            text.push_str(", optional");
        }
        say(&format!("{text}): "));
        let Some(typed_text) = read_line()? else {
            return Ok(None);
        };
        if typed_text.is_empty() && (!required || !default.is_null()) {
            return Ok(Some(default.clone()));
        }
        let value = read_text(field, &typed_text);
        if fits(field, &value) {
            return Ok(Some(value));
        }
        say(&format!("  invalid; expected {}\n", kind(field)));
    }
}

/// Returns `true` if a value passes a few simple checks for its field. Full validation is left to the server.
fn fits(field: &Value, value: &Value) -> bool {
    let is_among = |choices: &Value| {
        let mut choices = choices.as_array().into_iter().flatten();
        choices.any(|choice| choice == value || choice["const"] == *value)
    };
    match field["type"].as_str() {
        Some("boolean") => value.is_boolean(),
        Some("integer" | "number") => value.as_f64().is_some_and(|number| {
            let least = field["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
            let most = field["maximum"].as_f64().unwrap_or(f64::INFINITY);
            (least..=most).contains(&number)
        }),
        Some("array") => value.is_array(),
        _ if field["enum"].is_array() => is_among(&field["enum"]),
        _ if field["oneOf"].is_array() => is_among(&field["oneOf"]),
        _ => true,
    }
}

/// Reads one line from standard input. Returns `None` at the end of the input or if the user has given up.
pub(super) fn read_line() -> Result<Option<String>, String> {
    let lines = Lines::get();
    let received = lock(&lines.received);
    // If an earlier question was abandoned, the line that it requested becomes the next line.
    if !lines.is_reading.swap(true, Ordering::SeqCst) {
        // The thread runs for the lifetime of the program.
        let _ = lines.wanted.send(());
    }
    lines.is_waiting.store(true, Ordering::SeqCst);
    let line = received.recv();
    lines.is_waiting.store(false, Ordering::SeqCst);
    match line {
        Ok(Line::Read(line)) => {
            lines.is_reading.store(false, Ordering::SeqCst);
            match line {
                Ok(text) if text.is_empty() => Ok(None),
                Ok(text) => Ok(Some(text.trim().to_owned())),
                Err(error) => Err(format!("cannot read standard input: {error}")),
            }
        }
        Ok(Line::GivenUp) | Err(_) => Ok(None),
    }
}

/// Lets the question that is waiting for a line continue without one.
pub(super) fn give_up() {
    let lines = Lines::get();
    if lines.is_waiting.swap(false, Ordering::SeqCst) {
        let _ = lines.sender.send(Line::GivenUp);
    }
}

/// The lines of standard input. A thread reads each line on request, so waiting for a line can be abandoned.
struct Lines {
    wanted: Sender<()>,
    sender: Sender<Line>,
    received: Mutex<Receiver<Line>>,
    /// `true` while the thread reads a line.
    is_reading: AtomicBool,
    /// `true` while a question or the shell waits for a line.
    is_waiting: AtomicBool,
}

enum Line {
    /// A line including its line ending, or an empty string at the end of the input.
    Read(io::Result<String>),
    GivenUp,
}

impl Lines {
    fn get() -> &'static Self {
        static LINES: OnceLock<Lines> = OnceLock::new();
        LINES.get_or_init(|| {
            let (wanted, wishes) = channel();
            let (sender, received) = channel();
            let lines = sender.clone();
            thread::spawn(move || {
                for () in wishes {
                    let mut text = String::new();
                    let read = io::stdin().read_line(&mut text).map(|_| text);
                    if lines.send(Line::Read(read)).is_err() {
                        break;
                    }
                }
            });
            Self {
                wanted,
                sender,
                received: Mutex::new(received),
                is_reading: AtomicBool::default(),
                is_waiting: AtomicBool::default(),
            }
        })
    }
}

/// Writes to standard error, without a line end. The text may come from anywhere.
pub(super) fn say(text: &str) {
    say_as_is(&shown(text, &io::stderr()));
}

/// Like [`say`], but for text of this program, which may move the cursor.
fn say_as_is(text: &str) {
    let mut stderr = io::stderr().lock();
    // Errors are ignored because there is nowhere to report them.
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

// --- Ctrl-C: ends the operation for which a command is waiting, but not the program.

/// The message for a call that was ended by Ctrl-C.
pub(super) const CANCELLED: &str = "cancelled";

/// Begins to wait for Ctrl-C, which from now on no longer ends the program by default, even if the returned future has not
/// been polled. If the program was started with Ctrl-C ignored, Ctrl-C counts nevertheless.
///
/// On a single-threaded runtime, this waits forever and Ctrl-C ends the program, because a handler that blocks the
/// thread would prevent Ctrl-C from being detected.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    let has_threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    let signal = has_threads.then(listen).flatten();
    async move {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
fn listen() -> Option<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::interrupt()).ok()
}

#[cfg(windows)]
fn listen() -> Option<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c().ok()
}

#[cfg(test)]
mod tests {
    mod terminal {
        use crate::terminal::*;

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

    mod input {
        use serde_json::json;

        use crate::terminal::*;

        #[test]
        fn a_value_that_does_not_fit_its_field_is_prompted_for_again() {
            let number = json!({"type": "integer", "minimum": 1, "maximum": 9});
            let choice = json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]});
            for (field, value, expected) in [
                (&number, json!(9), true),
                (&number, json!(10), false),
                (&number, json!("x"), false),
                (&choice, json!("a"), true),
                (&choice, json!("b"), false),
                (&json!({"type": "string", "enum": ["a"]}), json!("b"), false),
                (&json!({"type": "array"}), json!(["a"]), true),
                (&json!({"type": "boolean"}), json!("maybe"), false),
                (&json!({"type": "string"}), json!("anything"), true),
            ] {
                assert_eq!(fits(field, &value), expected, "{field}: {value}");
            }
        }
    }

    mod interrupt {
        use std::process::{Command, id};
        use std::time::Duration;

        use crate::terminal::*;

        /// Set in the process that is interrupted.
        const IS_INTERRUPTED: &str = "MCP_TEST_IS_INTERRUPTED";

        /// Otherwise a script that interrupts a program as soon as it has read something could end it.
        #[test]
        fn ctrl_c_is_handled_even_if_it_arrives_before_the_wait() {
            if std::env::var_os(IS_INTERRUPTED).is_some() {
                interrupt_this_process();
                return;
            }
            let (_, module) = module_path!().split_once("::").unwrap();
            let test = format!("{module}::ctrl_c_is_handled_even_if_it_arrives_before_the_wait");
            let ran = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &test])
                .env(IS_INTERRUPTED, "1")
                .output()
                .unwrap();
            let shown = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.success(), "{}: {shown}", ran.status);
            assert!(shown.contains("1 passed"), "{shown}");
        }

        #[tokio::main(flavor = "multi_thread", worker_threads = 1)]
        async fn interrupt_this_process() {
            let interrupted = interrupted();
            let interrupt = Command::new("kill")
                .args(["-INT", &id().to_string()])
                .status();
            assert!(interrupt.unwrap().success());
            let noticed = tokio::time::timeout(Duration::from_mins(1), interrupted).await;
            noticed.expect("it is noticed");
        }
    }
}
