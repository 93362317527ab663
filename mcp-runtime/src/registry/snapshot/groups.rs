//! The tools that a request may use, grouped by their tags.

use super::view::CallerView;
use crate::order::sort_by;

/// The tools with a given tag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolGroup<'a> {
    /// `None` for tools without tags.
    pub(crate) tag: Option<&'a str>,
    pub(crate) description: &'a str,
    /// The names, in the order of the list.
    pub(crate) tools: Vec<&'a str>,
}

impl<'a> CallerView<'a> {
    /// Groups the tools by tag: first the described tags in their given order, then the other tags by name, and finally
    /// the tools without tags. Returns an empty list if none of the tools has a tag. A tool with several tags appears
    /// in several groups; tools that models do not call do not appear in any group.
    pub(crate) fn tools_by_tag<'g>(
        &self,
        descriptions: &'g [(String, String)],
    ) -> Vec<ToolGroup<'g>>
    where
        'a: 'g,
    {
        let mut pairs: Vec<(&'g str, &'g str)> = Vec::new();
        let mut untagged = Vec::new();
        for tool in self
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
}
