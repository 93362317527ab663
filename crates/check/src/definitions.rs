//! Lint rules for sizes that clients reject and for definitions that are hard to use. Each rule cites its source. The
//! rules for names and schemas are in [`mcp_schema::model_rules`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use mcp_schema::model_rules::{Severity, breaches};
use mcp_schema::suggest::words;
use serde_json::Value;

use crate::finding::{Finding, Findings};
use crate::surface::{Surface, SurfaceList};

// Sources of the rules. The Chat Completions API, `tools[].function.description`, until 2025, and compatible services.
const LONG: &str = "services compatible with OpenAI: at most 1024 characters";

// Visual Studio Code, "Use tools in chat"; the Chat Completions API, `tools`.
const MANY: &str = "OpenAI and VS Code: at most 128 tools in a request";

/// Number of tokens above which a server's tools are reported as too large: 5% of a 200,000-token context.
const MOST_TOKENS: usize = 10_000;

const MOST_TOOLS: usize = 128;

const LONGEST_DESCRIPTION: usize = 1_024;

/// Returns all findings, in the order of the definitions in the surface. `costs` contains the tools that clients list
/// and models read.
pub(crate) fn lint_definitions(surface: &Surface, costs: &[TokenCost<'_>]) -> Vec<Finding> {
    let mut found = Findings::new();
    for tool in surface.items(SurfaceList::Tools) {
        lint_tool(tool, &mut found);
    }
    for prompt in surface.items(SurfaceList::Prompts) {
        lint_prompt(prompt, &mut found);
    }
    for template in surface.items(SurfaceList::Templates) {
        found.set_subject("template", template["uriTemplate"].as_str());
        lint_described(template, &mut found);
    }
    lint_resources(surface.items(SurfaceList::Resources), &mut found);
    let (tools, tokens) = (costs.len(), total(costs));
    found.set_subjects("the tools");
    lint_similar_tools(surface.items(SurfaceList::Tools), &mut found);
    if tools > MOST_TOOLS {
        found.push_refused(format!("there are {tools}"), MANY);
    }
    if tokens > MOST_TOKENS {
        found.push_advice(format!(
            "they use about {tokens} tokens in every conversation; shorten descriptions, let hosts select tags, or let models search (docs/many-tools.md)"
        ));
    }
    found.all
}

/// Reports tools that models can easily confuse.
fn lint_similar_tools(tools: &[Value], found: &mut Findings) {
    let pairs = similar_pairs(tools);
    for pair in pairs.iter().take(MAX_PAIRS) {
        found.push_advice(pair.text());
    }
    let more = pairs.len().saturating_sub(MAX_PAIRS);
    if more > 0 {
        found.push_advice(format!("{more} more pairs are similar"));
    }
}

fn lint_tool(tool: &Value, found: &mut Findings) {
    let name = tool["name"].as_str().unwrap_or_default();
    found.set_subject("tool", Some(name));
    lint_described(tool, found);
    let description = tool["description"].as_str().unwrap_or_default();
    if description.chars().count() > LONGEST_DESCRIPTION {
        found.push_disliked("the description is long", LONG);
    }
    let schema = &tool["inputSchema"];
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !is_described(property) {
            found.push_advice(format!("argument `{name}` has no description"));
        }
    }
    for breach in breaches(Some(name), schema, Severity::ALL) {
        found.push(breach.rule.severity, breach.text, breach.rule.text);
    }
}

fn lint_prompt(prompt: &Value, found: &mut Findings) {
    found.set_subject("prompt", prompt["name"].as_str());
    lint_described(prompt, found);
    for argument in prompt["arguments"].as_array().into_iter().flatten() {
        if !is_described(argument) {
            let name = argument["name"].as_str().unwrap_or_default();
            found.push_advice(format!("argument `{name}` has no description"));
        }
    }
}

/// Reports all resources in a single finding, because a server may define thousands of them.
fn lint_resources(resources: &[Value], found: &mut Findings) {
    let mut bare = resources.iter().filter(|resource| !is_described(resource));
    if let Some(first) = bare.next() {
        found.set_subject("resource", first["uri"].as_str());
        found.push_advice(match bare.count() {
            0 => "has no description; write a doc comment".to_owned(),
            more => {
                format!("has no description (and {more} more like it); write doc comments")
            }
        });
    }
}

fn is_described(item: &Value) -> bool {
    item["description"]
        .as_str()
        .is_some_and(|text| !text.is_empty())
}

/// Reports a definition without a description.
fn lint_described(item: &Value, found: &mut Findings) {
    if !is_described(item) {
        found.push_advice("has no description; write a doc comment");
    }
}

// --- Pairs of tools that models can easily confuse.
//
// Rule: two tools are similar if their names consist of the same words, in any order, or if their descriptions contain
// at least four different words and share at least 80% of them. Words are compared in the same way as in searches:
// ignoring case and plural endings. For authors, this is explained in `docs/many-tools.md`.

/// Minimum percentage of words that similar descriptions have in common.
const MIN_COMMON_PERCENT: usize = 80;

/// Minimum number of different words that descriptions must contain in order to be compared.
const FEWEST_WORDS: usize = 4;

/// Maximum number of pairs that are reported.
const MAX_PAIRS: usize = 20;

/// A pair of similar tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SimilarPair<'t> {
    pub(crate) one: &'t str,
    pub(crate) other: &'t str,
    pub(crate) reason: SimilarityReason,
}

/// The reason why two tools are similar.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SimilarityReason {
    /// The names consist of the same words.
    Names,
    /// The descriptions have this percentage of their words in common.
    Descriptions(usize),
}

impl SimilarPair<'_> {
    /// Returns the text to report.
    pub(crate) fn text(&self) -> String {
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

/// A tool's words, represented by numbers in ascending order: with thousands of tools, there are millions of pairs.
struct ToolWords<'t> {
    name: &'t str,
    in_name: Vec<usize>,
    in_description: Vec<usize>,
}

/// Returns pairs of similar tools, considering only tools that models read, in the order of the tools.
fn similar_pairs(tools: &[Value]) -> Vec<SimilarPair<'_>> {
    let mut numbers = BTreeMap::new();
    let mut numbered = |text: &str| -> Vec<usize> {
        let words = words(text).map(|word| {
            let next = numbers.len();
            *numbers.entry(word).or_insert(next)
        });
        let words: BTreeSet<usize> = words.collect();
        words.into_iter().collect()
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
    if more < FEWEST_WORDS || fewer * 100 < more * MIN_COMMON_PERCENT {
        return None;
    }
    let common = common(&one.in_description, &other.in_description);
    let different = fewer + more - common;
    let share = common * 100 / different;
    (share >= MIN_COMMON_PERCENT).then_some(SimilarityReason::Descriptions(share))
}

/// Returns the number of elements that two ascending lists have in common.
fn common(mut one: &[usize], mut other: &[usize]) -> usize {
    let mut count = 0;
    while let ([first, rest @ ..], [second, others @ ..]) = (one, other) {
        if first <= second {
            one = rest;
        }
        if second <= first {
            other = others;
        }
        count += usize::from(first == second);
    }
    count
}

// --- The tokens that tools use in a model's context. For authors, `docs/many-tools.md` explains how they are
// estimated.

/// The tokens that a tool uses in a model's context.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TokenCost<'t> {
    pub(crate) tool: &'t str,
    pub(crate) tokens: usize,
}

/// Estimates the number of tokens that each tool uses in a model's context, largest first: about one for every four
/// bytes of its name, description and input schema as JSON. Tools that models do not read are omitted.
pub(crate) fn token_costs<'t>(tools: &'t [Value]) -> Vec<TokenCost<'t>> {
    let cost = |tool: &'t Value| {
        let read: [&Value; 3] = ["name", "description", "inputSchema"].map(|member| &tool[member]);
        let bytes: usize = read.iter().map(|value| value.to_string().len()).sum();
        TokenCost {
            tool: tool["name"].as_str().unwrap_or_default(),
            tokens: bytes.div_ceil(4),
        }
    };
    let mut costs: Vec<_> = tools
        .iter()
        .filter(|tool| is_for_models(tool))
        .map(cost)
        .collect();
    costs.sort_by_key(|cost| Reverse(cost.tokens));
    costs
}

/// Returns the total number of tokens for these tools.
pub(crate) fn total(costs: &[TokenCost<'_>]) -> usize {
    costs.iter().map(|cost| cost.tokens).sum()
}

/// Returns `true` unless only app pages call the tool, in which case hosts hide it from models.
pub(crate) fn is_for_models(tool: &Value) -> bool {
    let users = tool["_meta"]["ui"]["visibility"].as_array();
    users.is_none_or(|users| users.iter().any(|user| user == "model"))
}

#[cfg(test)]
mod tests {
    mod lint {
        use serde_json::json;

        use crate::definitions::token_costs;
        use crate::definitions::*;

        /// Returns the findings for a server with these tools.
        fn found(tools: &Value) -> Vec<String> {
            let surface = Surface::parse(&json!({ "tools": tools }).to_string()).unwrap();
            let costs = token_costs(surface.items(SurfaceList::Tools));
            let found = lint_definitions(&surface, &costs);
            found.iter().map(Finding::to_string).collect()
        }

        /// Returns the findings for an argument's schema.
        fn found_in(property: &Value) -> Vec<String> {
            let mut schema = json!({"type": "object", "properties": {"a": property}, "additionalProperties": false});
            if schema["properties"]["a"].is_object() {
                schema["properties"]["a"]["description"] = "An argument".into();
            }
            found(&json!([{"name": "t", "description": "A tool.", "inputSchema": schema}]))
        }

        #[test]
        fn every_fault_of_an_argument_is_found() {
            for (property, fault) in [
                (json!({"type": "string", "format": "date-time"}), ""),
                (
                    json!({"type": "array", "items": {"type": "string", "enum": ["x"]}}),
                    "",
                ),
                (json!({"$ref": "#/$defs/A"}), "`$ref`"),
                (json!({"type": ["string", "null"]}), "several types"),
                (json!({"type": "array"}), "without `items`"),
                (json!({"type": "integer", "enum": [1, 2]}), "non-string"),
                (json!({"type": "string"}), ""),
                (
                    json!({"type": "array", "items": {"type": ["string"]}}),
                    "/a/items",
                ),
                (json!({"anyOf": [{"type": "array"}]}), "without `items`"),
            ] {
                let found = found_in(&property);
                match fault {
                    "" => assert!(found.is_empty(), "{property}: {found:?}"),
                    fault => assert!(
                        found.len() == 1
                            && found[0].starts_with("refused: tool `t`: ")
                            && found[0].contains(fault),
                        "{property}: {found:?}"
                    ),
                }
            }
        }

        #[test]
        fn schema_features_that_some_models_lack_are_reported_as_advice() {
            for (property, advice) in [
                (
                    json!({"oneOf": [{"type": "number"}, {"type": "string"}]}),
                    "has alternatives (`oneOf`)",
                ),
                (
                    json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                    "is a map",
                ),
                (
                    json!({"type": "array", "items": {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}}}),
                    "is a tuple (`prefixItems`)",
                ),
            ] {
                let found = found_in(&property);
                assert!(
                    found.len() == 1
                        && found[0].starts_with("advice: tool `t`: /a")
                        && found[0].contains(advice),
                    "{property}: {found:?}"
                );
            }
            let closed = json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false});
            assert_eq!(found_in(&closed), Vec::<String>::new());
        }

        #[test]
        fn every_fault_of_a_tool_is_found() {
            let object = json!({"type": "object", "properties": {}, "additionalProperties": false});
            let long = "x".repeat(1_025);
            for (tool, faults) in [
                (
                    json!({"name": "t", "description": "A tool.", "inputSchema": object}),
                    vec![],
                ),
                (
                    json!({"name": "a.b", "description": "A tool.", "inputSchema": object}),
                    vec!["refused: tool `a.b`: some clients reject this name"],
                ),
                (
                    json!({"name": "x".repeat(65), "description": "A tool.", "inputSchema": object}),
                    vec!["refused"],
                ),
                (
                    json!({"name": "t", "inputSchema": object}),
                    vec!["advice: tool `t`: has no description"],
                ),
                (
                    json!({"name": "t", "description": long, "inputSchema": object}),
                    vec!["advice: tool `t`: the description is long"],
                ),
                (
                    json!({"name": "t", "description": "A tool.", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}}),
                    vec!["advice: tool `t`: argument `a` has no description"],
                ),
                (
                    json!({"name": "t", "description": "A tool.", "inputSchema": {"anyOf": []}}),
                    vec![
                        "refused: tool `t`: the schema of the arguments is not",
                        "refused: tool `t`: the schema of the arguments has `anyOf`",
                        "refused: tool `t`: the schema of the arguments has no `properties`",
                    ],
                ),
            ] {
                let found = found(&json!([tool]));
                assert_eq!(found.len(), faults.len(), "{tool}: {found:?}");
                for (found, fault) in found.iter().zip(faults) {
                    assert!(found.starts_with(fault), "{found}");
                }
            }
        }

        #[test]
        fn a_catalogue_with_too_many_tokens_is_reported() {
            let tool = |index: usize, text: &str| json!({"name": format!("t{index}"), "description": format!("{text}{index}"), "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}});
            let many: Value = (0..129).map(|index| tool(index, "A tool.")).collect();
            assert_eq!(
                found(&many),
                [
                    "refused: the tools: there are 129 (OpenAI and VS Code: at most 128 tools in a request)"
                ]
            );
            let large: Value = (0..60).map(|index| tool(index, &"x".repeat(700))).collect();
            let found = found(&large);
            assert!(
                found.len() == 1 && found[0].starts_with("advice: the tools: they use about 1"),
                "{found:?}"
            );
        }

        #[test]
        fn tokens_are_counted_by_tool_and_similar_tools_are_named() {
            let object = json!({"type": "object"});
            let tools = json!([
                {"name": "get_user", "description": "Short.", "inputSchema": object},
                {"name": "user_get", "description": "x".repeat(400), "inputSchema": object},
            ]);
            let mut both = tools.as_array().unwrap().clone();
            // Models do not see this tool, so neither its tokens nor its name counts.
            both.push(json!({"name": "getUser", "inputSchema": object, "_meta": {"ui": {"visibility": ["app"]}}}));
            let costs = token_costs(&both);
            assert_eq!(costs.len(), 2);
            assert_eq!((costs[0].tool, costs[1].tool), ("user_get", "get_user"));
            // 10 + 8 + 17 bytes.
            assert_eq!((costs[1].tokens, total(&costs)), (9, costs[0].tokens + 9));
            let found = found(&both.into());
            let similar_pairs = found.iter().filter(|found| found.contains("same words"));
            assert_eq!(similar_pairs.count(), 1, "{found:?}");
            let similar =
                "advice: the tools: `get_user` and `user_get` have the same words in their names";
            assert!(
                found.iter().any(|found| found.starts_with(similar)),
                "{found:?}"
            );
            let many: Value = (0..10)
            .map(|n| json!({"name": "a_".repeat(n + 1), "description": n.to_string(), "inputSchema": object}))
            .collect();
            let found = self::found(&many);
            assert!(
                found.iter().any(|found| found.contains("25 more pairs")),
                "{found:?}"
            );
        }

        #[test]
        fn prompts_and_resources_without_a_description_are_reported() {
            let surface = json!({
                "prompts": [{"name": "p", "arguments": [{"name": "a"}]}],
                "resources": [{"uri": "a:b"}, {"uri": "a:c"}, {"uri": "a:d", "description": "x"}],
                "resourceTemplates": [{"uriTemplate": "a:{b}"}],
            });
            let surface = Surface::parse(&surface.to_string()).unwrap();
            let found: Vec<_> = lint_definitions(&surface, &[])
                .iter()
                .map(Finding::to_string)
                .collect();
            assert_eq!(
                found,
                [
                    "advice: prompt `p`: has no description; write a doc comment",
                    "advice: prompt `p`: argument `a` has no description",
                    "advice: template `a:{b}`: has no description; write a doc comment",
                    "advice: resource `a:b`: has no description (and 1 more like it); write doc comments",
                ]
            );
        }
    }

    mod similar {
        use serde_json::json;

        use crate::definitions::*;

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
}
