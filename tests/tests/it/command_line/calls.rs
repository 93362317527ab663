//! Commands that call, list, read and complete.

use std::process::Command;

use serde_json::Value;

use super::{Scratch, in_every_version, run, run_in};

#[test]
fn types_describe_the_tools_and_the_bridge() {
    let ran = run("chart", &["types"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in [
        "  /** Returns the sales of each month of a year, in thousands of euros. */\n  \"sales\": {\n    arguments: {",
        "      /** The year, such as 2025 */\n      year: number;\n",
        "      /** Thousands of euros, beginning with January */\n      months: number[];\n",
        "type McpPageTool = \"sales\";\n",
        "declare const mcpApp: {",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn a_tool_is_called_as_a_task() {
    for date in ["2025-11-25", "2026-07-28"] {
        let call = |example: &str, arguments: &[&str]| {
            let with = ["call", "--protocol-version", date];
            run(example, &[&with, arguments].concat())
        };
        let ledger = ["import", "rows=2", "--task", "--answer", "sure=true"];
        let ran = call("ledger", &ledger);
        assert!(ran.err.starts_with("task "), "{date}: {}", ran.err);
        assert_eq!(ran.good(), "2 rows committed\n", "{date}");
        // A tool without tasks is simply called.
        assert_eq!(
            call("calculator", &["add", "a=1", "b=2", "--task"]).good(),
            "3\n"
        );
        let plain = call("conformance", &["failing_job"]).bad();
        assert!(plain.contains("add `--task`"), "{date}: {plain}");
        let failed = call("conformance", &["failing_job", "--task"]).bad();
        assert!(failed.contains("This job always fails"), "{date}: {failed}");
        let failed = call("conformance", &["protocol_error_job", "--task"]).bad();
        assert!(
            failed.contains("ends with a protocol error"),
            "{date}: {failed}"
        );
    }
}

#[test]
fn a_tool_is_called_with_typed_arguments_in_every_version() {
    in_every_version("calculator", &["call", "add", "a=1", "b=2"], |date, ran| {
        assert_eq!(ran.good(), "3\n", "{date}");
    });
    in_every_version(
        "calculator",
        &["call", "add", "{\"a\": 1, \"b\": 2}"],
        |_, ran| {
            assert_eq!(ran.good(), "3\n");
        },
    );
    let scratch = Scratch::new("call");
    scratch.write("arguments.json", "{\"a\": 20, \"b\": 22}");
    let ran = run_in(
        scratch.path(),
        "calculator",
        &["call", "add", "@arguments.json"],
    );
    assert_eq!(ran.good(), "42\n");
    scratch.write("bytes.txt", "hello");
    let measured = run_in(
        scratch.path(),
        "everything",
        &["call", "measure", "bytes=@bytes.txt"],
    );
    assert_eq!(measured.good(), "5\n");
    scratch.write("bytes.txt", &"x".repeat(2_000));
    let refused = run_in(
        scratch.path(),
        "everything",
        &["call", "measure", "bytes=@bytes.txt"],
    );
    assert!(
        refused
            .bad()
            .contains("bytes.txt is larger than 1002 bytes")
    );
    scratch.write("name.txt", "@ada");
    for (name, expected) in [
        ("name=@name.txt", "Hello, @ada!\n"),
        ("name=@@ada", "Hello, @ada!\n"),
    ] {
        let called = run_in(scratch.path(), "hello", &["call", "hello", name]);
        assert_eq!(called.good(), expected);
    }
    let json = run("everything", &["call", "weather", "city=Rome", "--json"]).good();
    let result: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(result["structuredContent"]["sky"], "clear");
}

#[test]
fn a_call_that_fails_fails_the_command() {
    for (arguments, complaint) in [
        (&["call", "add", "a=1"][..], "missing argument `b`"),
        (&["call", "add", "a=1", "b=x"], "/b: expected integer"),
        (
            &["call", "add", "a=1", "b=2", "c=3"],
            "unknown argument `c`",
        ),
        (&["call", "add", "a"], "`a` is not an argument"),
        (&["call", "ad", "a=1"], "did you mean `add`?"),
        (
            &["call", "divide", "dividend=1", "divisor=0"],
            "nothing can be divided by zero",
        ),
        (&["read", "no:such"], "the server has no resources"),
        (&["prompt", "none"], "the server has none"),
    ] {
        in_every_version("calculator", arguments, |date, ran| {
            let complaint_there = ran.bad();
            assert!(
                complaint_there.contains(complaint),
                "{date} {arguments:?}: {complaint_there}"
            );
        });
    }
}

#[test]
fn what_a_server_has_is_listed() {
    in_every_version("everything", &["tools"], |date, ran| {
        let out = ran.good();
        assert!(out.contains("add(a: integer, b: integer)"), "{date}: {out}");
        // There is more than one page of them.
        assert!(out.contains("extra()"), "{date}: {out}");
    });
    assert!(
        run("everything", &["prompts"])
            .good()
            .contains("review(code, language, framework?)")
    );
    assert!(
        run("everything", &["resources"])
            .good()
            .contains("memo:///9\n")
    );
    assert!(
        run("everything", &["templates"])
            .good()
            .contains("memo:///{id}  [text/plain]\n")
    );
    assert_eq!(run("hello", &["prompts"]).good(), "none\n");
    let json: Value = serde_json::from_str(&run("hello", &["tools", "--json"]).good()).unwrap();
    assert_eq!(json[0]["name"], "hello");
}

#[test]
fn prompts_resources_and_completions_are_had() {
    in_every_version(
        "everything",
        &["prompt", "review", "code=x", "language=rust"],
        |_, ran| {
            assert_eq!(ran.good(), "user: Review this Rust code.\nuser: x\n");
        },
    );
    in_every_version("everything", &["read", "memo:///3"], |_, ran| {
        assert_eq!(ran.good(), "memo 3\n");
    });
    in_every_version(
        "everything",
        &["complete", "review", "language", "py"],
        |_, ran| {
            assert_eq!(ran.good(), "python\n");
        },
    );
    let earlier = ["complete", "review", "framework", "a", "language=rust"];
    assert_eq!(run("everything", &earlier).good(), "axum\nactix\n");
    for template in ["memo:///{id}", "memo"] {
        let ran = run("everything", &["complete", template, "id", "7"]);
        assert_eq!(ran.good(), "7\n", "{template}");
    }
    let none = run("everything", &["complete", "review", "framework", "dj"]).good();
    assert!(
        none.starts_with("no candidates; the completer may need"),
        "{none}"
    );
    assert!(none.contains("language=…"), "{none}");
    for misspelt in [["reviw", "code"], ["review", "framwork"]] {
        let unknown = run("everything", &[&["complete"], &misspelt[..]].concat()).bad();
        assert!(unknown.contains("did you mean `"), "{unknown}");
    }
}

#[test]
fn contents_are_written_to_a_file_that_is_not_there() {
    let scratch = Scratch::new("read");
    let read = |more: &[&str]| {
        let arguments = [&["read", "image://pixel", "--output", "pixel.png"], more].concat();
        run_in(scratch.path(), "everything", &arguments)
    };
    let said = read(&[]).good();
    let path = scratch.path().join("pixel.png");
    let written = std::fs::read(&path).unwrap();
    assert_eq!(
        said,
        format!("Wrote {} bytes to pixel.png\n", written.len())
    );
    assert!(written.starts_with(b"\x89PNG"), "{written:?}");
    scratch.write("pixel.png", "mine");
    let refused = read(&[]).bad();
    assert!(
        refused.contains("pixel.png exists; overwrite it with `--force`"),
        "{refused}"
    );
    assert_eq!(scratch.read("pixel.png"), "mine");
    read(&["--force"]).good();
    assert_eq!(std::fs::read(&path).unwrap(), written);
    let text = ["read", "memo:///3", "-o", "memo.txt"];
    run_in(scratch.path(), "everything", &text).good();
    assert_eq!(scratch.read("memo.txt"), "memo 3");
}

#[test]
fn questions_are_answered_from_the_command_line_where_there_is_no_terminal() {
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let call = ["call", "deploy", "service=shop", "--revision", version];
        let with = |more: &[&str]| run("deploy", &[&call[..], more].concat());
        let yes = with(&[
            "--answer",
            "approve=true",
            "--answer",
            "instances=3",
            "--say",
            "Done.",
        ]);
        assert_eq!(yes.good(), "Done.\n", "{version}");
        assert!(
            with(&["--answer", "approve=false"])
                .bad()
                .contains("not approved")
        );
        assert!(with(&["--decline"]).bad().contains("declined"));
        let dismissed = with(&["--cancel"]).bad();
        assert!(dismissed.contains("dismissed"), "{dismissed}");
        let unanswered = with(&[]).bad();
        assert!(unanswered.contains("Deploy shop?"), "{unanswered}");
        assert!(
            unanswered.contains("--answer approve=<true|false>"),
            "{unanswered}"
        );
        let silent = with(&["--answer", "approve=true"]).bad();
        assert!(silent.contains("--say"), "{silent}");
    }
}

#[test]
fn help_and_mistakes_read_well() {
    let help = run("hello", &["--help"]).good();
    for command in ["tools", "call", "check", "install", "--http"] {
        assert!(help.contains(command), "{help}");
    }
    let mistaken = run("hello", &["chek"]);
    assert_eq!(mistaken.code, Some(2));
    assert!(mistaken.err.contains("'check'"), "{}", mistaken.err);
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let deploy = |arguments: &[&str]| {
        let mut command = Command::new(tests::binary("deploy"));
        command.args(arguments).env("DEPLOY_STATE_KEYS", "short");
        tests::run::output(&mut command)
    };
    for starts in [&[][..], &["call", "deploy", "service=shop"]] {
        let output = deploy(starts);
        assert_eq!(output.status.code(), Some(1), "{starts:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("openssl rand -base64 32"), "{error}");
    }
    // Commands that only describe the server need no keys.
    assert_eq!(deploy(&["tools"]).status.code(), Some(0));
}

/// The header of an environment variable belongs to the user at the terminal, whoever the command acts as.
#[test]
fn a_command_acts_as_a_principal_with_claims_and_headers() {
    let scratch = Scratch::new("principal");
    let whoami = |more: &[&str]| {
        let mut command = Command::new(tests::binary("many_features"));
        command
            .args([&["call", "whoami"], more].concat())
            .current_dir(scratch.path())
            .env("MANY_FEATURES_TENANT", "acme")
            .env("MANY_FEATURES_URL", "https://shop.example.com")
            .env("MANY_FEATURES_KEY", "k");
        let output = tests::run::output(&mut command);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout) + &text(output.stderr),
        )
    };
    for (more, expected) in [
        (&[][..], "- acme -"),
        (&["--as", "bob"], "bob acme -"),
        (
            &["--as", "bob", "--header", "X-Tenant=other"],
            "bob other -",
        ),
        (&["--header", "x-tenant="], "-  -"),
        (
            &["--as", "bob", "--claim", "tenant=acme"],
            "bob acme \"acme\"",
        ),
        (
            &["--as=bob", "--claim=tenant=[1]", "--claim=a=b"],
            "bob acme [1]",
        ),
    ] {
        assert_eq!(whoami(more), (Some(0), format!("{expected}\n")), "{more:?}");
    }
    assert_eq!(whoami(&["--claim", "tenant=acme"]).0, Some(2));
    let (code, text) = whoami(&["--header", "x-tenant"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("`--header x-tenant` must be NAME=VALUE"),
        "{text}"
    );
}
