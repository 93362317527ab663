//! `docs/limits.md`: the table matches the docs of `Limits`, the defaults are correct, and every limit has tests.
//!
//! A test has the comment `// Limits: message.max_depth` if it tries that limit below, at and above its value.
//! `.ci/renew` writes the table anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcp_runtime::Limits;
use tidy::generated::check_generated;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/core/src/limits");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/limits.md");
const START: &str = "| Field |";

/// A field, as described by its documentation.
struct Field {
    name: String,
    what: String,
    default: String,
    beyond: String,
}

/// The groups of `Limits`, in order.
const GROUPS: [&str; 11] = [
    "message",
    "calls",
    "elicitation",
    "log",
    "streams",
    "sessions",
    "http",
    "tasks",
    "once",
    "idempotency",
    "results",
];

/// Returns the public fields of all groups, in order, such as `message.max_depth`.
fn fields() -> Vec<Field> {
    GROUPS.into_iter().flat_map(fields_of).collect()
}

/// Returns the texts of all files about limits.
fn reference() -> String {
    let files = std::fs::read_dir(SOURCES).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.collect()
}

fn fields_of(group: &str) -> Vec<Field> {
    let sources = reference();
    let (_, declared) = sources.split_once(&format!("pub {group}: ")).unwrap();
    let (type_name, _) = declared.split_once(',').unwrap();
    let (_, body) = sources
        .split_once(&format!("pub struct {type_name} {{"))
        .unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let (mut fields, mut text) = (Vec::new(), Vec::new());
    for line in body.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            text.push(doc.trim().to_owned());
        } else if let Some(declared) = line.strip_prefix("pub ") {
            let (name, _) = declared.split_once(':').unwrap();
            fields.push(field(&format!("{group}.{name}"), &text));
            text.clear();
        }
    }
    fields
}

/// Splits `What. Default D. Beyond.`; any further paragraphs are only for the reference.
fn field(name: &str, text: &[String]) -> Field {
    let first: Vec<_> = text.iter().take_while(|line| !line.is_empty()).collect();
    let first = plain(
        &first
            .iter()
            .map(|line| line.as_str())
            .collect::<Vec<_>>()
            .join(" "),
    );
    let (what, rest) = first
        .split_once(". Default ")
        .unwrap_or_else(|| panic!("`{name}` does not say its default"));
    let (default, beyond) = rest
        .split_once(". ")
        .unwrap_or_else(|| panic!("`{name}` does not say what happens beyond it"));
    Field {
        name: name.to_owned(),
        what: what.to_owned(),
        default: default.to_owned(),
        beyond: beyond.to_owned(),
    }
}

/// Removes links, which work only in the reference: ``[`line`](Self::line)`` becomes `line`.
fn plain(text: &str) -> String {
    let mut parts = text.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let start = plain.rfind('[').expect("a link has a start");
        plain.remove(start);
        plain.push_str(part.split_once(')').expect("a link has an end").1);
    }
    plain
}

/// Returns the values of `Limits::default()`, as `Debug` prints them.
fn values() -> BTreeMap<String, String> {
    let all = format!("{:#?}", Limits::default());
    let mut values = BTreeMap::new();
    let mut group = "";
    for line in all.lines().map(|line| line.trim().trim_end_matches(',')) {
        match line.split_once(": ") {
            Some((name, value)) if value.ends_with('{') => group = name,
            Some((name, value)) => {
                values.insert(format!("{group}.{name}"), value.to_owned());
            }
            None => {}
        }
    }
    values
}

/// Returns a value as people write it: `5 minutes`, `16 MiB`, `10,000`.
fn spoken(value: &str) -> Vec<String> {
    if let Some(seconds) = value.strip_suffix('s') {
        let seconds: u64 = seconds.parse().unwrap();
        let mut spoken = vec![format!("{seconds} s")];
        for (unit, name) in [(60, "minutes"), (3_600, "hours")] {
            if seconds.is_multiple_of(unit) {
                spoken.push(format!("{} {name}", seconds / unit));
            }
        }
        return spoken;
    }
    let number: u64 = value.parse().unwrap();
    let mut spoken = vec![number.to_string(), grouped(number)];
    for (shift, unit) in [(10, "KiB"), (20, "MiB")] {
        if number.trailing_zeros() >= shift {
            spoken.push(format!("{} {unit}", number >> shift));
        }
    }
    spoken
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn table(fields: &[Field]) -> String {
    let mut table = format!("{START} Meaning | Default | Effect |\n|---|---|---|---|\n");
    for Field {
        name,
        what,
        default,
        beyond,
    } in fields
    {
        let _ = writeln!(table, "| `{name}` | {what} | {default} | {beyond} |");
    }
    table
}

#[test]
fn the_limits_page_matches_the_rustdoc() {
    let fields = fields();
    assert!(fields.len() > 40, "{}", fields.len());
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, old) = page.split_once(START).expect("the page has a table");
    let (_, after) = old.split_once("\n\n").unwrap_or((old, ""));
    let renewed = format!("{before}{}\n{after}", table(&fields));
    check_generated("docs/limits.md", &renewed);
}

#[test]
fn the_default_limits_match_their_documentation() {
    let values = values();
    for Field { name, default, .. } in fields() {
        let spoken = spoken(&values[&name]);
        assert!(
            spoken
                .iter()
                .any(|value| default == *value || default.starts_with(&format!("{value},"))),
            "`{name}` is {}, and said to be {default}",
            values[&name]
        );
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_limit_is_tried_below_at_and_above() {
    let mut files = Vec::new();
    for folder in ["tests/it", "../mcp-runtime/tests"] {
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut files,
        );
    }
    let mut tried = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for list in text
            .lines()
            .filter_map(|line| line.strip_prefix("// Limits: "))
        {
            tried.extend(list.split(", ").map(str::to_owned));
        }
    }
    let known: BTreeSet<_> = fields().into_iter().map(|field| field.name).collect();
    let untried: Vec<_> = known.difference(&tried).collect();
    assert!(untried.is_empty(), "no test says that it tries {untried:?}");
    let unknown: Vec<_> = tried.difference(&known).collect();
    assert!(
        unknown.is_empty(),
        "a test tries what is no limit: {unknown:?}"
    );
}
