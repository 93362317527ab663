//! A search index of tools: BM25 over their names, titles, descriptions and arguments.
//!
//! Values that depend on other tools, such as the rarity of a word, are computed using only the tools that the request
//! may use. A tool that is hidden from a caller therefore has no effect on the caller's search results.
//!
//! Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with weights
//! for fields as in section 3.6.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use mcp_core::registry::words;
use mcp_protocol::types::Tool;
use serde_json::Value;

/// Controls how much further occurrences of a word add to the score (`k1`).
const K1: f64 = 1.2;
/// Controls how much a tool's length affects the score (`b`).
const B: f64 = 0.75;
/// The weight of a word that begins with a query word but is longer.
const PREFIX: f64 = 0.4;
/// Minimum length of a query word that also matches longer words, in characters.
const SHORTEST_PREFIX: usize = 3;
/// Maximum number of distinct words in a query.
const MAX_WORDS: usize = 32;
/// Maximum schema depth at which arguments are indexed.
const MAX_DEPTH: usize = 4;

/// An index of tools, which are numbered in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct ToolIndex {
    /// Maps each word to the tools that contain it, with the word's weight in each tool.
    words: BTreeMap<Box<str>, Vec<(usize, f64)>>,
    /// The total weight of each tool's words.
    lengths: Vec<f64>,
}

impl ToolIndex {
    pub(crate) fn new<'t>(tools: impl Iterator<Item = &'t Tool>) -> Self {
        let mut index = Self::default();
        for (number, tool) in tools.enumerate() {
            let mut weights: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            for (weight, text) in fields(tool) {
                for word in words(&text) {
                    *weights.entry(word).or_default() += weight;
                    length += weight;
                }
            }
            for (word, weight) in weights {
                let found = index.words.entry(word.into()).or_default();
                found.push((number, weight));
            }
            index.lengths.push(length);
        }
        index
    }

    /// Returns the tools that match a query, best match first. Tools with equal scores keep their order. `permitted` is
    /// `true` for each tool that the request may use.
    pub(crate) fn search(&self, query: &str, permitted: &[bool]) -> Vec<usize> {
        let is_permitted = |tool: usize| permitted.get(tool).copied().unwrap_or_default();
        let lengths = self.lengths.iter().enumerate();
        let lengths = lengths.filter(|(tool, _)| is_permitted(*tool));
        let (count, total) = lengths.fold((0.0_f64, 0.0_f64), |(count, total), (_, length)| {
            (count + 1.0, total + length)
        });
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for word in &first_words(query) {
            let mut found = self.weights(word);
            found.retain(|tool, _| is_permitted(*tool));
            #[allow(clippy::cast_precision_loss, reason = "no server has 2^52 tools")]
            let with_word = found.len() as f64;
            let rarity = ((count - with_word + 0.5) / (with_word + 0.5)).ln_1p();
            for (tool, weight) in found {
                let length = self.lengths.get(tool).copied().unwrap_or_default();
                let size = 1.0 - B + B * length * count / total;
                *scores.entry(tool).or_default() +=
                    rarity * weight * (K1 + 1.0) / (weight + K1 * size);
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        // The sort is stable, so tools with equal scores keep their order.
        found.sort_by(|(_, one), (_, other)| other.partial_cmp(one).unwrap_or(Ordering::Equal));
        found.into_iter().map(|(tool, _)| tool).collect()
    }

    /// Returns the tools that contain a word or, with less weight, words that begin with it.
    fn weights(&self, word: &str) -> BTreeMap<usize, f64> {
        let mut weights = BTreeMap::new();
        let from = self
            .words
            .range::<str, _>((std::ops::Bound::Included(word), std::ops::Bound::Unbounded));
        for (found, tools) in from.take_while(|(found, _)| found.starts_with(word)) {
            let factor = if **found == *word {
                1.0
            } else if word.chars().count() < SHORTEST_PREFIX {
                break;
            } else {
                PREFIX
            };
            for (tool, weight) in tools {
                *weights.entry(*tool).or_default() += weight * factor;
            }
        }
        weights
    }
}

/// Returns the first distinct words in a query. The rest of the query is not read, no matter how long it is.
fn first_words(query: &str) -> BTreeSet<String> {
    let mut first = BTreeSet::new();
    for word in words(query) {
        first.insert(word);
        if first.len() >= MAX_WORDS {
            break;
        }
    }
    first
}

/// Returns the strings to index for a tool, with their weights.
fn fields(tool: &Tool) -> Vec<(f64, String)> {
    let mut fields = vec![(3.0, tool.name.clone())];
    fields.extend(tool.title.iter().map(|title| (2.0, title.clone())));
    let description = tool.description.iter();
    fields.extend(description.map(|description| (1.0, description.clone())));
    let schema = serde_json::from_str(tool.input_schema.get()).unwrap_or_default();
    add_arguments(&schema, MAX_DEPTH, &mut fields);
    fields
}

/// Adds the names and descriptions of arguments and their members.
fn add_arguments(schema: &Value, depth: usize, fields: &mut Vec<(f64, String)>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
        fields.push((1.0, name.clone()));
        if let Some(description) = argument["description"].as_str() {
            fields.push((0.5, description.to_owned()));
        }
        add_arguments(argument, depth, fields);
        add_arguments(&argument["items"], depth, fields);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn tool(name: &str, description: &str, arguments: &Value) -> Tool {
        let schema = json!({"type": "object", "properties": arguments});
        let mut tool = Tool::new(name, to_raw_value(&schema).unwrap());
        tool.description = Some(description.to_owned());
        tool
    }

    fn tools() -> Vec<Tool> {
        vec![
            tool(
                "close_issue",
                "Closes an issue.",
                &json!({"number": {"description": "The issue's number"}}),
            ),
            tool(
                "list_issues",
                "Lists the open issues of a repository.",
                &json!({}),
            ),
            tool(
                "merge_pull_request",
                "Merges a pull request.",
                &json!({"squash": {}}),
            ),
            tool(
                "deploy",
                "Deploys a branch to production.",
                &json!({
                    "target": {"properties": {"region": {"description": "A data centre"}}},
                    "steps": {"items": {"properties": {"canary": {}}}},
                }),
            ),
        ]
    }

    fn found(query: &str, permitted: &[bool]) -> Vec<String> {
        let tools = tools();
        let found = ToolIndex::new(tools.iter()).search(query, permitted);
        found
            .into_iter()
            .map(|tool| tools[tool].name.clone())
            .collect()
    }

    #[test]
    fn the_best_tools_come_first() {
        let all = [true; 4];
        for (query, expected) in [
            ("close an issue", &["close_issue", "list_issues"][..]),
            ("CloseIssue", &["close_issue", "list_issues"]),
            ("open issues in a repo", &["list_issues", "close_issue"]),
            ("squash", &["merge_pull_request"]),
            ("data centre", &["deploy"]),
            ("canary", &["deploy"]),
            ("deployment", &[]),
            ("prod", &["deploy"]),
            ("pr", &[]),
            ("", &[]),
            ("?!", &[]),
        ] {
            let found = found(query, &all);
            let best: Vec<_> = found.iter().take(expected.len()).collect();
            assert_eq!(best, expected, "{query}");
            assert!(
                !expected.is_empty() || found.is_empty(),
                "{query}: {found:?}"
            );
        }
    }

    #[test]
    fn hidden_tools_do_not_influence_the_ranking() {
        let hidden = [true, true, false, true];
        assert!(found("squash", &hidden).is_empty());
        let tools = tools();
        let without: Vec<_> = tools
            .iter()
            .filter(|tool| tool.name != "merge_pull_request")
            .collect();
        let index = ToolIndex::new(without.iter().copied());
        for query in ["an issue", "a pull request", "issues open deploy branch"] {
            let expected = index.search(query, &[true; 3]);
            let expected: Vec<_> = expected
                .into_iter()
                .map(|tool| without[tool].name.clone())
                .collect();
            assert_eq!(found(query, &hidden), expected, "{query}");
        }
        assert!(found("issue", &[]).is_empty() && found("issue", &[false; 4]).is_empty());
    }

    #[test]
    fn the_first_different_words_of_a_long_query_count() {
        let numbers = |count: usize| {
            let words: Vec<_> = (0..count).map(|number| format!("w{number} ")).collect();
            words.concat()
        };
        let repeated = "please ".repeat(10_000);
        for (before, expected) in [
            (&repeated, &["deploy"][..]),
            (&numbers(MAX_WORDS - 1), &["deploy"]),
            (&numbers(MAX_WORDS), &[]),
        ] {
            assert_eq!(found(&format!("{before}deploy"), &[true; 4]), expected);
        }
    }

    #[test]
    fn prefixes_are_measured_in_characters() {
        let tools = [tool("issues", "Список задач.", &json!({}))];
        let index = ToolIndex::new(tools.iter());
        assert_eq!(index.search("спи", &[true]), [0]);
        assert!(index.search("сп", &[true]).is_empty());
    }
}
