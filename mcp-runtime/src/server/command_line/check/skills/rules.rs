//! Rules for a single skill, each with its source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_schema::model_rules::Severity;
use mcp_schema::suggest::closest;
use mcp_skills::digest::digest;
use mcp_skills::front_matter;
use mcp_skills::skill::SKILL_FILE;
use serde_json::{Map, Value};

use crate::server::command_line::check::lint::Findings;
use crate::server::command_line::check::skills::ReadSkill;
use crate::server::command_line::check::skills::links::{exists, relative_links, target};

// Sources of the rules.
// The extension `io.modelcontextprotocol/skills`, version 2026-09-04.
const EXTENSION: &str = "the skills extension";
// The format of Agent Skills, <https://agentskills.io/specification>.
const FORMAT: &str = "Agent Skills";

/// The front matter members that the format defines.
const MEMBERS: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];
/// Minimum length in characters of a description that can explain a skill's purpose and when to use it.
const SHORTEST_DESCRIPTION: usize = 20;
const LONGEST_COMPATIBILITY: usize = 500;
/// Number of lines in `SKILL.md` above which some of its content should be moved to other files.
const MOST_LINES: usize = 500;
/// Number of tokens in `SKILL.md` above which some of its content should be moved to other files.
const MOST_TOKENS: usize = 5_000;
/// Total number of tokens above which the names and descriptions of all skills are reported as too large, because hosts
/// show them to the model in every conversation.
const MOST_LISTED_TOKENS: usize = 10_000;

/// Checks a skill. `known` contains the URIs of all skills' files.
pub(super) fn lint_skill(skill: &ReadSkill, known: &BTreeSet<String>, found: &mut Findings) {
    let uri = skill.entry["uri"].as_str().unwrap_or_default();
    found.set_subject("skill", Some(path_of(uri)));
    lint_contents(skill, found);
    if let Some(Ok(contents)) = skill.files.get(uri) {
        let text = String::from_utf8_lossy(contents);
        match front_matter::read(&text) {
            Ok(members) if Some(&members) == skill.entry["frontmatter"].as_object() => {
                lint_front_matter(&members, found);
            }
            Ok(_) => refuse(
                found,
                format!("the entry does not contain the front matter of `{SKILL_FILE}`"),
            ),
            Err(problems) => problems
                .into_iter()
                .for_each(|problem| refuse(found, problem)),
        }
        lint_size(&text, found);
    }
    for (file, contents) in &skill.files {
        if let Ok(contents) = contents
            && is_markdown(file)
        {
            lint_links(
                file,
                &String::from_utf8_lossy(contents),
                (uri, known),
                found,
            );
        }
    }
}

fn is_markdown(uri: &str) -> bool {
    let extension = Path::new(uri).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// Checks the files against their digests and sizes.
fn lint_contents(skill: &ReadSkill, found: &mut Findings) {
    for (uri, contents) in &skill.files {
        if let Err(reason) = contents {
            refuse(found, format!("`{uri}` cannot be read: {reason}"));
        }
    }
    for file in skill.entry["resources"].as_array().into_iter().flatten() {
        let uri = file["uri"].as_str().unwrap_or_default();
        let Some(Ok(contents)) = skill.files.get(uri) else {
            continue;
        };
        let is_same = file["digest"] == digest(contents) && file["size"] == contents.len();
        if !is_same {
            refuse(
                found,
                format!(
                    "`{uri}` does not match its digest when it is read; does a sanitizer or middleware change it?"
                ),
            );
        }
    }
}

fn lint_front_matter(members: &Map<String, Value>, found: &mut Findings) {
    for name in members.keys().filter(|name| !MEMBERS.contains(&&***name)) {
        let meant = closest(name, MEMBERS).map(|meant| format!("; did you mean `{meant}`?"));
        let meant = meant.unwrap_or_else(|| "; put custom members into `metadata`".to_owned());
        advise(
            found,
            format!("the front matter has an unknown member `{name}`{meant}"),
            FORMAT,
        );
    }
    for name in ["license", "compatibility", "allowed-tools"] {
        if members.get(name).is_some_and(|value| !value.is_string()) {
            advise(
                found,
                format!("`{name}` in the front matter is not a string"),
                FORMAT,
            );
        }
    }
    let length = |name| {
        members
            .get(name)
            .and_then(Value::as_str)
            .map(|text| text.chars().count())
    };
    if length("compatibility").is_some_and(|length| length > LONGEST_COMPATIBILITY) {
        let text = format!("`compatibility` is longer than {LONGEST_COMPATIBILITY} characters");
        advise(found, text, FORMAT);
    }
    if length("description").is_some_and(|length| length < SHORTEST_DESCRIPTION) {
        let text = "the description is short; say what the skill does, and when to use it";
        advise(found, text, FORMAT);
    }
    match members.get("metadata") {
        Some(Value::Object(metadata)) => lint_metadata(metadata, found),
        Some(_) => advise(
            found,
            "`metadata` in the front matter is not a mapping",
            FORMAT,
        ),
        None => {}
    }
}

fn lint_metadata(metadata: &Map<String, Value>, found: &mut Findings) {
    for (name, value) in metadata {
        if name.starts_with("io.modelcontextprotocol/") {
            advise(
                found,
                format!("`{name}` in `metadata` is reserved"),
                EXTENSION,
            );
        }
        if !value.is_string() {
            advise(
                found,
                format!("`{name}` in `metadata` is not a string; put it in quotes"),
                FORMAT,
            );
        }
    }
}

fn lint_size(text: &str, found: &mut Findings) {
    let (lines, tokens) = (text.lines().count(), text.len().div_ceil(4));
    let size = match () {
        () if lines > MOST_LINES => format!("{lines} lines"),
        () if tokens > MOST_TOKENS => format!("about {tokens} tokens"),
        () => return,
    };
    let text = format!(
        "`{SKILL_FILE}` has {size}; models read all of it, so move details into files that it links to"
    );
    advise(
        found,
        text,
        "Agent Skills: at most 500 lines and 5000 tokens",
    );
}

/// Checks that the links in a file that belongs to the skill at `uri` point to skill files.
fn lint_links(
    file: &str,
    text: &str,
    (uri, known): (&str, &BTreeSet<String>),
    found: &mut Findings,
) {
    let root = uri.strip_suffix(SKILL_FILE).unwrap_or(uri);
    let name = file.strip_prefix(root).unwrap_or(file);
    for link in relative_links(text) {
        if target(file, &link).is_some_and(|target| exists(&target, known)) {
            continue;
        }
        let names = known.iter().filter_map(|known| known.strip_prefix(root));
        let meant = closest(&link, names).map(|meant| format!("; did you mean `{meant}`?"));
        let meant = meant.unwrap_or_default();
        advise(
            found,
            format!("`{name}` links to `{link}`, which is not in the skill{meant}"),
            "",
        );
    }
}

/// Checks the names and descriptions of all skills together.
pub(super) fn lint_names(entries: &[Value], found: &mut Findings) {
    let mut paths: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut bytes = 0;
    for entry in entries {
        let member = |name: &str| entry["frontmatter"][name].as_str().unwrap_or_default();
        let path = path_of(entry["uri"].as_str().unwrap_or_default());
        paths.entry(member("name")).or_default().push(path);
        bytes += member("name").len() + member("description").len();
    }
    for paths in paths.values() {
        if let [first, others @ ..] = &**paths {
            for other in others {
                found.set_subject("skill", Some(other));
                advise(
                    found,
                    format!("has the same name as skill `{first}`"),
                    EXTENSION,
                );
            }
        }
    }
    let tokens = bytes.div_ceil(4);
    if tokens > MOST_LISTED_TOKENS {
        found.set_subject(
            "skill",
            entries
                .first()
                .and_then(|entry| entry["uri"].as_str())
                .map(path_of),
        );
        let text = format!(
            "the names and descriptions of all {} skills use about {tokens} tokens in every conversation; shorten descriptions",
            entries.len()
        );
        advise(found, text, "");
    }
}

/// Returns the path of a skill, such as `documents/pdf-tools` for `skill://documents/pdf-tools/SKILL.md`.
fn path_of(uri: &str) -> &str {
    let path = uri.split_once("://").map_or(uri, |(_, path)| path);
    path.strip_suffix(SKILL_FILE)
        .unwrap_or(path)
        .trim_end_matches('/')
}

fn refuse(found: &mut Findings, text: impl Into<String>) {
    found.push(Severity::Refused, text.into(), EXTENSION);
}

fn advise(found: &mut Findings, text: impl Into<String>, source: &'static str) {
    found.push(Severity::Advice, text.into(), source);
}
