//! The lists that a server declares as capabilities.

use crate::protocol::encode::ListKind;

/// A list of definitions that clients can read page by page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl Capability {
    /// All of them.
    #[doc(hidden)]
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the name of the member that identifies an item.
    #[doc(hidden)]
    #[must_use]
    pub const fn item_key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Returns the method that lists the items.
    #[doc(hidden)]
    #[must_use]
    pub const fn list_method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// Returns the member of the server's capabilities that includes the list.
    #[doc(hidden)]
    #[must_use]
    pub const fn server_member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

impl Capability {
    /// Returns the notification that announces a change. Templates and resources share a notification.
    pub(crate) fn list_kind(self) -> ListKind {
        match self {
            Self::Tools => ListKind::Tools,
            Self::Prompts => ListKind::Prompts,
            Self::Resources | Self::Templates => ListKind::Resources,
        }
    }
}
