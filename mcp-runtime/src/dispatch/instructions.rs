//! The instructions for the model, with a line for each tag if the server enables this.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::dispatch::Dispatcher;
use crate::dispatch::origin::RequestOrigin;
use crate::protocol::encode::CacheHint;
use crate::registry::ToolGroup;
use crate::types::CacheScope;

/// Maximum number of tools to name for each tag. Models find the other tools in the list.
const MAX_NAMES: usize = 40;

impl Dispatcher {
    /// Returns the cache hint for `server/discover`. Instructions that name tools depend on the request.
    pub(super) fn discover_cache(&self) -> CacheHint {
        let mut cache = self.settings.cache.discover;
        if self.settings.tags_in_instructions {
            cache.scope = CacheScope::Private;
        }
        cache
    }

    /// Returns the instructions for a request with this origin.
    pub(super) fn instructions(&self, origin: &RequestOrigin) -> Option<Cow<'_, str>> {
        let written = self.settings.instructions.as_deref();
        if !self.settings.tags_in_instructions {
            return written.map(Cow::Borrowed);
        }
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&origin.caller);
        let view = view.narrowed_to(origin.selection.as_ref());
        let groups = view.tools_by_tag(&self.settings.rules.tag_descriptions);
        if groups.is_empty() {
            return written.map(Cow::Borrowed);
        }
        let mut text = written.map_or_else(String::new, |written| format!("{written}\n\n"));
        text.push_str("Tools by tag:");
        for group in &groups {
            write_group(&mut text, group);
        }
        Some(text.into())
    }
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
