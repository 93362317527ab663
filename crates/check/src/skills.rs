//! Rules for skills. The rules are applied to skills as clients read them, so they also cover changes made by
//! middleware.
//!
//! A server does not start if a skill breaks a rule of the extension, but a function can return any skill, and a
//! sanitizer can change the text of any file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_schema::model_rules::Severity;
use mcp_schema::suggest::closest;
use mcp_schema::template::decode;
use mcp_skills::digest::digest;
use mcp_skills::front_matter;
use mcp_skills::skill::SKILL_FILE;
use pulldown_cmark::{Event, LinkType, Parser, Tag};
use serde_json::{Map, Value, json};

use crate::finding::Findings;
use crate::reader::{ServerReader, read_all_pages};

/// The identifier of the extension.
const ID: &str = "io.modelcontextprotocol/skills";

/// A skill as a client reads it.
#[derive(Debug)]
pub struct ReadSkill {
    /// The entry in `skills/list`.
    entry: Value,
    /// The files, keyed by URI, each with its contents or the reason why it cannot be read.
    files: BTreeMap<String, Result<Vec<u8>, String>>,
}

/// Reads all skills and their files, if the server declares the extension in its capabilities.
///
/// # Errors
///
/// Returns the reason why the skills cannot be listed.
pub async fn read_skills(
    reader: &impl ServerReader,
    capabilities: &Value,
) -> Result<Vec<ReadSkill>, String> {
    let mut skills = Vec::new();
    if capabilities["extensions"].get(ID).is_some() {
        for entry in read_all_pages(reader, "skills/list", "skills").await? {
            skills.push(read(reader, entry).await);
        }
    }
    Ok(skills)
}

/// Reports all problems of skills, in the order in which they are listed.
pub(crate) fn lint_skills(skills: &[ReadSkill], found: &mut Findings) {
    let known: BTreeSet<String> = skills.iter().flat_map(|skill| uris(&skill.entry)).collect();
    for skill in skills {
        lint_skill(skill, &known, found);
    }
    let entries: Vec<_> = skills.iter().map(|skill| &skill.entry).collect();
    lint_names(&entries, found);
}

/// Returns the URIs of all files in an entry, starting with `SKILL.md`.
fn uris(entry: &Value) -> Vec<String> {
    let resources = entry["resources"].as_array();
    let resources = resources.into_iter().flatten();
    let all = std::iter::once(&entry["uri"]).chain(resources.map(|file| &file["uri"]));
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

async fn read(reader: &impl ServerReader, entry: Value) -> ReadSkill {
    let mut files = BTreeMap::new();
    for uri in uris(&entry) {
        if files.contains_key(&uri) {
            continue;
        }
        let result = reader.request("resources/read", json!({"uri": uri})).await;
        let contents = match result {
            Ok(result) => bytes(&result["contents"][0]).ok_or_else(|| "it has no contents".into()),
            Err(reason) => Err(reason),
        };
        files.insert(uri, contents);
    }
    ReadSkill { entry, files }
}

/// Returns the bytes of a resource's contents.
fn bytes(contents: &Value) -> Option<Vec<u8>> {
    match contents["text"].as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => STANDARD.decode(contents["blob"].as_str()?).ok(),
    }
}

// --- Rules for a single skill, each with its source.

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
fn lint_skill(skill: &ReadSkill, known: &BTreeSet<String>, found: &mut Findings) {
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
pub(crate) fn lint_names(entries: &[&Value], found: &mut Findings) {
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

// --- Finds links in a skill's Markdown.

/// Returns the relative links and images in a Markdown file, in order and without duplicates. Links within the file are
/// omitted.
fn relative_links(markdown: &str) -> Vec<String> {
    let mut links: Vec<String> = Vec::new();
    for event in Parser::new(markdown) {
        if let Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                ..
            }
            | Tag::Image {
                link_type,
                dest_url,
                ..
            },
        ) = event
            && link_type != LinkType::Email
            && is_relative(&dest_url)
            && !links.iter().any(|known| **known == *dest_url)
        {
            links.push(dest_url.into_string());
        }
    }
    links
}

/// Returns `true` for a path, and `false` for a URI and for a fragment of the same file.
fn is_relative(link: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let has_scheme = link
        .split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme));
    !(link.is_empty() || link.starts_with(['#', '?']) || link.starts_with("//") || has_scheme)
}

/// Returns the unescaped URI to which a relative link in the file at `base` points, or `None` if it points outside all
/// skills.
pub(crate) fn target(base: &str, link: &str) -> Option<String> {
    let path = link.split(['#', '?']).next().unwrap_or_default();
    let (scheme, base) = base.split_once("://")?;
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    decode(&format!("{scheme}://{}", parts.join("/")))
}

/// Returns `true` if the unescaped URI identifies a file or a directory that contains files.
pub(crate) fn exists(uri: &str, known: &BTreeSet<String>) -> bool {
    let mut known = known.iter().filter_map(|known| decode(known));
    known.any(|known| {
        let below = known.strip_prefix(uri);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    })
}

#[cfg(test)]
mod links_tests {
    use crate::skills::*;

    #[test]
    fn links_are_found_in_text_and_not_in_code() {
        let markdown = "[a](a.md) ![b](<b c.png> \"title\") [c][ref] [a](a.md) <https://example.com> <x@example.com>\n\
             [d](#part) [e](mailto:x@example.com) `[f](f.md)`\n\n\
             ```\n[g](g.md)\n```\n\n[ref]: ./c/d.md\n";
        assert_eq!(relative_links(markdown), ["a.md", "b c.png", "./c/d.md"]);
    }

    #[test]
    fn links_are_relative_to_their_file() {
        for (link, expected) in [
            ("a.md", Some("skill://s/dir/a.md")),
            ("./a.md#part", Some("skill://s/dir/a.md")),
            ("../b%20c.md?x", Some("skill://s/b c.md")),
            ("../../other/x", Some("skill://other/x")),
            ("../../../x", None),
            ("/etc/passwd", None),
            ("sub/", Some("skill://s/dir/sub")),
        ] {
            let found = target("skill://s/dir/file.md", link);
            assert_eq!(found.as_deref(), expected, "{link}");
        }
        let known = BTreeSet::from(["skill://s/a%20b/c.md".to_owned()]);
        for uri in ["skill://s/a b/c.md", "skill://s/a b", "skill://s"] {
            assert!(exists(uri, &known), "{uri}");
        }
        for uri in ["skill://s/a", "skill://s/a b/c", "skill://t"] {
            assert!(!exists(uri, &known), "{uri}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use mcp_skills::digest::digest;
    use serde_json::{Value, json};

    use super::{ReadSkill, uris};
    use crate::finding::{Finding, Findings};
    use crate::skills::{lint_names, lint_skill};

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
        let mut found = Findings::new();
        lint_skill(skill, &known, &mut found);
        found.all.iter().map(Finding::to_string).collect()
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
    fn a_valid_skill_has_no_findings() {
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
    fn skill_files_that_differ_from_their_entry_are_reported() {
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
    fn duplicate_skill_names_and_too_long_descriptions_are_reported() {
        let entry = |path: &str, name: &str, description: &str| json!({"uri": format!("skill://{path}/SKILL.md"), "frontmatter": {"name": name, "description": description}});
        let found = |entries: &[Value]| {
            let mut found = Findings::new();
            lint_names(&entries.iter().collect::<Vec<_>>(), &mut found);
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
}
