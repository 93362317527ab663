//! Another program, such as mcp-dev, that reads and edits the files that need a library: JSON with comments, and TOML.
//!
//! The program is started with the argument `edit-configuration`. It reads a request from standard input: the `format`,
//! `json` or `toml`, the `text`, and the `changes`, each a `path` of names and the new `value`, or no value to remove the
//! member. It prints the new `text` and the `value` of the whole document, or an `error` that continues a sentence about
//! the file.

use std::ffi::OsString;
use std::io;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Arg, ArgMatches};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::install::change::Change;

/// The argument that makes the program edit a file.
const EDIT: &str = "edit-configuration";

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: u64 = 128 << 20;

/// The program, if one is given.
#[derive(Clone, Copy)]
pub(super) struct TextEditor<'a>(Option<&'a Path>);

/// A file's text and content after changes.
#[derive(Deserialize)]
pub(super) struct EditedFile {
    pub(super) text: String,
    pub(super) value: Value,
}

/// Returns the option that names the program.
pub(super) fn option() -> Arg {
    Arg::new("editor")
        .long("editor")
        .value_name("PROGRAM")
        .value_parser(clap::value_parser!(OsString))
        .help("Edit files with comments, and TOML, with this program, as `mcp-dev install` does")
}

impl<'a> TextEditor<'a> {
    #[cfg(test)]
    pub(super) const NONE: Self = Self(None);

    pub(super) fn read(matches: &'a ArgMatches) -> Self {
        let program = matches.get_one::<OsString>("editor");
        Self(program.map(Path::new))
    }

    pub(super) fn is_given(self) -> bool {
        self.0.is_some()
    }

    /// Makes changes to the text of a file. Returns `None` if there is no program for this.
    pub(super) fn edit(
        self,
        format: &str,
        text: &str,
        changes: &[Change],
    ) -> Option<Result<EditedFile, String>> {
        let program = self.0?;
        let answer =
            ask(program, &request(format, text, changes)).map_err(|error| error.to_string());
        let edited = answer.and_then(|answer| read_answer(&answer));
        Some(edited.unwrap_or_else(|problem| {
            Err(format!(
                "cannot be edited with `{}`: {problem}",
                program.display()
            ))
        }))
    }
}

fn request(format: &str, text: &str, changes: &[Change]) -> String {
    let changes = changes.iter().map(|Change { path, value }| match value {
        Some(value) => json!({"path": path, "value": value}),
        None => json!({"path": path}),
    });
    let changes: Value = changes.collect();
    json!({"format": format, "text": text, "changes": changes}).to_string()
}

/// Returns the edited file or the problem with the file. Fails if the program did something else.
fn read_answer(answer: &[u8]) -> Result<Result<EditedFile, String>, String> {
    let mut answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    match answer.get_mut("error").map(Value::take) {
        Some(Value::String(problem)) => Ok(Err(problem)),
        _ => serde_json::from_value(answer)
            .map(Ok)
            .map_err(|_| "it did not answer as mcp-dev does".to_owned()),
    }
}

/// Returns the program's answer to a request.
fn ask(program: &Path, request: &str) -> io::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .arg(EDIT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut answer = Vec::new();
    let read = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that does not read the request does not answer it either.
            stdin.map(|mut stdin| stdin.write_all(request.as_bytes()))
        });
        let mut stdout = stdout.into_iter();
        stdout.try_for_each(|stdout| {
            let mut start = stdout.take(MAX_ANSWER);
            start.read_to_end(&mut answer).map(drop)
        })
    });
    // A program that prints more than this cannot write it.
    child.wait()?;
    read.map(|()| answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_text_and_the_changes() {
        let change = |value| Change {
            path: vec!["a".to_owned(), "b".to_owned()],
            value,
        };
        assert_eq!(
            request("json", "{} // b", &[change(Some(1.into())), change(None)]),
            r#"{"format":"json","text":"{} // b","changes":[{"path":["a","b"],"value":1},{"path":["a","b"]}]}"#
        );
        let edited = read_answer(br#"{"text": "t", "value": 1}"#);
        let edited = edited.unwrap().map(|file| (file.text, file.value));
        assert_eq!(edited, Ok(("t".to_owned(), 1.into())));
        let refused = read_answer(br#"{"error": "is not valid JSON"}"#);
        let refused = refused.unwrap().map(|file| file.text);
        assert_eq!(refused, Err("is not valid JSON".to_owned()));
    }

    #[test]
    fn an_answer_of_another_program_is_refused() {
        for answer in [
            "",
            "hello",
            "[]",
            r#"{"text": 1, "value": 1}"#,
            r#"{"text": "t"}"#,
        ] {
            let problem = read_answer(answer.as_bytes()).map(drop).unwrap_err();
            assert_eq!(problem, "it did not answer as mcp-dev does", "{answer}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_answer_is_named() {
        for (program, problem) in [
            ("true", "did not answer"),
            ("echo", "did not answer"),
            ("/no/such/program", "os error 2"),
        ] {
            let editor = TextEditor(Some(Path::new(program)));
            let text = "# ".repeat(1 << 20);
            let edited = editor.edit("toml", &text, &[]).unwrap();
            let error = edited.map(|file| file.text).unwrap_err();
            let start = format!("cannot be edited with `{program}`: ");
            assert!(
                error.starts_with(&start) && error.contains(problem),
                "{error}"
            );
        }
    }
}
