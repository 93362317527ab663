//! A snapshot as seen by a particular caller. Items that are hidden from the caller or whose tags the request does not
//! select do not appear in this view or in its suggestions.
//!
//! If the caller lacks scopes that a visible item requires, the item is omitted from lists, and a request for it is
//! rejected with an error that names the required scopes. List pages are implemented in `lists`, and selections in
//! `select`.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use mcp_schema::suggest::closest;

use super::Snapshot;
use crate::context::{Caller, Capability};
use crate::handler::tags::TagSelection;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{ProtocolVersion, errors};
use crate::registry::callable::{Callable, ItemDetails};
use crate::registry::complete::RequestedCompleter;
use crate::registry::table::CallableTable;
use crate::types::CompletionReference;

/// A snapshot as seen by a particular caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallerView<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) caller: &'a Caller,
    /// The definitions that the request selects, or `None` if it selects all of them.
    pub(super) selection: Option<&'a TagSelection>,
}

impl<'a> CallerView<'a> {
    /// Returns a view that contains only the selected definitions.
    pub(crate) fn narrowed_to(self, selection: Option<&'a TagSelection>) -> Self {
        Self { selection, ..self }
    }

    /// Returns the caller.
    pub(crate) const fn caller(&self) -> &'a Caller {
        self.caller
    }

    /// Returns `true` if other requests may see a different list.
    pub(crate) fn is_filtered(&self, list: Capability) -> bool {
        self.selection.is_some() || self.snapshot.is_restricted(list)
    }

    /// Returns `true` if the definition exists for this request, although the caller may lack the required scopes.
    pub(crate) fn shows(&self, callable: &Callable) -> bool {
        self.is_selected(callable) && callable.access.is_visible_to(self.caller)
    }

    /// Returns `true` if the request may use the definition.
    pub(crate) fn permits(&self, callable: &Callable) -> bool {
        self.is_selected(callable) && callable.access.is_usable_by(self.caller)
    }

    /// Returns the tool with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller cannot see a tool with this name or lacks required scopes.
    pub(crate) fn tool(&self, name: &str) -> Result<&'a Arc<Callable>, ErrorObject> {
        self.find_usable(&self.snapshot.tools, name, errors::unknown_tool)
    }

    /// Returns `true` if the registry has a tool with this name, even if nobody may use it.
    pub(crate) fn has_tool_named(&self, name: &str) -> bool {
        self.snapshot.tools.has(name)
    }

    /// Returns the error for a tool that the caller cannot see, with a similar name that it may use.
    pub(crate) fn unknown_tool(&self, name: &str) -> ErrorObject {
        errors::unknown_tool(name, self.similar_name(&self.snapshot.tools, name))
    }

    /// Returns the tool with this name, or `None` if the caller cannot see such a tool. Does not search for similar
    /// names.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks required scopes.
    #[inline]
    pub(crate) fn visible_tool(
        &self,
        name: &str,
    ) -> Result<Option<&'a Arc<Callable>>, ErrorObject> {
        let tool = self.find_visible(&self.snapshot.tools, name);
        tool.map(|tool| self.check_scopes(tool)).transpose()
    }

    /// Returns `true` if the caller may reach what calls to the tool with this name have left: tasks, jobs and kept
    /// results. Returns `false` if it must be told that there is no such thing.
    ///
    /// This is the decision that a call would get, except that a disabled tool only refuses new calls. The access rules of
    /// a removed tool are gone with it, so callers with credentials cannot reach what it has left, because one of their
    /// tokens may allow less than another. Callers without credentials all have the same rights as the one whose call it
    /// was. Tags do not matter, because clients choose them.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks required scopes.
    pub(crate) fn may_reach_work_of(&self, tool: &str) -> Result<bool, ErrorObject> {
        let Some(tool) = self.snapshot.tools.get_even_disabled(tool) else {
            return Ok(self.caller.principal().is_none());
        };
        if !tool.access.is_visible_to(self.caller) {
            return Ok(false);
        }
        self.check_scopes(tool).map(|_| true)
    }

    /// Returns the tools that the request may use, in the order of the list.
    pub(crate) fn tools(self) -> impl Iterator<Item = &'a Arc<Callable>> {
        let callables = self.snapshot.tools.visible().map(|slot| &slot.callable);
        callables.filter(move |callable| self.permits(callable))
    }

    /// Returns the prompt with this name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`tool`](Self::tool), but for a prompt.
    pub(crate) fn prompt(&self, name: &str) -> Result<&'a Arc<Callable>, ErrorObject> {
        self.find_usable(&self.snapshot.prompts, name, errors::unknown_prompt)
    }

    #[inline]
    fn find_usable(
        &self,
        table: &'a CallableTable,
        name: &str,
        unknown: impl Fn(&str, Option<&str>) -> ErrorObject,
    ) -> Result<&'a Arc<Callable>, ErrorObject> {
        let Some(callable) = self.find_visible(table, name) else {
            return Err(unknown(name, self.similar_name(table, name)));
        };
        self.check_scopes(callable)
    }

    /// Returns the tool with this name if the caller may use it.
    pub(crate) fn usable_tool(&self, name: &str) -> Option<&'a Arc<Callable>> {
        self.find_visible(&self.snapshot.tools, name)
            .filter(|callable| self.permits(callable))
    }

    /// Returns the resource with an equivalent URI or, failing that, the most specific matching template, along with its
    /// arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller cannot see such a resource or template, or lacks required scopes. The error has
    /// the form that `version` requires.
    pub(crate) fn resource_at(
        &self,
        uri: &str,
        version: ProtocolVersion,
    ) -> Result<(&'a Arc<Callable>, Cow<'static, str>), ErrorObject> {
        let key = Capability::Resources.lookup_key(uri);
        if let Some(resource) = self.find_visible(&self.snapshot.resources, &key) {
            return Ok((self.check_scopes(resource)?, "{}".into()));
        }
        let (template, variables) = self
            .matching_template(&key)
            .ok_or_else(|| errors::resource_not_found(version, uri))?;
        let variables = variables.iter().map(|(name, value)| (*name, &**value));
        let arguments = self.check_scopes(template)?.arguments(variables);
        Ok((template, arguments.into()))
    }

    /// Returns the completer for an argument.
    ///
    /// # Errors
    ///
    /// Returns error -32602 if the caller cannot see such a prompt or template, or if the prompt or template has no
    /// such argument. Also returns an error if the caller lacks required scopes.
    pub(crate) fn completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<RequestedCompleter, ErrorObject> {
        let mut known = Vec::new();
        let name = reference.target();
        let (what, target) = if reference.is_prompt() {
            ("prompt", self.find_visible(&self.snapshot.prompts, name))
        } else {
            let key = Capability::Templates.lookup_key(name);
            let template = self
                .find_visible(&self.snapshot.templates, &key)
                .or_else(|| {
                    let (template, variables) = self.matching_template(&key)?;
                    // The other variables of the URI are treated as arguments that have already been filled in.
                    known = variables
                        .into_iter()
                        .filter(|(name, _)| *name != argument)
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect();
                    Some(template)
                });
            ("resource template", template)
        };
        // A resource without variables has no arguments to complete.
        let Some(target) = target else {
            return Err(ErrorObject::invalid_params(format!(
                "unknown {what} `{name}`"
            )));
        };
        let completions = &self.check_scopes(target)?.completions;
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
        Ok(RequestedCompleter { completer, known })
    }

    /// Returns the callable with this name, if it is served and visible to the caller.
    fn find_visible(&self, table: &'a CallableTable, name: &str) -> Option<&'a Arc<Callable>> {
        table.get(name).filter(|callable| self.shows(callable))
    }

    /// Returns the callable unless the caller lacks scopes that it requires.
    fn check_scopes<'c>(
        &self,
        callable: &'c Arc<Callable>,
    ) -> Result<&'c Arc<Callable>, ErrorObject> {
        callable.access.check_scopes(self.caller)?;
        Ok(callable)
    }

    /// Returns the most specific enabled template that matches a URI in its normal form and is visible to the caller,
    /// along with its variables.
    fn matching_template(&self, uri: &str) -> Option<TemplateMatch<'a>> {
        let templates = self.snapshot.templates.visible();
        let matching = templates.filter_map(|slot| match &slot.callable.details {
            ItemDetails::Template { pattern, .. } => {
                let variables = pattern.matches(uri)?;
                Some((&slot.callable, pattern.specificity(), variables))
            }
            _ => None,
        });
        matching
            .filter(|(callable, ..)| self.shows(callable))
            // If several templates are equally specific, the first of them is used.
            .min_by_key(|(_, specificity, _)| Reverse(*specificity))
            .map(|(callable, _, variables)| (callable, variables))
    }

    /// Returns a similar name that the caller may use, chosen from the first callables in the table.
    fn similar_name(&self, table: &'a CallableTable, name: &str) -> Option<&'a str> {
        const MAX: usize = 1_000;
        let callables = table.visible().take(MAX).map(|slot| &slot.callable);
        let usable = callables.filter(|callable| self.permits(callable));
        closest(name, usable.map(|callable| &*callable.name))
    }
}

/// A template, and the variables for which it expands to the URI.
type TemplateMatch<'a> = (&'a Arc<Callable>, Vec<(&'a str, String)>);
