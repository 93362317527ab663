//! Rules that a server sets for all of its definitions, including those that are inserted while it runs.

use std::borrow::Cow;

use crate::context::Capability;
use crate::handler::definition::{Definition, Selected};
use crate::handler::spill::READ_RESULT;
use crate::handler::tags::TagSelection;
use crate::handler::task_options::{JOB_CANCEL, JOB_STATUS};
use crate::handler::tool_search::ToolSearch;
use crate::limits::MessageLimits;

/// The rules that a server sets for all of its definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerRules {
    /// Reserved `_meta` keys defined by the server's extensions.
    pub(crate) meta_keys: Vec<String>,
    /// The scopes that a tag requires, which apply to all definitions with that tag.
    pub(crate) tag_scopes: Vec<(String, Vec<String>)>,
    /// `true` if the server adds the tools that search for and call other tools.
    pub(crate) searches_tools: bool,
    /// `true` if the server adds the tools that clients without task support use to manage tasks.
    pub(crate) has_job_tools: bool,
    /// `true` if the server adds the tool for reading results that are kept.
    pub(crate) has_read_result: bool,
    /// The selection of definitions to serve, or `None` to serve all of them.
    pub(crate) selection: Option<TagSelection>,
    /// The limits on messages, which also apply to JSON inside strings.
    pub(crate) message_limits: MessageLimits,
    /// Tags and their descriptions for models.
    pub(crate) tag_descriptions: Vec<(String, String)>,
    /// Prefixes of names, each with the functions whose names have it.
    pub(crate) prefixes: Vec<(String, Vec<Selected>)>,
}

impl ServerRules {
    /// Returns the key by which requests look up a definition on this server: the URI of a resource or template in its
    /// normal form, and the name of any other definition, with its prefix.
    pub(super) fn lookup_key(&self, definition: &Definition) -> Cow<'static, str> {
        let key = definition.lookup_key();
        let mut prefixes = self.prefixes.iter();
        let prefix = prefixes.find(|(_, functions)| {
            let mut functions = functions.iter();
            functions.any(|selected| selected.function == definition.function)
        });
        match prefix {
            Some((prefix, _)) if definition.kind.has_name_for_clients() => {
                format!("{prefix}{key}").into()
            }
            _ => match Capability::of_kind(definition.kind) {
                Some(list) => list.lookup_key(key),
                None => key.into(),
            },
        }
    }

    /// Returns an error if the name is taken by one of the server's built-in tools.
    pub(super) fn check_tool_name(&self, name: &str) -> Result<(), String> {
        if self.searches_tools && ToolSearch::is_name(name) {
            return Err(
                "this name is used by a tool that `Server::tool_search` adds; choose another"
                    .to_owned(),
            );
        }
        if self.has_job_tools && [JOB_STATUS, JOB_CANCEL].contains(&name) {
            return Err(
                "this name is used by a tool that is added to servers with a `task` tool; choose another, or set \
                 `limits.tasks.patience` to `Duration::MAX`"
                    .to_owned(),
            );
        }
        if self.has_read_result && name == READ_RESULT {
            return Err(
                "this name is used by a tool that is added to servers with a `spill` tool; choose another"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Returns the tags that have a description, which are valid even while no definition has them.
    pub(crate) fn described_tags(&self) -> impl Iterator<Item = &str> {
        self.tag_descriptions.iter().map(|(tag, _)| tag.as_str())
    }

    /// Returns the scopes that these tags require.
    pub(super) fn scopes<'r>(&'r self, tags: &'r [Box<str>]) -> impl Iterator<Item = &'r String> {
        let required = self.tag_scopes.iter();
        let required = required.filter(|(tag, _)| tags.iter().any(|known| **known == **tag));
        required.flat_map(|(_, scopes)| scopes)
    }
}
