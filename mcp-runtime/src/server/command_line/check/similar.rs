//! Pairs of tools that models can easily confuse.
//!
//! Rule: two tools are similar if their names consist of the same words, in any order, or if their descriptions contain
//! at least four different words and share at least 80% of them. Words are compared in the same way as in searches:
//! ignoring case and plural endings. For authors, this is explained in `docs/many-tools.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::registry::words;
use crate::server::command_line::check::tokens::is_for_models;

/// Minimum percentage of words that similar descriptions have in common.
const SHARE: usize = 80;
/// Minimum number of different words that descriptions must contain in order to be compared.
const FEWEST_WORDS: usize = 4;
/// Maximum number of pairs that are reported.
pub(super) const MAX_PAIRS: usize = 20;

/// A pair of similar tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SimilarPair<'t> {
    pub(super) one: &'t str,
    pub(super) other: &'t str,
    pub(super) reason: SimilarityReason,
}

/// The reason why two tools are similar.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SimilarityReason {
    /// The names consist of the same words.
    Names,
    /// The descriptions have this percentage of their words in common.
    Descriptions(usize),
}

impl SimilarPair<'_> {
    /// Returns the text to report.
    pub(super) fn text(&self) -> String {
        let (one, other) = (self.one, self.other);
        match self.reason {
            SimilarityReason::Names => format!(
                "`{one}` and `{other}` have the same words in their names; models may mistake one for the other"
            ),
            SimilarityReason::Descriptions(percent) => format!(
                "`{one}` and `{other}` share {percent}% of the words in their descriptions; in each, say when to use \
                 it instead of the other"
            ),
        }
    }
}

/// A tool's words, represented by numbers, which are faster to compare.
struct ToolWords<'t> {
    name: &'t str,
    in_name: BTreeSet<usize>,
    in_description: BTreeSet<usize>,
}

/// Returns pairs of similar tools, considering only tools that models read, in the order of the tools.
pub(super) fn similar_pairs(tools: &[Value]) -> Vec<SimilarPair<'_>> {
    let mut numbers = BTreeMap::new();
    let mut numbered = |text: &str| -> BTreeSet<usize> {
        let words = words(text);
        words
            .map(|word| {
                let next = numbers.len();
                *numbers.entry(word).or_insert(next)
            })
            .collect()
    };
    let tools: Vec<_> = tools
        .iter()
        .filter(|tool| is_for_models(tool))
        .map(|tool| {
            let text = |member: &str| tool[member].as_str().unwrap_or_default();
            ToolWords {
                name: text("name"),
                in_name: numbered(text("name")),
                in_description: numbered(text("description")),
            }
        })
        .collect();
    let mut pairs = Vec::new();
    for (number, one) in tools.iter().enumerate() {
        for other in tools.iter().skip(number.saturating_add(1)) {
            if let Some(reason) = reason(one, other) {
                pairs.push(SimilarPair {
                    one: one.name,
                    other: other.name,
                    reason,
                });
            }
        }
    }
    pairs
}

fn reason(one: &ToolWords<'_>, other: &ToolWords<'_>) -> Option<SimilarityReason> {
    if !one.in_name.is_empty() && one.in_name == other.in_name {
        return Some(SimilarityReason::Names);
    }
    let words = [one.in_description.len(), other.in_description.len()];
    let (fewer, more) = (words[0].min(words[1]), words[0].max(words[1]));
    // Most pairs differ so much in length that their words do not need to be compared.
    if more < FEWEST_WORDS || fewer * 100 < more * SHARE {
        return None;
    }
    let common = one
        .in_description
        .intersection(&other.in_description)
        .count();
    let different = fewer + more - common;
    let share = common * 100 / different;
    (share >= SHARE).then_some(SimilarityReason::Descriptions(share))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs(tools: &[(&str, &str)]) -> Vec<String> {
        let tools = tools.iter();
        let tools: Vec<_> = tools
            .map(|(name, description)| json!({"name": name, "description": description}))
            .collect();
        let found = similar_pairs(&tools);
        found
            .iter()
            .map(|pair| format!("{} {} {:?}", pair.one, pair.other, pair.reason))
            .collect()
    }

    #[test]
    fn names_of_the_same_words_are_similar() {
        let tools = [
            ("get_user", ""),
            ("userGet", ""),
            ("getUsers", ""),
            ("get_user_by_id", ""),
            ("get", ""),
        ];
        assert_eq!(
            pairs(&tools),
            [
                "get_user userGet Names",
                "get_user getUsers Names",
                "userGet getUsers Names"
            ]
        );
    }

    #[test]
    fn descriptions_of_nearly_the_same_words_are_similar() {
        for (one, other, expected) in [
            (
                "Finds notes by the words in them.",
                "Finds notes by words in the text.",
                None,
            ),
            (
                "Finds notes by the words in them.",
                "Find the note by words in them!",
                Some(100),
            ),
            (
                "Returns a list of the notes.",
                "Returns a list of notes.",
                Some(83),
            ),
            (
                "Creates an issue in the repository.",
                "Deletes an issue in the repository.",
                None,
            ),
            ("Adds a note.", "Adds a note.", None),
            ("", "", None),
        ] {
            let expected: Vec<_> = expected
                .iter()
                .map(|share| format!("a b Descriptions({share})"))
                .collect();
            assert_eq!(
                pairs(&[("a", one), ("b", other)]),
                expected,
                "{one} {other}"
            );
        }
    }
}
