//! `check`: its findings, and the comparison with a saved surface.

use serde_json::{Value, json};

use super::{Scratch, run, run_in};

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
        ("advice: tool `paint_over`", "has no description"),
        ("advice: tool `book`", "the description is long"),
        ("refused: tool `book`", "has `anyOf` at its root"),
        (
            "refused: tool `book`",
            "/place refers to another schema with `$ref`",
        ),
        ("refused: tool `book`", "/when has several types"),
        ("advice: tool `book`", "/count has the format `uint32`"),
        ("refused: tool `book`", "/size has non-string `enum` values"),
        ("refused: tool `book`", "/tags is an array without `items`"),
        (
            "refused: tool `book`",
            "some clients reject the name of /who is it",
        ),
        (
            "refused: tool `sort`",
            "/order has an empty string among its `enum` values",
        ),
        (
            "refused: tool `bare`",
            "the schema of the arguments has no `properties`",
        ),
        (
            "refused: tool `bare`",
            "the schema requires `a`, which it does not declare",
        ),
        (
            "refused: tool `bare`",
            "/Any is a boolean instead of a schema",
        ),
        ("advice: prompt `greet`", "has no description"),
        (
            "advice: prompt `greet`",
            "argument `name` has no description",
        ),
        ("advice: resource `faulty://nothing`", "has no description"),
        ("advice: skill `paint`", "an unknown member `version`"),
        (
            "advice: skill `paint`",
            "`SKILL.md` links to `references/colors.md`, which is not in the skill; did you mean `references/colours.md`?",
        ),
        (
            "refused: skill `paint`",
            "`skill://paint/references/colours.md` does not match its digest",
        ),
        (
            "advice: skill `paint`",
            "has the same name as skill `old/paint`",
        ),
        (
            "refused: page `ui://fixtures/ui/faulty.html`",
            "write `csp(resource_domains(\"https://cdn.example.com\"))`",
        ),
        (
            "refused: page `ui://fixtures/ui/faulty.html`",
            "write `csp(connect_domains(\"https://api.example.com\"))`",
        ),
        (
            "refused: page `ui://fixtures/ui/faulty.html`",
            "it loads `style.css`",
        ),
        (
            "refused: page `ui://fixtures/ui/faulty.html`",
            "did you mean `book`?",
        ),
        (
            "refused: page `ui://fixtures/ui/faulty.html`",
            "without `<script src=\"mcp-app.js\"></script>`",
        ),
    ] {
        let is_there = |line: &str| line.starts_with(kind) && line.contains(text);
        assert!(ran.out.lines().any(is_there), "{kind}: {text}\n{}", ran.out);
    }
    assert_eq!(run("garden", &["check", "--strict"]).code, Some(0));
    assert_eq!(run("chart", &["check", "--strict"]).code, Some(0));
    assert_eq!(run("notes", &["check"]).code, Some(0));
    assert_eq!(run("notes", &["check", "--strict"]).code, Some(1));
    assert_eq!(run("skills", &["check", "--strict"]).code, Some(0));
    let disabled = run("faulty", &["call", "paint_over"]).bad();
    assert!(
        disabled.contains("the tool `paint_over` is disabled"),
        "{disabled}"
    );
    // In older protocol versions there are no skills to check.
    let older = run("faulty", &["check", "--protocol-version", "2025-11-25"]);
    assert!(!older.out.contains("skill `"), "{}", older.out);
    let json = run("faulty", &["check", "--json"]);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    assert!(findings.any(|finding| finding["severity"] == "refused"));
    let json = run("weather", &["check", "--json"]);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(report["secretVariables"], json!(["WEATHER_API_KEY"]));
}

#[test]
fn each_schema_that_a_model_api_refuses_is_logged_when_the_server_starts() {
    let ran = run("faulty", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    let of = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!(of("/values/items has several types"), 12, "{}", ran.err);
    assert_eq!(of("/order has an empty string"), 1, "{}", ran.err);
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
    // A test of the server saves the same surface.
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

/// The pipeline of the template.
#[test]
fn a_server_with_every_feature_is_checked_without_its_settings() {
    let scratch = Scratch::new("many-features");
    let check = |more: &[&str]| {
        let mut command = std::process::Command::new(tests::binary("many_features"));
        command
            .args([&["check", "--strict", "--surface", "surface.json"], more].concat())
            .current_dir(scratch.path())
            .env_clear();
        let output = tests::run::output(&mut command);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let shown = text(output.stdout) + &text(output.stderr);
        assert_eq!(output.status.code(), Some(0), "{shown}");
        assert!(shown.contains("no problems found"), "{shown}");
    };
    check(&["--save"]);
    check(&[]);
    let surface = scratch.read("surface.json");
    for name in [
        "order",
        "summary",
        "orders:///{number}",
        "skill://ordering/SKILL.md",
    ] {
        assert!(surface.contains(name), "{name} is not in {surface}");
    }
}
