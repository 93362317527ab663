//! `shell`: runs one command after another on the same server; also covers rules that apply to every command.

use std::process::Command;

use serde_json::Value;

use crate::command_line::{Ran, run};

/// Runs the shell of an example with these input lines.
fn shell(example: &str, arguments: &[&str], lines: &str) -> Ran {
    let mut command = Command::new(tests::binary(example));
    let output = tests::run::output_of(command.args(arguments), lines);
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn what_one_call_changes_the_next_one_finds() {
    for version in tests::Version::ALL {
        let lines = "# two notes\ncall add text=\"buy milk\" urgency=5\n\ncall add text=sleep\nread notes:///0\nread notes:///1\n";
        let ran = shell(
            "guide",
            &["shell", "--protocol-version", version.date()],
            lines,
        );
        assert_eq!(ran.err, "");
        assert_eq!(ran.code, Some(0));
        let expected = "> # two notes\n> call add text=\"buy milk\" urgency=5\n> call add text=sleep\n\
                        > read notes:///0\n[\"buy milk\",5,null]\n> read notes:///1\n[\"sleep\",3,null]\n";
        assert_eq!(ran.out, expected);
    }
}

#[test]
fn a_script_goes_on_after_a_failure_and_fails_in_the_end() {
    let lines = "call ad text=a\ncal add\nadd text=a\nhelp frobnicate\ncall add 'text\ncall add text=b\nread notes:///0\nexit\nread notes:///9\n";
    let ran = shell("guide", &["--json", "shell"], lines);
    assert_eq!(ran.code, Some(1));
    let values = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
    let values: Vec<_> = values.map(Result::unwrap).collect();
    assert_eq!(values.len(), 2, "{}", ran.out);
    assert_eq!(values[1]["contents"][0]["text"], "[\"b\",3,null]");
    for complaint in [
        "did you mean `add`?",
        "no command `cal`; did you mean `call`?",
        "no command `add`; did you mean `call add`?",
        "no command `frobnicate`; `help` lists the commands",
        "unclosed quote",
    ] {
        assert!(ran.err.contains(complaint), "{complaint}: {}", ran.err);
    }
}

#[test]
fn each_line_has_its_own_answers_to_questions() {
    let lines =
        "call dig_out plant=rose --answer really=true\ncall dig_out plant=basil --decline\n";
    let ran = shell("garden", &["shell"], lines);
    let (agreed, declined) = lines.split_once('\n').unwrap();
    assert_eq!(ran.out, format!("> {agreed}\nRose is gone\n> {declined}"));
    assert_eq!(ran.err, "error: the user declined\n");
    assert_eq!(ran.code, Some(1));
}

#[test]
fn help_lists_the_commands_of_the_shell() {
    let ran = shell("guide", &["shell"], "help\nhelp call\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for text in ["templates", "exit", "--answer"] {
        assert!(ran.out.contains(text), "{}", ran.out);
    }
}

#[test]
fn an_answer_to_a_field_that_no_form_has_is_named() {
    let ran = run(
        "garden",
        &["call", "dig_out", "plant=rose", "--answer", "realy=true"],
    );
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("did you mean `really`?"), "{}", ran.err);
    assert!(!ran.err.contains("never asked"), "{}", ran.err);
    let arguments = ["call", "dig_out", "plant=rose", "--answer", "really=true"];
    let ran = run(
        "garden",
        &[&arguments[..], &["--answer", "colour=red"]].concat(),
    );
    assert_eq!(ran.out, "Rose is gone\n");
    assert!(ran.err.contains("unused `--answer colour`"), "{}", ran.err);
    // The cause of the failure is reported first.
    let ran = run(
        "garden",
        &["call", "dig_out", "plant=rose", "--answer", "colour=red"],
    );
    let (why, unused) = ran.err.split_once("unused `--answer colour`").unwrap();
    assert!(why.contains("--answer really=<"), "{}", ran.err);
    assert!(
        unused.trim_end().ends_with("never asked for it"),
        "{}",
        ran.err
    );
    // Nothing was called, so nothing could ask a question.
    let ran = run("garden", &["call", "dig_up", "--answer", "colour=red"]);
    assert!(!ran.err.contains("never asked"), "{}", ran.err);
}

#[test]
fn an_axum_program_keeps_the_commands() {
    let ran = run("axum-app", &["call", "visits"]);
    assert_eq!(
        (ran.out.as_str(), ran.code),
        ("0\n", Some(0)),
        "{}",
        ran.err
    );
    assert_eq!(run("axum-app", &["call", "visit"]).code, Some(1));
    assert!(run("axum-app", &["--json", "tools"]).out.starts_with('['));
}
