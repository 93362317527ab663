//! What the instructions of a server say about tags: a line for each, with its description and its tools. Which definitions
//! a selection of tags contains is decided by the core, because it is part of what a caller may see.

use std::fmt::Write as _;

use mcp_core::dispatch::{RequestInstructions, ServerAddOn, ServerParts};
use mcp_core::order::sort_by;
use mcp_core::registry::CallerView;

/// Maximum number of tools to name for each tag. Models find the other tools in the list.
const MAX_NAMES: usize = 40;

/// Lets the server's instructions end with a line for each tag that contains the tag's description
/// (`Server::describe_tag`) and the names of its tools. Each client is shown only the tools that it may use.
///
/// ```
/// use mcp_runtime::extension::TagInstructions;
/// # use mcp_runtime::prelude::*;
///
/// let server = new_server!().describe_tag("issues", "Bugs and wishes.").with(TagInstructions);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TagInstructions;

impl ServerAddOn for TagInstructions {
    fn add_to(self, parts: &mut ServerParts) {
        parts.describe_groups = Some(instructions);
    }
}

/// Returns the instructions about tags, given tags with their descriptions.
fn instructions(descriptions: Vec<(String, String)>) -> RequestInstructions {
    Box::new(move |view| {
        let groups = tools_by_tag(view, &descriptions);
        if groups.is_empty() {
            return None;
        }
        let mut text = "Tools by tag:".to_owned();
        for group in &groups {
            write_group(&mut text, group);
        }
        Some(text)
    })
}

/// Writes a line such as ``- issues (Bugs and wishes.): list_issues, close_issue``.
fn write_group(text: &mut String, group: &ToolGroup<'_>) {
    // Each tag has a single line, so line breaks are removed from its description.
    let words = group.description.split_whitespace();
    let description = words.collect::<Vec<_>>().join(" ");
    let _ = match (group.tag, &*description) {
        (None, _) => write!(text, "\n- without a tag: "),
        (Some(tag), "") => write!(text, "\n- {tag}: "),
        (Some(tag), description) => write!(text, "\n- {tag} ({description}): "),
    };
    let shown: Vec<&str> = group.tools.iter().take(MAX_NAMES).copied().collect();
    text.push_str(&shown.join(", "));
    let more = group.tools.len().saturating_sub(shown.len());
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
}

/// The tools with a given tag.
#[derive(Debug, PartialEq, Eq)]
struct ToolGroup<'a> {
    /// `None` for tools without tags.
    tag: Option<&'a str>,
    description: &'a str,
    /// The names, in the order of the list.
    tools: Vec<&'a str>,
}

/// Groups the tools by tag: first the described tags in their given order, then the other tags by name, and finally
/// the tools without tags. Returns an empty list if none of the tools has a tag. A tool with several tags appears
/// in several groups; tools that models do not call do not appear in any group.
fn tools_by_tag<'g>(
    view: CallerView<'g>,
    descriptions: &'g [(String, String)],
) -> Vec<ToolGroup<'g>> {
    let mut pairs: Vec<(&'g str, &'g str)> = Vec::new();
    let mut untagged = Vec::new();
    for tool in view
        .tools()
        .filter(|tool| !tool.tool_use().is_hidden_from_models)
    {
        let name: &'g str = &tool.name;
        if tool.tags.is_empty() {
            untagged.push(name);
        }
        pairs.extend(tool.tags.iter().map(|tag| (&**tag, name)));
    }
    // The sort is stable, so the names keep the order of the list.
    sort_by(&mut pairs, |(one, _), (other, _)| one.cmp(other));
    let mut tagged: Vec<(&'g str, Vec<&'g str>)> = Vec::new();
    for (tag, name) in pairs {
        match tagged.last_mut() {
            Some((last, tools)) if *last == tag => tools.push(name),
            _ => tagged.push((tag, vec![name])),
        }
    }
    if tagged.is_empty() {
        return Vec::new();
    }
    let mut groups = Vec::new();
    for (tag, description) in descriptions {
        if let Some(at) = tagged.iter().position(|(known, _)| *known == *tag) {
            let (_, tools) = tagged.remove(at);
            groups.push(ToolGroup {
                tag: Some(tag),
                description,
                tools,
            });
        }
    }
    groups.extend(tagged.into_iter().map(|(tag, tools)| ToolGroup {
        tag: Some(tag),
        description: "",
        tools,
    }));
    if !untagged.is_empty() {
        groups.push(ToolGroup {
            tag: None,
            description: "",
            tools: untagged,
        });
    }
    groups
}
