//! Reads exceptions to rules, and the reasons for them, from `tests/tidy/exceptions.txt`. Each line has the form
//! `RULE SUBJECT: REASON`.

use std::collections::BTreeSet;

use crate::sources;

/// Fails if a subject breaks the rule and has no exception, or if an exception is no longer needed. The failure lists
/// all of them.
pub(crate) fn check(rule: &str, remedy: &str, broken: impl IntoIterator<Item = (String, String)>) {
    let excepted = excepted(rule);
    let mut needed = BTreeSet::new();
    let mut complaints = Vec::new();
    for (subject, detail) in broken {
        if excepted.contains(&subject) {
            needed.insert(subject);
        } else {
            complaints.push(format!("{subject}: {detail}"));
        }
    }
    complaints.extend(
        excepted
            .difference(&needed)
            .map(|subject| format!("{subject}: the exception is not needed any more")),
    );
    assert!(
        complaints.is_empty(),
        "{rule}: {remedy}\n  {}",
        complaints.join("\n  ")
    );
}

/// The rules that may have exceptions.
const RULES: [&str; 11] = [
    "arrow",
    "circle",
    "layer",
    "long-file",
    "public-homonym",
    "quote",
    "sleep",
    "stage",
    "version",
    "wait",
    "word",
];

/// The subjects that may break a rule.
pub(crate) fn excepted(rule: &str) -> BTreeSet<String> {
    let path = sources::root().join("tests/tidy/exceptions.txt");
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| {
            let (subject, reason) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("an exception without a reason: {line}"));
            assert!(
                !reason.trim().is_empty(),
                "an exception without a reason: {line}"
            );
            let (first, subject) = subject.split_once(' ').unwrap_or((subject, ""));
            assert!(
                RULES.contains(&first),
                "no rule is called `{first}`: {line}"
            );
            (first == rule).then(|| subject.to_owned())
        })
        .collect()
}
