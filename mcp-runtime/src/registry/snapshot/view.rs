//! A snapshot as one caller sees it: items hidden from the caller do not exist here, nor in suggestions.
//!
//! A visible item that requires scopes the caller lacks is omitted from lists; a request for it is refused with the scopes it
//! requires. The pages of lists are in `lists`.

use std::cmp::Reverse;
use std::sync::Arc;

use mcp_schema::suggest::closest;

use super::Snapshot;
use super::readable::{Readable, ReadableEntry};
use crate::context::Caller;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{ProtocolVersion, errors};
use crate::registry::complete::Completing;
use crate::registry::entry::{ListEntry, PromptEntry, TemplateEntry, ToolEntry};
use crate::registry::table::EntryTable;
use crate::types::CompletionReference;

/// A snapshot as one caller sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) caller: &'a Caller,
}

impl<'a> View<'a> {
    /// Returns the tool with this name.
    ///
    /// # Errors
    ///
    /// If there is none that the caller sees, or the caller lacks scopes.
    pub(crate) fn tool(&self, name: &str) -> Result<&'a Arc<ToolEntry>, ErrorObject> {
        let tools = &self.snapshot.tools;
        self.find(tools, name)
            .ok_or_else(|| errors::unknown_tool(name, self.like(tools, name)))
            .and_then(|entry| self.checked(entry))
    }

    /// Returns the prompt with this name.
    ///
    /// # Errors
    ///
    /// As for [`tool`](Self::tool).
    pub(crate) fn prompt(&self, name: &str) -> Result<&'a Arc<PromptEntry>, ErrorObject> {
        let prompts = &self.snapshot.prompts;
        self.find(prompts, name)
            .ok_or_else(|| errors::unknown_prompt(name, self.like(prompts, name)))
            .and_then(|entry| self.checked(entry))
    }

    /// Returns the tool with this name, if the caller may use it.
    #[cfg(feature = "http")]
    pub(crate) fn usable_tool(&self, name: &str) -> Option<&'a Arc<ToolEntry>> {
        self.find(&self.snapshot.tools, name)
            .filter(|entry| entry.access.is_open_to(self.caller))
    }

    /// Returns the resource with this URI, or else the most specific template that matches.
    ///
    /// # Errors
    ///
    /// If there is none that the caller sees, in the form of `version`, or the caller lacks scopes.
    pub(crate) fn read(
        &self,
        uri: &str,
        version: ProtocolVersion,
    ) -> Result<Readable, ErrorObject> {
        if let Some(entry) = self.find(&self.snapshot.resources, uri) {
            self.checked(entry)?;
            return Ok(Readable {
                source: ReadableEntry::Resource(Arc::clone(entry)),
                arguments: "{}".into(),
            });
        }
        let (entry, variables) = self
            .matching(uri)
            .ok_or_else(|| errors::resource_not_found(version, uri))?;
        self.checked(entry)?;
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
        Ok(Readable {
            source: ReadableEntry::Template(Arc::clone(entry)),
            arguments,
        })
    }

    /// Returns the completer of an argument.
    ///
    /// # Errors
    ///
    /// -32602 if the caller sees no such prompt or template, or it has no such argument; also if the caller lacks scopes.
    pub(crate) fn completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<Completing, ErrorObject> {
        let mut known = Vec::new();
        let name = reference.target();
        let (what, completions) = if reference.is_prompt() {
            let entry = self.find(&self.snapshot.prompts, name);
            let entry = entry.map(|entry| self.checked(entry)).transpose()?;
            ("prompt", entry.map(|entry| &entry.completions))
        } else {
            let entry = self.find(&self.snapshot.templates, name).or_else(|| {
                let (entry, variables) = self.matching(name)?;
                // The other variables of the URI count as arguments filled in earlier.
                known = variables
                    .into_iter()
                    .filter(|(name, _)| *name != argument)
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                Some(entry)
            });
            let entry = entry.map(|entry| self.checked(entry)).transpose()?;
            let completions = entry.map(|entry| &entry.completions);
            ("resource template", completions)
        };
        // A resource without variables has nothing to complete.
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
                format!("{what} `{name}` has no argument `{argument}`; it has no arguments")
            } else {
                format!(
                    "{what} `{name}` has no argument `{argument}`; it has {}",
                    names.join(", ")
                )
            })
        })?;
        Ok(Completing { completer, known })
    }

    /// Returns the enabled entry with this name, if it is visible to the caller.
    fn find<E: ListEntry>(&self, table: &'a EntryTable<E>, name: &str) -> Option<&'a Arc<E>> {
        table
            .get(name)
            .filter(|entry| entry.access().is_visible_to(self.caller))
    }

    /// Returns the entry, unless the caller lacks scopes for it.
    fn checked<'e, E: ListEntry>(&self, entry: &'e Arc<E>) -> Result<&'e Arc<E>, ErrorObject> {
        entry.access().check_scopes(self.caller)?;
        Ok(entry)
    }

    /// Returns the most specific enabled template that matches and is visible to the caller, and its variables.
    fn matching(&self, uri: &str) -> Option<Matching<'a>> {
        self.snapshot
            .templates
            .visible()
            .filter_map(|slot| Some((&slot.entry, slot.entry.pattern.matches(uri)?)))
            .filter(|(entry, _)| entry.access.is_visible_to(self.caller))
            // Of equally specific templates, the first in order.
            .min_by_key(|(entry, _)| Reverse(entry.pattern.specificity()))
    }

    /// Returns a similar name that the caller may use, among the first entries of the table.
    fn like<E: ListEntry>(&self, table: &'a EntryTable<E>, name: &str) -> Option<&'a str> {
        const MOST: usize = 1_000;
        let entries = table.visible().take(MOST).map(|slot| &slot.entry);
        let usable = entries.filter(|entry| entry.access().is_open_to(self.caller));
        closest(name, usable.map(|entry| entry.found_by()))
    }
}

/// A template, and the variables with which it expands to a URI.
type Matching<'a> = (&'a Arc<TemplateEntry>, Vec<(&'a str, String)>);
