//! The tokens that tools use in a model's context. For authors, `docs/many-tools.md` explains how the tokens are
//! estimated.

use std::cmp::Reverse;

use serde_json::Value;

/// The tokens that a tool uses in a model's context.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenCost<'t> {
    pub(super) tool: &'t str,
    pub(super) tokens: usize,
}

/// Estimates the number of tokens that each tool uses in a model's context, largest first: about one for every four
/// bytes of its name, description and input schema as JSON. Tools that models do not read are omitted.
pub(super) fn token_costs<'t>(tools: &'t [Value]) -> Vec<TokenCost<'t>> {
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
pub(super) fn total(costs: &[TokenCost<'_>]) -> usize {
    costs.iter().map(|cost| cost.tokens).sum()
}

/// Returns `true` unless only app pages call the tool, in which case hosts hide it from models.
pub(super) fn is_for_models(tool: &Value) -> bool {
    let users = tool["_meta"]["ui"]["visibility"].as_array();
    users.is_none_or(|users| users.iter().any(|user| user == "model"))
}
