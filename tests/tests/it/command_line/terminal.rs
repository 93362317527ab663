//! Questions that a person answers at a terminal: the command line in a pseudoterminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tests::process::Program;

/// The end of the input, as typed by a person.
const END: &str = "\x04";

/// A command in a terminal. Results go to a pipe, as in `garden call … | less`.
struct Screen {
    keyboard: File,
    program: Program,
    shown: Receiver<String>,
    /// Output that no test has waited for yet.
    text: String,
}

impl Screen {
    fn of(example: &str, arguments: &[&str]) -> Self {
        Self::start(example, arguments, false)
    }

    /// Starts a command whose results go to the terminal, too, if `shows_results` is `true`.
    fn start(example: &str, arguments: &[&str], shows_results: bool) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let end = || {
            let mut options = File::options();
            let end = options.read(true).write(true).open(name.to_str().unwrap());
            OwnedFd::from(end.unwrap())
        };
        let program = Program::start(
            Command::new(tests::binary(example))
                .args(arguments)
                .env("NO_COLOR", "1")
                .stdin(Stdio::from(end()))
                .stderr(Stdio::from(end()))
                .stdout(if shows_results {
                    Stdio::from(end())
                } else {
                    Stdio::piped()
                }),
        );
        let keyboard = File::from(terminal);
        let mut screen = keyboard.try_clone().unwrap();
        let (show, shown) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            // Reading ends with an error when no process has the terminal open any more.
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                if show
                    .send(String::from_utf8_lossy(&bytes[..length]).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
        Self {
            keyboard,
            program,
            shown,
            text: String::new(),
        }
    }

    /// Waits until this text is shown.
    fn expect(&mut self, text: &str) {
        loop {
            if let Some(at) = self.text.find(text) {
                self.text.drain(..at + text.len());
                return;
            }
            let Ok(more) = self.shown.recv_timeout(Duration::from_mins(1)) else {
                panic!("`{text}` is not shown: {}", self.text);
            };
            self.text.push_str(&more);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Returns the results, and `true` if the command succeeded.
    fn end(mut self) -> (String, bool) {
        let success = self.program.ended().success();
        let mut out = String::new();
        // The process has ended, so nobody writes any more. Results are shorter than a pipe holds.
        let stdout = self.program.0.stdout.as_mut().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        (out, success)
    }
}

#[test]
fn a_form_is_filled_in_at_the_terminal_until_it_fits() {
    for date in ["2025-11-25", "2026-07-28"] {
        let arguments = ["call", "dig_out", "plant=rose", "--protocol-version", date];
        let mut screen = Screen::of("garden", &arguments);
        screen.expect("Rose will be gone for good.");
        screen.expect("Really dig it out? (true|false): ");
        screen.type_in("perhaps\n");
        screen.expect("expected true|false");
        screen.expect("Really dig it out? (true|false): ");
        screen.type_in("yes\n");
        assert_eq!(screen.end(), ("Rose is gone\n".to_owned(), true), "{date}");
    }
}

#[test]
fn a_task_shows_its_progress_and_asks_at_the_terminal() {
    let mut screen = Screen::of("ledger", &["call", "import", "rows=200", "--task"]);
    screen.expect("task ");
    screen.expect("loading rows");
    screen.expect("Commit them?");
    screen.type_in("true\n");
    assert_eq!(screen.end(), ("200 rows committed\n".to_owned(), true));
}

#[test]
fn the_end_of_the_input_cancels_a_form() {
    for date in ["2025-11-25", "2026-07-28"] {
        let arguments = ["call", "dig_out", "plant=rose", "--protocol-version", date];
        let mut screen = Screen::of("garden", &arguments);
        screen.expect("(true|false): ");
        screen.type_in(END);
        screen.expect("error: the user dismissed the question");
        assert_eq!(screen.end(), (String::new(), false), "{date}");
    }
}

#[test]
fn the_shell_asks_between_its_commands() {
    let mut screen = Screen::of("garden", &["shell"]);
    screen.expect("> ");
    screen.type_in("call dig_out plant=basil\n");
    screen.expect("(true|false): ");
    screen.type_in("no\n");
    screen.expect("error: Basil stays");
    screen.expect("> ");
    screen.type_in("call water plant=rose\n");
    screen.expect("> ");
    screen.type_in(END);
    // The person has already seen the failure.
    assert_eq!(screen.end(), ("Rose has had 1 litres\n".to_owned(), true));
}

#[test]
fn a_server_at_a_terminal_says_what_to_type() {
    let mut screen = Screen::of("garden", &[]);
    screen.expect("is an MCP server with 2 tools, 1 prompt, 1 template.");
    screen.expect("Tools: water, dig_out");
    screen.expect("call water …");
    screen.expect("--help");
    screen.type_in(END);
    // Standard output is reserved for the protocol.
    assert_eq!(screen.end(), (String::new(), true));
    // Clients start servers with pipes, and their logs remain empty.
    let piped = super::run("garden", &[]);
    assert_eq!((piped.code, piped.err), (Some(0), String::new()));
}

/// The text of a result often comes from somewhere else.
#[test]
fn a_result_cannot_control_the_terminal() {
    let text = "text=\u{1b}]0;title\u{7}\u{1b}[2J";
    let arguments = ["call", "echo", text];
    let mut screen = Screen::start("everything", &arguments, true);
    screen.expect(r"\u{1b}]0;title\u{7}\u{1b}[2J");
    // A program gets the text itself.
    let screen = Screen::of("everything", &arguments);
    assert!(screen.end().0.contains("\u{1b}]0;title\u{7}"));
}
