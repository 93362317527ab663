//! Every server is a command line: the examples, driven as a person or a pipeline would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// What was printed, by a command that went well.
    fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// What was complained of, by a command that failed.
    fn bad(self) -> String {
        assert_eq!(self.code, Some(1), "{}{}", self.out, self.err);
        self.err
    }
}

/// Runs an example without a terminal, in this directory and with it as the home.
fn run_in(directory: &Path, example: &str, arguments: &[&str]) -> Ran {
    run_at(directory, directory, example, arguments)
}

/// Runs an example without a terminal, in this directory and with that home.
pub(crate) fn run_at(directory: &Path, home: &Path, example: &str, arguments: &[&str]) -> Ran {
    let output = Command::new(tests::binary(example))
        .args(arguments)
        .current_dir(directory)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn run(example: &str, arguments: &[&str]) -> Ran {
    run_in(&std::env::temp_dir(), example, arguments)
}

/// Runs a command in every revision it can be told to speak.
fn in_every_revision(example: &str, arguments: &[&str], check: impl Fn(&str, Ran)) {
    for revision in tests::Revision::ALL {
        let date = revision.date();
        let with = [arguments, &["--revision", date]].concat();
        check(date, run(example, &with));
    }
}

/// A directory of its own for a test, gone with it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_tool_is_called_with_typed_arguments_in_every_revision() {
    in_every_revision("calculator", &["call", "add", "a=1", "b=2"], |date, ran| {
        assert_eq!(ran.good(), "3\n", "{date}");
    });
    in_every_revision(
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
        in_every_revision("calculator", arguments, |date, ran| {
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
    in_every_revision("everything", &["tools"], |date, ran| {
        let out = ran.good();
        assert!(out.contains("add(a: integer, b: integer)"), "{date}: {out}");
        // More than a page of them.
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
    in_every_revision(
        "everything",
        &["prompt", "review", "code=x", "language=rust"],
        |_, ran| {
            assert_eq!(ran.good(), "user: Review this Rust code.\nuser: x\n");
        },
    );
    in_every_revision("everything", &["read", "memo:///3"], |_, ran| {
        assert_eq!(ran.good(), "memo 3\n");
    });
    in_every_revision(
        "everything",
        &["complete", "review", "language", "py"],
        |_, ran| {
            assert_eq!(ran.good(), "python\n");
        },
    );
    let earlier = ["complete", "review", "framework", "a", "language=rust"];
    assert_eq!(run("everything", &earlier).good(), "axum\nactix\n");
    let template = ["complete", "memo:///{id}", "id", "7"];
    assert_eq!(run("everything", &template).good(), "7\n");
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
fn questions_are_answered_from_the_command_line_where_there_is_no_terminal() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let call = ["call", "deploy", "service=shop", "--revision", revision];
        let with = |more: &[&str]| run("deploy", &[&call[..], more].concat());
        let yes = with(&[
            "--answer",
            "approve=true",
            "--answer",
            "instances=3",
            "--say",
            "Done.",
        ]);
        assert_eq!(yes.good(), "Done.\n", "{revision}");
        assert!(
            with(&["--answer", "approve=false"])
                .bad()
                .contains("not approved")
        );
        assert!(with(&["--decline"]).bad().contains("declined"));
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
fn check_finds_every_fault() {
    let ran = run("faulty", &["check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for (kind, text) in [
        (
            "refused: tool `files.read`",
            "some clients reject this name",
        ),
        ("advice: tool `files.read`", "has no description"),
        (
            "advice: tool `files.read`",
            "argument `path` has no description",
        ),
        ("advice: tool `book`", "the description is long"),
        ("refused: tool `book`", "has `anyOf` at its root"),
        (
            "refused: tool `book`",
            "/place refers to another schema with `$ref`",
        ),
        ("refused: tool `book`", "/when has several types"),
        (
            "refused: tool `book`",
            "/count has the unknown format `uint32`",
        ),
        ("refused: tool `book`", "/size has non-string `enum` values"),
        ("refused: tool `book`", "/tags is an array without `items`"),
        (
            "refused: tool `book`",
            "some clients reject the name of /who is it",
        ),
        ("advice: prompt `greet`", "has no description"),
        (
            "advice: prompt `greet`",
            "argument `name` has no description",
        ),
        ("advice: resource `faulty://nothing`", "has no description"),
    ] {
        let is_there = |line: &str| line.starts_with(kind) && line.contains(text);
        assert!(ran.out.lines().any(is_there), "{kind}: {text}\n{}", ran.out);
    }
    assert_eq!(run("garden", &["check", "--strict"]).code, Some(0));
    assert_eq!(run("notes", &["check"]).code, Some(0));
    assert_eq!(run("notes", &["check", "--strict"]).code, Some(1));
    let json = run("faulty", &["check", "--json"]);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    assert!(findings.any(|finding| finding["severity"] == "refused"));
}

#[test]
fn check_compares_with_what_was_saved() {
    let scratch = Scratch::new("check");
    let check = |more: &[&str]| {
        let arguments = [&["check", "--surface", "surface.json"], more].concat();
        run_in(scratch.path(), "garden", &arguments)
    };
    assert!(check(&[]).bad().contains("create it with `--save`"));
    check(&["--save"]).good();
    assert!(check(&[]).good().contains("no problems found"));
    let saved = scratch.read("surface.json");
    // What a test of the server saves is the same.
    let tested = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../examples/surface/garden.json"
    );
    assert_eq!(saved, std::fs::read_to_string(tested).unwrap());
    let mut older: Value = serde_json::from_str(&saved).unwrap();
    older["tools"][1]["inputSchema"]["properties"]["litres"]["maximum"] = json!(9);
    older["tools"][0]["name"] = json!("dig");
    scratch.write("surface.json", &older.to_string());
    let ran = check(&[]);
    assert_eq!(ran.code, Some(1));
    for line in [
        "breaking: tool `dig` was removed\n",
        "breaking: tool `water`: /litres: `maximum` is now `5.0`, was `9`\n",
        "changed: tool `dig_out` was added\n",
    ] {
        assert!(ran.out.contains(line), "{}", ran.out);
    }
    // Saving accepts what changed.
    check(&["--save"]).good();
    check(&[]).good();
    scratch.write("surface.json", "[]");
    assert!(check(&[]).bad().contains("is not a saved surface"));
}

#[test]
fn a_server_is_installed_beside_what_is_there() {
    let scratch = Scratch::new("install");
    let install = |more: &[&str]| run_in(scratch.path(), "garden", &[&["install"], more].concat());
    let config = ".cursor/mcp.json";
    let before = "{\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" }\n    },\n    \"theme\": 1.50\n}\n";
    scratch.write(config, before);
    let said = install(&["cursor", "--env", "A=b", "--arg=--verbose"]).good();
    assert!(said.contains("mcp.json.backup"), "{said}");
    assert_eq!(scratch.read(".cursor/mcp.json.backup"), before);
    let after = scratch.read(config);
    assert!(after.starts_with("{\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" },\n        \"garden\": {\n"), "{after}");
    assert!(
        after.ends_with("    },\n    \"theme\": 1.50\n}\n"),
        "{after}"
    );
    let entry =
        |after: &str| serde_json::from_str::<Value>(after).unwrap()["mcpServers"]["garden"].clone();
    let command = tests::binary("garden").canonicalize().unwrap();
    assert_eq!(
        entry(&after),
        json!({"command": command, "args": ["--verbose"], "env": {"A": "b"}})
    );
    // Again: nothing to do, no other backup.
    let again = install(&["cursor", "--env", "A=b", "--arg=--verbose"]).good();
    assert!(again.contains("Already installed"), "{again}");
    assert_eq!(scratch.read(config), after);
    assert!(!scratch.path().join(".cursor/mcp.json.backup-2").exists());
    // Otherwise: what somebody added to the entry stays.
    scratch.write(
        config,
        &after.replace("\"env\"", "\"disabled\": true, \"env\""),
    );
    install(&["cursor", "--env", "C=d"]).good();
    let entry = entry(&scratch.read(config));
    assert_eq!(
        entry,
        json!({"command": command, "args": ["--verbose"], "disabled": true, "env": {"A": "b", "C": "d"}})
    );
    assert!(scratch.path().join(".cursor/mcp.json.backup-2").exists());
}

#[test]
fn every_client_has_its_place() {
    let scratch = Scratch::new("places");
    let install = |more: &[&str]| run_in(scratch.path(), "garden", &[&["install"], more].concat());
    let mut places = vec![
        ("claude-code", ".mcp.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "mcpServers",
        ),
        ("gemini-cli", ".gemini/settings.json", "mcpServers"),
    ];
    if cfg!(unix) {
        places.push(("zed", ".config/zed/settings.json", "context_servers"));
    }
    if cfg!(target_os = "macos") {
        let file = "Library/Application Support/Claude/claude_desktop_config.json";
        places.push(("claude-desktop", file, "mcpServers"));
    }
    for (client, file, servers) in places {
        // Nothing is written before it is asked for.
        assert!(install(&[client, "--print"]).good().contains(servers));
        assert!(install(&[client, "--dry-run"]).good().contains(servers));
        assert!(!scratch.path().join(file).exists(), "{client}");
        install(&[client]).good();
        let written: Value = serde_json::from_str(&scratch.read(file)).unwrap();
        let entry = &written[servers]["garden"];
        assert!(
            Path::new(entry["command"].as_str().unwrap()).is_absolute(),
            "{client}: {written}"
        );
        assert_eq!(entry["type"] == "stdio", client == "vscode");
    }
    let elsewhere = install(&["claude-desktop", "--config", "own.json", "--name", "mine"]);
    elsewhere.good();
    let written: Value = serde_json::from_str(&scratch.read("own.json")).unwrap();
    assert!(written["mcpServers"]["mine"]["command"].is_string());
}

#[test]
fn a_configuration_that_cannot_be_kept_is_left_alone() {
    let scratch = Scratch::new("comments");
    let config = ".config/zed/settings.json";
    for text in [
        "// mine\n{\"context_servers\": {}}",
        "{\"context_servers\": []}",
        "[]",
    ] {
        scratch.write("own.json", text);
        let complaint = run_in(
            scratch.path(),
            "garden",
            &["install", "zed", "--config", "own.json"],
        )
        .bad();
        assert!(complaint.contains("Nothing was changed"), "{complaint}");
        assert!(complaint.contains("\"garden\": {"), "{complaint}");
        assert_eq!(scratch.read("own.json"), text);
        assert!(!scratch.path().join("own.json.backup").exists());
    }
    assert!(!scratch.path().join(config).exists());
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let output = Command::new(tests::binary("deploy"))
        .args(["tools"])
        .env("DEPLOY_STATE_KEYS", "short")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("openssl rand -base64 32"), "{error}");
}
