//! What a request sees of the registry: lookups and pages over definitions that do not change any more.

mod readable;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::sync::Arc;

use crate::context::List;
use crate::handler::suggest::closest;
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::registry::complete::Completing;
use crate::registry::cursor::{Cursor, InvalidCursor, Mark, Place};
use crate::registry::entry::{Entry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::page::{Listing, Page};
use crate::registry::table::{Slot, Table};
use crate::types::CompletionReference;
pub(crate) use readable::Readable;
use readable::Source;

/// Everything offered at one time. Tables are shared with the snapshots before and after.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(super) tools: Arc<Table<ToolEntry>>,
    pub(super) prompts: Arc<Table<PromptEntry>>,
    pub(super) resources: Arc<Table<ResourceEntry>>,
    pub(super) templates: Arc<Table<TemplateEntry>>,
    /// Most items of a page.
    pub(super) page_size: usize,
    /// Which lists clients were or will be told of, by [`List`]. A list stays offered when it becomes empty.
    pub(super) offered: [bool; 4],
}

impl Snapshot {
    /// The enabled tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name)
    }

    /// The enabled prompt of this name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&Arc<PromptEntry>> {
        self.prompts.get(name)
    }

    /// The name of an enabled tool that may have been meant.
    pub(crate) fn tool_like(&self, name: &str) -> Option<&str> {
        closest(name, first_names(&self.tools))
    }

    /// The name of an enabled prompt that may have been meant.
    pub(crate) fn prompt_like(&self, name: &str) -> Option<&str> {
        closest(name, first_names(&self.prompts))
    }

    /// What reads this address: the resource that has it, or else the most specific template that matches.
    pub(crate) fn read(&self, uri: &str) -> Option<Readable> {
        if let Some(entry) = self.resources.get(uri) {
            return Some(Readable {
                source: Source::Resource(Arc::clone(entry)),
                arguments: "{}".into(),
            });
        }
        let (entry, variables) = self.matching(uri)?;
        let pairs = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let arguments = match entry.handler.decoder() {
            Some(decoder) => decoder.from_pairs(pairs),
            None => serde_json::Value::Object(
                pairs
                    .map(|(name, value)| (name.to_owned(), value.into()))
                    .collect(),
            )
            .to_string(),
        };
        Some(Readable {
            source: Source::Template(Arc::clone(entry)),
            arguments,
        })
    }

    /// The most specific enabled template that matches, and its variables.
    fn matching(&self, uri: &str) -> Option<Matching<'_>> {
        self.templates
            .visible()
            .filter_map(|slot| Some((&slot.entry, slot.entry.pattern.matches(uri)?)))
            // Of equals, the first in order.
            .min_by_key(|(entry, _)| Reverse(entry.pattern.specificity()))
    }

    /// A page of a list, from its start or from where `cursor` says.
    ///
    /// # Errors
    ///
    /// If `cursor` is none this list gave out.
    pub(crate) fn page(
        &self,
        list: List,
        version: ProtocolVersion,
        cursor: Option<&str>,
    ) -> Result<Page, InvalidCursor> {
        let place = cursor
            .map(|cursor| Cursor::decode(list, cursor))
            .transpose()?
            .map(|cursor| cursor.place);
        match list {
            List::Tools => self.plain(&self.tools, list, version, place.as_ref()),
            List::Prompts => self.plain(&self.prompts, list, version, place.as_ref()),
            List::Templates => self.plain(&self.templates, list, version, place.as_ref()),
            List::Resources => self.resources(version, place),
        }
    }

    fn plain<E: Entry>(
        &self,
        table: &Table<E>,
        list: List,
        version: ProtocolVersion,
        place: Option<&Place>,
    ) -> Result<Page, InvalidCursor> {
        let start = match place {
            None => 0,
            Some(Place::After(mark)) => table.after(mark),
            Some(Place::Within(..)) => return Err(InvalidCursor),
        };
        Ok(Page::Ready(table.page(
            start,
            self.page_size,
            version,
            |last| after(list, last),
        )))
    }

    fn resources(
        &self,
        version: ProtocolVersion,
        place: Option<Place>,
    ) -> Result<Page, InvalidCursor> {
        let mut listers: Vec<_> = self
            .templates
            .visible()
            .filter_map(|slot| {
                let lister = slot.entry.lister.clone()?;
                Some((
                    &slot.key,
                    Mark::new(&slot.key, slot.entry.found_by()),
                    lister,
                ))
            })
            .collect();
        let start = match &place {
            None => 0,
            Some(Place::After(mark)) => self.resources.after(mark),
            Some(Place::Within(..)) => self.resources.len(),
        };
        if listers.is_empty() || self.resources.len().saturating_sub(start) > self.page_size {
            let place = place.filter(|place| matches!(place, Place::After(_)));
            return match place {
                None if start > 0 => Ok(Page::Ready("\"resources\":[]".into())),
                place => self.plain(&self.resources, List::Resources, version, place.as_ref()),
            };
        }
        let mut cursor = None;
        if let Some(Place::Within(mark, inner)) = place {
            // If the template is gone, the next one starts from its beginning.
            let held = listers
                .iter()
                .position(|(_, held, _)| held.fingerprint == mark.fingerprint);
            let skip = match held {
                Some(index) => {
                    cursor = inner;
                    index
                }
                None => listers.partition_point(|(key, ..)| **key <= mark.key),
            };
            listers.drain(..skip.min(listers.len()));
        }
        Ok(Page::Listing(Listing {
            text: self.resources.items(start, self.page_size, version),
            count: self.resources.len().saturating_sub(start),
            listers: listers
                .into_iter()
                .map(|(_, mark, lister)| (mark, lister))
                .collect(),
            cursor,
            listed: Arc::clone(&self.resources),
            size: self.page_size,
            version,
        }))
    }

    /// How an argument completes. What is disabled does not exist here.
    ///
    /// # Errors
    ///
    /// -32602 if there is no such prompt or template, or it has no such argument.
    pub(crate) fn completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<Completing, ErrorObject> {
        let mut known = Vec::new();
        let (what, name, completions) = match reference {
            CompletionReference::Prompt { name } => (
                "prompt",
                name,
                self.prompts.get(name).map(|entry| &entry.completions),
            ),
            CompletionReference::Resource { uri } => (
                "resource template",
                uri,
                self.templates
                    .get(uri)
                    .or_else(|| {
                        let (entry, variables) = self.matching(uri)?;
                        // The other variables of the address are as good as arguments filled in earlier.
                        known = variables
                            .into_iter()
                            .filter(|(name, _)| *name != argument)
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect();
                        Some(entry)
                    })
                    .map(|entry| &entry.completions),
            ),
        };
        // A resource with an address of its own has nothing to complete.
        let Some(completions) = completions else {
            return Err(ErrorObject::invalid_params(format!(
                "unknown {what} `{name}`"
            )));
        };
        let completer = completions.find(argument).cloned().ok_or_else(|| {
            let names: Vec<_> = completions
                .names()
                .map(|name| format!("`{name}`"))
                .collect();
            ErrorObject::invalid_params(if names.is_empty() {
                format!("{what} `{name}` has no argument `{argument}`; it has none")
            } else {
                format!(
                    "{what} `{name}` has no argument `{argument}`; it has {}",
                    names.join(", ")
                )
            })
        })?;
        Ok(Completing { completer, known })
    }

    /// The names of what is enabled, in order.
    pub(crate) fn names(&self, list: List) -> Vec<String> {
        fn names<E: Entry>(table: &Table<E>) -> Vec<String> {
            table
                .visible()
                .map(|slot| slot.entry.found_by().to_owned())
                .collect()
        }
        match list {
            List::Tools => names(&self.tools),
            List::Prompts => names(&self.prompts),
            List::Resources => names(&self.resources),
            List::Templates => names(&self.templates),
        }
    }

    /// Whether tools are offered: there are some, enabled or not, or were, or may come.
    pub(crate) fn has_tools(&self) -> bool {
        self.offers(List::Tools)
    }

    /// Whether prompts are offered.
    pub(crate) fn has_prompts(&self) -> bool {
        self.offers(List::Prompts)
    }

    /// Whether resources or templates are offered.
    pub(crate) fn has_resources(&self) -> bool {
        self.offers(List::Resources) || self.offers(List::Templates)
    }

    fn offers(&self, list: List) -> bool {
        self.offered.get(list as usize).copied().unwrap_or_default()
    }

    /// Offers the lists in which there is something.
    pub(super) fn offer_what_is_there(&mut self) {
        let there = [
            (List::Tools, !self.tools.slots().is_empty()),
            (List::Prompts, !self.prompts.slots().is_empty()),
            (List::Resources, !self.resources.slots().is_empty()),
            (List::Templates, !self.templates.slots().is_empty()),
        ];
        for (list, there) in there {
            if let Some(offered) = self.offered.get_mut(list as usize) {
                *offered |= there;
            }
        }
    }

    /// Whether any argument of a prompt or template completes.
    pub(crate) fn has_completers(&self) -> bool {
        self.prompts
            .slots()
            .iter()
            .any(|slot| slot.entry.completions.any())
            || self
                .templates
                .slots()
                .iter()
                .any(|slot| slot.entry.completions.any())
    }
}

/// The names of what is enabled, as many as are compared with one that is not known.
fn first_names<E: Entry>(table: &Table<E>) -> impl Iterator<Item = &str> {
    const MOST: usize = 1_000;
    table.visible().take(MOST).map(|slot| slot.entry.found_by())
}

fn after<E: Entry>(list: List, slot: &Slot<E>) -> String {
    Cursor {
        list,
        place: Place::After(Mark::new(&slot.key, slot.entry.found_by())),
    }
    .encode()
}

/// A template and the variables with which it gives an address.
type Matching<'a> = (&'a Arc<TemplateEntry>, Vec<(&'a str, String)>);
