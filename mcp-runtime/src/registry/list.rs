//! The names of the four lists and their items, as used in results and messages.

use std::borrow::Cow;

use mcp_schema::template::normal_uri;

use crate::context::Capability;
use crate::handler::definition::Kind;

impl Capability {
    /// Returns the list in which definitions of this kind appear, or `None` for completers.
    pub(super) fn of_kind(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Tool => Some(Self::Tools),
            Kind::Prompt => Some(Self::Prompts),
            Kind::Resource => Some(Self::Resources),
            Kind::ResourceTemplate => Some(Self::Templates),
            Kind::Completer | Kind::ExtensionMethod => None,
        }
    }

    /// Returns the name of the member that holds the list in its result.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the noun that messages use for an item.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }

    /// Returns the noun that messages use for the key of an item.
    pub(super) fn key_noun(self) -> &'static str {
        match self {
            Self::Tools => "tool name",
            Self::Prompts => "prompt name",
            Self::Resources => "resource URI",
            Self::Templates => "resource template",
        }
    }

    /// Returns the form of a definition's name by which it is found in this list: equivalent URIs find the same
    /// definition.
    pub(crate) fn lookup_key(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::Tools | Self::Prompts => name.into(),
            Self::Resources | Self::Templates => normal_uri(name),
        }
    }
}
