//! The terminal sessions in docs/command-line.md, docs/first-server.md and docs/http.md, the test module in
//! docs/testing.md, the code in docs/observability.md and the files in docs/operating-a-cluster.md are accurate.
//!
//! `.ci/renew` writes code and output anew.

use std::fmt::Write as _;
use std::fs;
#[cfg(unix)]
use std::process::{Command, Stdio};

#[cfg(unix)]
use tests::generated::check_generated;
use tests::process::Program;

use crate::command_line::{Scratch, run_at};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/src/bin/garden.rs");

/// Returns the page as it should be, with the blocks of example code and of terminal sessions regenerated.
///
/// A block represents the server, the tests or another file if a comment on the line before it says so, and a terminal
/// if its language is `console`. Each line there that starts with `$ ` is a command, followed by its output.
fn renewed(page: &str) -> String {
    let example = fs::read_to_string(EXAMPLE).unwrap();
    let (server, tests) = example.split_once("#[cfg(test)]\n").unwrap();
    // The comment at the top is meant for readers of the example.
    let (_, server) = server.split_once("\n\n").unwrap();
    let tests = format!("#[cfg(test)]\n{tests}");
    let scratch = Scratch::new("walk");
    let mut renewed = String::new();
    let mut lines = page.lines().peekable();
    let mut before = "";
    while let Some(line) = lines.next() {
        let _ = writeln!(renewed, "{line}");
        let is_code = ["```rust", "```rust,ignore", "```nginx", "```yaml"].contains(&line);
        let code = match before {
            "<!-- the server -->" if is_code => Some(server.trim_end().to_owned()),
            "<!-- its tests -->" if is_code => Some(tests.trim_end().to_owned()),
            _ if is_code => before
                .strip_prefix("<!-- from ")
                .map(|path| code_of(path.trim_end_matches(" -->"))),
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

/// Returns a source file without its first comment.
fn code_of(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let (_, code) = text.split_once("\n\n").unwrap();
    code.trim_end().to_owned()
}

/// Returns the output of a command, with paths as the reader of the page would see them. The command is the name of an
/// example, or runs `garden` with cargo.
fn printed(scratch: &Scratch, command: &str) -> String {
    let (example, arguments) = match command.strip_prefix("cargo run -q -- ") {
        Some(arguments) => ("garden", arguments),
        None => command.split_once(' ').unwrap(),
    };
    // Quoted words are one argument; no other shell syntax is used there.
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
    let ran = run_at(&here, home, example, &arguments);
    let text = ran.out + &ran.err;
    let executable = tests::binary("garden");
    let directory = executable.parent().unwrap().to_str().unwrap();
    text.replace(directory, "/home/you/garden/target/debug")
        .replace(home.to_str().unwrap(), "/home/you")
        .replace(std::env::consts::EXE_SUFFIX, "")
}

/// Returns the page as it should be, with what `curl` gets from the example over HTTP. A command continues after a line
/// that ends in `\` or inside quotes, and all commands of a page are run in sequence by a single shell.
#[cfg(unix)]
fn renewed_over_http(page: &str) -> String {
    const END: &str = "the-end-of-a-command";
    let server = HttpServer::start();
    let mut commands = Vec::new();
    let mut pages = Vec::new();
    let mut rest = page;
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (block, after) = block.split_once("```\n").unwrap();
        // The lines of a command are indented; those of its output are not.
        let mut found: Vec<String> = Vec::new();
        for line in block.lines() {
            if line.starts_with("$ ") {
                found.push(format!("{line}\n"));
            } else if line.starts_with("  ") {
                *found.last_mut().unwrap() += &format!("{line}\n");
            }
        }
        pages.push((before, found.len()));
        commands.extend(found);
        rest = after;
    }
    let run = commands.iter().fold(String::new(), |script, command| {
        let command = command.trim_start_matches("$ ");
        let command = command.replace("127.0.0.1:8000", &server.address);
        script + &command + &format!("printf '\\n{END}\\n'\n")
    });
    let output = tests::run::output(Command::new("sh").args(["-c", &run]));
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let end = format!("\n{END}\n");
    let mut printed = output.split(&end);
    let mut commands = commands.iter();
    let mut renewed = String::new();
    for (before, count) in pages {
        renewed += before;
        renewed += "```console\n";
        for command in commands.by_ref().take(count) {
            renewed += command;
            let text = printed.next().unwrap().trim_start_matches('\n');
            if !text.is_empty() {
                renewed += &format!("{text}\n");
            }
        }
        renewed += "```\n";
    }
    renewed + rest
}

/// The example, serving HTTP until it is dropped.
#[cfg(unix)]
struct HttpServer {
    _program: Program,
    address: String,
}

#[cfg(unix)]
impl HttpServer {
    fn start() -> Self {
        let mut program = Program::start(
            Command::new(tests::binary("garden"))
                .args(["--http", "127.0.0.1:0"])
                .stdin(Stdio::null())
                .stderr(Stdio::piped()),
        );
        let url = program.line();
        let address = url.trim_start_matches("http://");
        let address = address.trim_end_matches("/mcp").to_owned();
        Self {
            _program: program,
            address,
        }
    }
}

pub(crate) fn check(page: &str, renewed: impl Fn(&str) -> String) {
    let path = format!("{}/../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    check_generated(&format!("docs/{page}"), &renewed(&text));
}

#[test]
fn the_walk_is_what_happens() {
    check("first-server.md", renewed);
}

#[test]
fn the_sample_of_a_report_is_what_check_prints() {
    check("command-line.md", renewed);
}

#[test]
fn the_code_that_exports_telemetry_is_that_of_the_example() {
    check("observability.md", renewed);
}

#[test]
fn the_files_for_a_cluster_are_those_that_are_tested() {
    check("operating-a-cluster.md", renewed);
}

#[test]
fn the_page_on_testing_shows_tests_that_run() {
    check("testing.md", renewed);
}

/// Needs `curl`; passes if it is not installed.
#[cfg(unix)]
#[test]
fn what_curl_is_answered_is_what_happens() {
    if tests::run::output_if_installed(Command::new("curl").arg("--version")).is_some() {
        check("http.md", renewed_over_http);
    }
}
