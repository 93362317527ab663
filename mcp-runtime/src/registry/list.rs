//! The names of the four lists and of their items, in results and in messages.

use crate::context::Capability;
use crate::handler::definition::Kind;

impl Capability {
    /// Returns the list that shows definitions of this kind; `None` for completers.
    pub(super) fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Tool => Some(Self::Tools),
            Kind::Prompt => Some(Self::Prompts),
            Kind::Resource => Some(Self::Resources),
            Kind::ResourceTemplate => Some(Self::Templates),
            Kind::Completer => None,
        }
    }

    /// Returns the name of the list in its result.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the noun for an item in messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }

    /// Returns the noun for the key of an item in messages.
    pub(super) fn key_noun(self) -> &'static str {
        match self {
            Self::Tools => "tool name",
            Self::Prompts => "prompt name",
            Self::Resources => "resource URI",
            Self::Templates => "resource template",
        }
    }
}
