//! Runs the commands for servers that are not made with mcp-runtime, most of which misbehave.

#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The outcome of a command.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs a command without a terminal.
fn run(arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-dev"));
    let output = command.args(arguments).output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a command for the server in `server.py`.
fn run_for(arguments: &[&str], server: &[&str]) -> Ran {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server.py");
    run(&[arguments, &["--", "python3", script], server].concat())
}

const ERAS: [&str; 2] = ["legacy", "modern"];

#[test]
fn servers_of_one_era_are_checked() {
    for era in ERAS {
        let ran = run_for(&["check"], &[era, "plain"]);
        assert_eq!(ran.code, Some(0), "{era}: {}{}", ran.out, ran.err);
        let expected = "1 tool, 0 prompts, 0 resources, 0 templates; the tools use about ";
        assert!(ran.out.starts_with(expected), "{era}: {}", ran.out);
        assert!(ran.out.ends_with("no problems found\n"), "{}", ran.out);
        // Nothing else is printed, such as colors or notes about servers made with mcp-runtime.
        assert_eq!(ran.err, "");
        assert!(!ran.out.contains('\u{1b}'));
    }
    let other = run_for(
        &["check", "--protocol-version", "2026-07-28"],
        &["legacy", "plain"],
    );
    assert_eq!(other.code, Some(1));
    assert!(other.err.contains("server/discover was refused"));
    let both = run_for(&["check"], &["neither", "plain"]);
    for reason in [
        "in the modern era: server/discover was refused",
        "in the legacy era: initialize was refused",
    ] {
        assert!(both.err.contains(reason), "{}", both.err);
    }
}

#[test]
fn a_server_may_have_no_tools_or_thousands() {
    for (count, word) in [("0", "0 tools"), ("5000", "5000 tools")] {
        let ran = run_for(&["check", "--json"], &["modern", "plain", count]);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["tools"].to_string(), count, "{}", ran.err);
        let text = run_for(&["check"], &["legacy", "plain", count]).out;
        assert!(text.starts_with(word), "{text}");
    }
    let endless = run_for(&["check"], &["legacy", "endless"]);
    assert_eq!(endless.code, Some(1));
    let reason = "tools/list does not end: it returns the same cursor again";
    assert!(endless.err.contains(reason), "{}", endless.err);
}

#[test]
fn a_server_that_does_not_answer_has_a_time_limit() {
    let ran = run_for(&["check", "--timeout", "1"], &["legacy", "hangs"]);
    assert_eq!(ran.code, Some(1));
    for part in ["no answer within 1 s", "I am thinking"] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
}

#[test]
fn output_that_is_not_the_protocol_is_reported_or_skipped() {
    let ran = run_for(&["check"], &["legacy", "garbage"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("exit status: 3"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'));
    for era in ERAS {
        let ran = run_for(&["check"], &[era, "noisy"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let missing = run(&["check", "--", "/no/such/program"]);
    assert_eq!(missing.code, Some(1));
    let reason = "cannot connect to /no/such/program: cannot start `/no/such/program`";
    assert!(missing.err.contains(reason), "{}", missing.err);
}

#[test]
fn a_question_is_declined() {
    for era in ERAS {
        let scratch = tempfile(&format!("asks-{era}"));
        let file = scratch.display().to_string();
        let ran = run_for(&["check", "--surface", &file, "--save"], &[era, "asks"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let saved = std::fs::read_to_string(&scratch).unwrap();
        assert!(saved.contains("\"name\": \"decline\""), "{saved}");
    }
}

#[test]
fn control_characters_of_definitions_are_escaped() {
    for arguments in [&["check"][..], &["check", "--json"]] {
        let ran = run_for(arguments, &["modern", "escapes"]);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        let is_raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!ran.out.contains(is_raw), "{:?}", ran.out);
        assert!(ran.out.contains("title"));
    }
    let json = run_for(&["check", "--json"], &["modern", "escapes"]).out;
    let report: Value = serde_json::from_str(&json).unwrap();
    let name = report["tokensByTool"][0]["tool"].as_str().unwrap();
    assert!(name.contains("\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}\u{202e}"));
}

#[test]
fn tools_of_any_server_have_types() {
    for era in ERAS {
        let ran = run_for(&["types"], &[era, "plain", "2"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let expected = "  \"tool_1\": {\n    arguments: {\n      /** An argument */\n      a: string;\n    };\n    result: undefined;\n  };\n";
        assert!(ran.out.contains(expected), "{}", ran.out);
    }
    let none = run_for(&["types"], &["modern", "plain", "0"]);
    assert!(none.out.contains("interface McpTools {\n}\n"));
    let ran = run_for(&["types"], &["modern", "escapes"]);
    let is_raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!ran.out.contains(is_raw), "{:?}", ran.out);
}

#[test]
fn the_surface_of_any_server_is_compared() {
    let scratch = tempfile("surface");
    let file = scratch.display().to_string();
    let check = |kind: &str, more: &[&str]| {
        let arguments = [&["check", "--surface", &file], more].concat();
        run_for(&arguments, &["modern", kind])
    };
    let missing = check("plain", &[]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("create it with `--save`"));
    assert_eq!(check("plain", &["--save"]).code, Some(0));
    assert_eq!(check("plain", &[]).code, Some(0));
    let older = check("older", &[]);
    assert_eq!(older.code, Some(1));
    let change = "breaking: tool `tool_0`: /a: ";
    assert!(older.out.contains(change), "{}", older.out);
    std::fs::write(&scratch, "[]").unwrap();
    assert!(check("plain", &[]).err.contains("is not a saved surface"));
}

#[test]
fn a_url_that_wants_credentials_says_how_to_pass_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    let ran = run(&["check", &url]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("HTTP 401"), "{}", ran.err);
    assert!(ran.err.contains("--header"), "{}", ran.err);
}

#[test]
fn completion_of_a_program_that_is_no_server_has_no_candidates() {
    let complete = |words: &[&str]| run(&[&["__complete", "fish"], words].concat());
    for program in ["/no/such/program", "/bin/true", "/bin/echo"] {
        let ran = complete(&[program, "--", "call", ""]);
        assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{program}");
    }
    let own = complete(&["/usr/bin/mcp-dev", "--", "che"]);
    let about = "Check a server's definitions for problems with clients and models";
    assert_eq!(own.out, format!("check\t{about}\n"));
    for (words, code, out) in [
        (&["completions", "z"][..], 0, "zsh\t\n"),
        (&["check", "--surface", ""], 1, ""),
        (&["check", "--", "gar"], 1, ""),
        (&["check", "htt"], 0, ""),
        (&["replay", ""], 1, ""),
    ] {
        let ran = complete(&[&["mcp-dev", "--"], words].concat());
        assert_eq!((ran.code, &*ran.out), (Some(code), out), "{words:?}");
    }
    let script = run(&["completions", "fish", "--", "my server"]);
    assert!(script.err.contains("rename it"), "{}", script.err);
}

/// Returns the path of a file that does not exist yet.
fn tempfile(name: &str) -> std::path::PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}
