//! Tests for every rule for skills.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mcp_skills::digest::digest;
use serde_json::{Value, json};

use super::{ReadSkill, uris};
use crate::server::command_line::check::lint::{Findings, Lint};
use crate::server::command_line::check::skills::{lint_names, lint_skill};

const GOOD: &str = "name: good\ndescription: Does something well. Use it always.\n";

/// Returns a skill with this front matter, body and other files, as a client reads it if no middleware changes it.
fn skill(front_matter: &str, body: &str, others: &[(&str, &str)]) -> ReadSkill {
    let text = format!("---\n{front_matter}---\n{body}");
    let all = [("SKILL.md", &*text)];
    let files = all.iter().chain(others).map(|(path, text)| {
        let uri = format!("skill://group/good/{path}");
        (uri, Ok(text.as_bytes().to_vec()))
    });
    let files: std::collections::BTreeMap<_, Result<Vec<u8>, String>> = files.collect();
    let resources = files.iter().map(|(uri, contents)| {
        let contents = contents.as_ref().unwrap();
        json!({"uri": uri, "digest": digest(contents), "size": contents.len()})
    });
    let members = mcp_skills::front_matter::read(&text).unwrap_or_default();
    ReadSkill {
        entry: json!({
            "uri": "skill://group/good/SKILL.md",
            "frontmatter": members,
            "resources": resources.collect::<Vec<_>>(),
        }),
        files,
    }
}

fn found(skill: &ReadSkill) -> Vec<String> {
    let known: BTreeSet<String> = uris(&skill.entry).into_iter().collect();
    let mut found = Findings::default();
    lint_skill(skill, &known, &mut found);
    found.all.iter().map(Lint::to_string).collect()
}

#[track_caller]
fn check(skill: &ReadSkill, expected: &[&str]) {
    let found = found(skill);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        let (severity, text) = expected.split_once(": ").unwrap();
        let start = format!("{severity}: skill `group/good`: ");
        assert!(found.starts_with(&start) && found.contains(text), "{found}");
    }
}

#[test]
fn a_good_skill_has_no_findings() {
    let front_matter = format!(
        "{GOOD}license: MIT\ncompatibility: Needs git\nallowed-tools: Read\nmetadata: {{author: Ada, version: \"1.0\"}}\n"
    );
    let body = "See [more](references/more.md), [all](references/) and [part](#part), or <https://example.com>.\n";
    let more = [("references/more.md", "[back](../SKILL.md)")];
    check(&skill(&front_matter, body, &more), &[]);
}

#[test]
fn every_fault_of_front_matter_is_found() {
    let long = format!("{GOOD}compatibility: {}\n", "x".repeat(501));
    for (front_matter, expected) in [
        (
            "name: good\n",
            &["refused: the front matter has no `description`"][..],
        ),
        (
            &*format!("name: good\ndescription: {}\n", "x".repeat(1_025)),
            &["refused: `description` must be 1 to 1024"],
        ),
        (
            "name: good\ndescription: Short.\n",
            &["advice: the description is short"],
        ),
        (
            &*format!("{GOOD}licence: MIT\nversion: 1\n"),
            &[
                "advice: unknown member `licence`; did you mean `license`?",
                "advice: unknown member `version`; put custom members into `metadata`",
            ],
        ),
        (
            &*format!("{GOOD}license: [MIT]\nmetadata: x\nallowed-tools: [Read]\n"),
            &[
                "advice: `license` in the front matter is not a string",
                "advice: `allowed-tools` in the front matter is not a string",
                "advice: `metadata` in the front matter is not a mapping",
            ],
        ),
        (
            &*long,
            &["advice: `compatibility` is longer than 500 characters"],
        ),
        (
            &*format!("{GOOD}metadata: {{version: 1.0, io.modelcontextprotocol/a: b}}\n"),
            &[
                "advice: `version` in `metadata` is not a string",
                "advice: `io.modelcontextprotocol/a` in `metadata` is reserved",
            ],
        ),
    ] {
        check(&skill(front_matter, "", &[]), expected);
    }
}

#[test]
fn a_skill_file_should_be_short() {
    check(&skill(GOOD, &"x\n".repeat(490), &[]), &[]);
    check(
        &skill(GOOD, &"x\n".repeat(500), &[]),
        &["advice: `SKILL.md` has 504 lines; models read all of it"],
    );
    check(
        &skill(GOOD, &"x".repeat(20_000), &[]),
        &["advice: `SKILL.md` has about 5017 tokens"],
    );
}

#[test]
fn links_lead_to_files_of_the_skill() {
    let files = [
        (
            "references/forms.md",
            "[x](../none.md) [y](forms.md) [z](../../../../x)",
        ),
        ("data.csv", "[x](none.md)"),
    ];
    let body = "[a](references/froms.md) ![b](/etc/logo.png) [c](data.csv)\n";
    check(
        &skill(GOOD, body, &files),
        &[
            "advice: `SKILL.md` links to `references/froms.md`, which is not in the skill; did you mean `references/forms.md`?",
            "advice: `SKILL.md` links to `/etc/logo.png`, which is not in the skill",
            "advice: `references/forms.md` links to `../none.md`, which is not in the skill",
            "advice: `references/forms.md` links to `../../../../x`, which is not in the skill",
        ],
    );
}

#[test]
fn files_are_as_their_entry_says() {
    let mut changed = skill(GOOD, "Body.", &[("a.txt", "a"), ("b.txt", "b")]);
    let insert = |skill: &mut ReadSkill, file: &str, contents: Result<&str, &str>| {
        let contents = contents.map(|text| text.as_bytes().to_vec());
        let uri = format!("skill://group/good/{file}");
        skill.files.insert(uri, contents.map_err(str::to_owned));
    };
    insert(&mut changed, "a.txt", Ok("x"));
    insert(&mut changed, "b.txt", Err("gone"));
    check(
        &changed,
        &[
            "refused: `skill://group/good/b.txt` cannot be read: gone",
            "refused: `skill://group/good/a.txt` does not match its digest",
        ],
    );
    let mut entry = skill(GOOD, "", &[]);
    entry.entry["frontmatter"]["description"] = "Another one.".into();
    check(
        &entry,
        &["refused: the entry does not contain the front matter of `SKILL.md`"],
    );
    entry = skill(GOOD, "", &[]);
    entry.entry["resources"] = "dynamic".into();
    check(&entry, &[]);
}

#[test]
fn names_are_unique_and_all_descriptions_together_short() {
    let entry = |path: &str, name: &str, description: &str| json!({"uri": format!("skill://{path}/SKILL.md"), "frontmatter": {"name": name, "description": description}});
    let found = |entries: &[Value]| {
        let mut found = Findings::default();
        lint_names(entries, &mut found);
        found.all.iter().fold(String::new(), |mut text, lint| {
            let _ = writeln!(text, "{lint}");
            text
        })
    };
    let same = [
        entry("a/pdf", "pdf", "x"),
        entry("b/pdf", "pdf", "y"),
        entry("c", "c", "z"),
    ];
    assert_eq!(
        found(&same),
        "advice: skill `b/pdf`: has the same name as skill `a/pdf` (the skills extension)\n"
    );
    let long = "x".repeat(1_000);
    let many: Vec<_> = (0..41)
        .map(|index| entry("a", &format!("s{index}"), &long))
        .collect();
    assert!(
        found(&many).contains("all 41 skills use about 102"),
        "{}",
        found(&many)
    );
}
