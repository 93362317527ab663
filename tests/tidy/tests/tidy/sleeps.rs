//! Checks that tests wait for signals or on a paused clock instead of sleeping.

use crate::exceptions;
use crate::sources;

/// Returns the functions in the source text that sleep, except tests that run on a paused clock.
fn sleeping(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut function, mut is_paused) = ("", false);
    for line in text.lines() {
        let code = line.trim_start();
        if code.starts_with("#[tokio::test") {
            is_paused = code.contains("start_paused = true");
        }
        let words: Vec<_> = line.split([' ', '(', '<']).collect();
        // A nested function counts as part of the function or method that contains it.
        if !line.starts_with("     ")
            && let Some(at) = words.iter().position(|word| *word == "fn")
        {
            function = words.get(at + 1).copied().unwrap_or_default();
        }
        if line == "}" {
            is_paused = false;
        }
        let is_sleep = code.contains("sleep(") && !code.starts_with("//");
        // A paused clock does not shorten the sleep of a thread.
        let is_real = !is_paused || code.contains("thread::sleep(");
        if is_sleep && is_real && found.last().is_none_or(|last| last != function) {
            found.push(function.to_owned());
        }
    }
    found
}

#[test]
fn no_integration_test_sleeps_without_a_reason() {
    let sleeping = sources::files(
        &["tests/tests/it", "examples/tests", "tests/fixtures/tests"],
        "rs",
    )
    .into_iter()
    .flat_map(|source| {
        let functions = sleeping(&source.text).into_iter();
        functions
            .map(|function| format!("{}::{function}", source.path))
            .collect::<Vec<_>>()
    });
    exceptions::check(
        "sleep",
        "wait for a signal, pause the clock (`start_paused = true`), or poll a condition (`tests::wait`)",
        sleeping.map(|subject| (subject, "sleeps".to_owned())),
    );
}
