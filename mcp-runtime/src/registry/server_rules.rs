//! Rules that a server sets for all of its definitions, including those that are inserted while it runs.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::context::Capability;
use crate::handler::definition::{Definition, Selected};
use crate::handler::tags::TagSelection;
use crate::limits::MessageLimits;
use crate::panics;

type ReservesFn = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The names that a source of tools reserves.
#[derive(Clone)]
pub(crate) struct NameReservation {
    /// The name of the source.
    pub(crate) source: Arc<str>,
    /// Returns the reason why nothing else can have a name.
    pub(crate) reserves: Arc<ReservesFn>,
}

impl fmt::Debug for NameReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NameReservation")
            .field(&self.source)
            .finish()
    }
}

/// The rules that a server sets for all of its definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerRules {
    /// Reserved `_meta` keys defined by the server's extensions.
    pub(crate) meta_keys: Vec<String>,
    /// The scopes that a tag requires, which apply to all definitions with that tag.
    pub(crate) tag_scopes: Vec<(String, Vec<String>)>,
    /// The names that sources of tools reserve.
    pub(crate) reservations: Vec<NameReservation>,
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

    /// Returns an error if a source of tools reserves the name.
    pub(super) fn check_tool_name(&self, name: &str) -> Result<(), String> {
        self.check_name_for(None, name)
    }

    /// Returns an error if a source of tools other than `own` reserves the name.
    pub(crate) fn check_name_for(&self, own: Option<&str>, name: &str) -> Result<(), String> {
        let others = self.reservations.iter();
        let mut others = others.filter(|other| own != Some(&*other.source));
        others.try_for_each(|other| match panics::catch(|| (other.reserves)(name)) {
            Ok(None) => Ok(()),
            Ok(Some(reason)) => Err(reason),
            Err(panic) => {
                let source = &other.source;
                Err(format!(
                    "the tool source `{source}` panicked when it was asked whether it reserves the name: {panic}"
                ))
            }
        })
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
