//! The terminal walk of docs/first-server.md and the test module of docs/testing.md are what really happens.
//!
//! `UPDATE_DOCS=1 cargo test -p tests --test it command_line_docs` writes code and output anew.

use std::fmt::Write as _;
use std::fs;

use crate::command_line::{Scratch, run_at};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/src/bin/garden.rs");

/// The page as it should be: blocks of the example's code, and of terminals, made anew.
///
/// A block stands for the server or the tests if the line before it says so in a comment, and for a terminal if its
/// language is `console`. Each line there that starts with `$ ` is a command, and what follows is what it prints.
fn renewed(page: &str) -> String {
    let example = fs::read_to_string(EXAMPLE).unwrap();
    let (server, tests) = example.split_once("#[cfg(test)]\n").unwrap();
    // The comment at the top is for readers of the example.
    let (_, server) = server.split_once("\n\n").unwrap();
    let tests = format!("#[cfg(test)]\n{tests}");
    let scratch = Scratch::new("walk");
    let mut renewed = String::new();
    let mut lines = page.lines().peekable();
    let mut before = "";
    while let Some(line) = lines.next() {
        let _ = writeln!(renewed, "{line}");
        let is_code = line == "```rust" || line == "```rust,ignore";
        let code = match before {
            "<!-- the server -->" if is_code => Some(server.trim_end()),
            "<!-- its tests -->" if is_code => Some(tests.trim_end()),
            _ => None,
        };
        if let Some(code) = code {
            let _ = writeln!(renewed, "{code}");
            while lines.next_if(|line| *line != "```").is_some() {}
        } else if line == "```console" {
            while let Some(line) = lines.next_if(|line| *line != "```") {
                if let Some(command) = line.strip_prefix("$ ") {
                    let _ = write!(renewed, "{line}\n{}", printed(&scratch, command));
                }
            }
        }
        before = line;
    }
    renewed
}

/// What a command prints, with the places of whoever reads the page.
fn printed(scratch: &Scratch, command: &str) -> String {
    let arguments = command
        .strip_prefix("cargo run -q -- ")
        .unwrap_or_else(|| panic!("{command}"));
    // Words in quotes are one; nothing else of a shell is used there.
    let arguments: Vec<_> = arguments
        .split('"')
        .enumerate()
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split(' ').filter(|word| !word.is_empty()).collect(),
            _ => vec![part],
        })
        .collect();
    let (home, here) = (scratch.path(), scratch.path().join("garden"));
    fs::create_dir_all(&here).unwrap();
    let ran = run_at(&here, home, "garden", &arguments);
    let text = ran.out + &ran.err;
    let executable = tests::binary("garden");
    let directory = executable.parent().unwrap().to_str().unwrap();
    text.replace(directory, "/home/you/garden/target/debug")
        .replace(home.to_str().unwrap(), "/home/you")
        .replace(std::env::consts::EXE_SUFFIX, "")
}

fn check(page: &str) {
    let path = format!("{}/../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap();
    let renewed = renewed(&text);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, renewed).unwrap();
    } else {
        assert_eq!(
            text, renewed,
            "{page}: run with UPDATE_DOCS=1 and read what changed"
        );
    }
}

#[test]
fn the_walk_is_what_happens() {
    check("first-server.md");
}

#[test]
fn the_page_on_testing_shows_tests_that_run() {
    check("testing.md");
}
