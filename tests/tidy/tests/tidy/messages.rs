//! Checks that the messages in docs/troubleshooting.md exist in the sources, so that readers who search for theirs find
//! it.
//!
//! In the first column of a table, `…` stands for parts that vary. Code that is not one of our messages stands under
//! the heading of hosts, or has the word "rustc" or a status beside it.

use crate::sources::{product, root};

/// The heading from which on messages are those of others.
const OTHERS: &str = "## What hosts say";

/// Returns the code in backticks in a text.
fn code(mut text: &str) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(at) = text.find('`') {
        let rest = &text[at..];
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let Some(end) = rest[ticks..].find(&rest[..ticks]) else {
            break;
        };
        found.push(rest[ticks..ticks + end].trim().to_owned());
        text = &rest[2 * ticks + end..];
    }
    found
}

/// Returns `true` if the parts of the message occur in the text, one after the other.
fn occurs(message: &str, mut text: &str) -> bool {
    message.split('…').map(str::trim).all(|part| {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
        true
    })
}

/// Returns the messages on the page that are not in the texts.
fn missing(page: &str, texts: &[String]) -> Vec<String> {
    let ours = page.split(OTHERS).next().unwrap();
    let rows = ours.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next())
        .filter(|cell| !cell.contains("rustc"))
        .flat_map(code)
        .filter(|message| !texts.iter().any(|text| occurs(message, text)))
        .collect()
}

#[test]
fn messages_in_the_troubleshooting_page_exist_in_the_sources() {
    let page = std::fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let mut texts = Vec::new();
    for source in product() {
        texts.extend(source.strings().into_iter().map(|(_, text)| text));
        // Messages about types are in attributes.
        let attributes = source
            .text
            .lines()
            .filter(|line| line.trim_start().starts_with("message = \""));
        texts.extend(attributes.map(str::to_owned));
    }
    let missing = missing(&page, &texts);
    assert!(
        missing.is_empty(),
        "docs/troubleshooting.md has messages that the sources no longer have; change them there, too:\n{}",
        missing.join("\n")
    );
}

#[test]
fn a_message_that_changed_is_found() {
    let page =
        "| ``no tool `…`…`` | a |\n| 404 `it is gone` | b |\n## What hosts say\n| `spawn` | c |";
    let texts = ["no tool `{name}`; did you mean".to_owned()];
    assert_eq!(missing(page, &texts), ["it is gone"]);
}
