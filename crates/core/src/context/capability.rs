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
    /// Returns the notification that announces a change. Templates and resources share a notification.
    pub(crate) fn list_kind(self) -> ListKind {
        match self {
            Self::Tools => ListKind::Tools,
            Self::Prompts => ListKind::Prompts,
            Self::Resources | Self::Templates => ListKind::Resources,
        }
    }
}
