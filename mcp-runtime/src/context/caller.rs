//! Who calls, as rules about who may do what see it.

use crate::context::Principal;

/// Who calls, as far as rules about who may do what are concerned: what a function for `visible_if` decides by.
///
/// ```
/// use mcp_runtime::Caller;
///
/// /// For `#[tool(visible_if = is_staff)]`.
/// fn is_staff(caller: &Caller) -> bool {
///     caller.is_trusted() || caller.principal().is_some_and(|who| who.claims().contains_key("staff"))
/// }
/// ```
///
/// | Caller | When | Scopes |
/// |---|---|---|
/// | trusted | standard input and output, a client in the same process, [`Connection::trusted`](crate::transport::Connection::trusted) | do not apply: has them all |
/// | a [`Principal`] | credentials were checked, whatever the transport | those that were granted, and what they imply ([`Server::scope_implies`](crate::Server::scope_implies)) |
/// | anonymous | everybody else | none |
///
/// Whoever starts a process has its rights already, and the specification lets servers on stdio take credentials from the
/// environment: hence trusted. A principal is never more than its scopes, whatever carries it.
///
/// Source: every revision since 2025-03-26, basic/authorization, "Protocol Requirements".
#[derive(Clone, Debug, Default)]
pub struct Caller(Standing);

#[derive(Clone, Debug, Default)]
enum Standing {
    #[default]
    Anonymous,
    Known(Principal),
    Trusted,
}

impl Caller {
    /// Somebody of whom nothing is known.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self(Standing::Anonymous)
    }

    /// Somebody who may do everything, such as whoever started the process.
    #[must_use]
    pub const fn trusted() -> Self {
        Self(Standing::Trusted)
    }

    /// Who it is, if that is known from credentials.
    #[must_use]
    pub const fn principal(&self) -> Option<&Principal> {
        match &self.0 {
            Standing::Known(principal) => Some(principal),
            Standing::Anonymous | Standing::Trusted => None,
        }
    }

    /// Whether scopes do not apply.
    #[must_use]
    pub const fn is_trusted(&self) -> bool {
        matches!(self.0, Standing::Trusted)
    }

    /// Whether they may do what needs this scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        match &self.0 {
            Standing::Anonymous => false,
            Standing::Known(principal) => principal.has_scope(scope),
            Standing::Trusted => true,
        }
    }

    /// What tells callers apart. All who are anonymous are the same, and all who are trusted.
    pub(crate) fn key(&self) -> &str {
        match &self.0 {
            Standing::Anonymous => "",
            // The key of a principal begins with a number.
            Standing::Trusted => "trusted",
            Standing::Known(principal) => principal.key(),
        }
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self(Standing::Known(principal))
    }
}

/// Without a principal: anonymous.
impl From<Option<Principal>> for Caller {
    fn from(principal: Option<Principal>) -> Self {
        principal.map_or_else(Self::anonymous, Self::from)
    }
}
