//! Checks that tests do not wait for another program, a channel or a line without a limit: a test that waits for ever hides
//! what has failed.

use crate::exceptions;
use crate::sources;

const FOLDERS: [&str; 7] = [
    "tests/src",
    "examples/tests",
    "tests/fixtures/tests",
    "tests/tests",
    "crates/redis/tests",
    "mcp-runtime/tests",
    "crates/sqlite/tests",
];
/// Calls that return only when something else has happened.
const WAITS: [&str; 7] = [
    ".wait()",
    ".wait_with_output()",
    ".output()",
    ".status().unwrap()",
    ".recv()",
    ".next_line()",
    ".read_line(&mut",
];
/// Calls in the same statement that limit the time.
const LIMITS: [&str; 3] = ["timeout(", "in_time(", "for_a_paused_day("];

/// Returns the functions in the source text that wait without a limit. Handlers are not told from tests.
fn waiting(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut function, mut statement) = (String::new(), String::new());
    for line in text.lines() {
        let code = line.trim();
        let words: Vec<_> = line.split([' ', '(', '<']).collect();
        // A nested function counts as part of the function or method that contains it.
        if !line.starts_with("     ")
            && let Some(at) = words.iter().position(|word| *word == "fn")
        {
            words
                .get(at + 1)
                .copied()
                .unwrap_or_default()
                .clone_into(&mut function);
        }
        if code.starts_with("//") {
            continue;
        }
        statement += code;
        if code.ends_with([';', '{', '}']) {
            let waits = WAITS.iter().any(|call| statement.contains(call));
            let is_limited = LIMITS.iter().any(|call| statement.contains(call));
            if waits && !is_limited && found.last() != Some(&function) {
                found.push(function.clone());
            }
            statement.clear();
        }
    }
    found
}

#[test]
fn no_test_waits_without_a_limit_or_a_reason() {
    let found = sources::files(&FOLDERS, "rs").into_iter();
    // This file names the calls.
    let found = found.filter(|source| !source.path.ends_with("tidy/waits.rs"));
    let found = found.flat_map(|source| {
        let functions = waiting(&source.text).into_iter();
        functions
            .map(|function| format!("{}::{function}", source.path))
            .collect::<Vec<_>>()
    });
    exceptions::check(
        "wait",
        "use `tests::run` for programs, and `tests::wait::in_time` for the rest",
        found.map(|subject| (subject, "waits".to_owned())),
    );
}

#[test]
fn a_statement_over_several_lines_is_read_as_one() {
    let text = "fn one() {\n    command\n        .output()\n        .unwrap();\n}\n\
                fn two() {\n    timeout(\n        PATIENCE, seen.recv(),\n    );\n}\n\
                // .wait()\nfn three() {\n    in_time(seen.recv()).await;\n    child.wait();\n}\n";
    assert_eq!(waiting(text), ["one", "three"]);
}
