//! The caller, as seen by access rules.

use crate::context::Principal;

/// The caller of a request, as seen by access rules such as `visible_if` functions.
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
/// | trusted | standard input and output, a client in the same process, [`Connection::trusted`](crate::transport::Connection::trusted) | not checked; the caller has all scopes |
/// | a [`Principal`] | credentials were checked, on any transport | the granted scopes, and any scopes that they include ([`Server::scope_implies`](crate::Server::scope_implies)) |
/// | anonymous | all other callers | none |
///
/// Callers over stdio are trusted because the user who starts a process already has all of its privileges, and because
/// the specification lets servers on stdio take credentials from the environment. A principal is limited to its scopes
/// on every transport.
///
/// Source: every revision since 2025-03-26, basic/authorization, "Protocol Requirements".
#[derive(Clone, Debug, Default)]
pub struct Caller(Standing);

#[derive(Clone, Debug, Default)]
enum Standing {
    #[default]
    Anonymous,
    Known(Principal),
    /// `is_shared` is `true` if all anonymous callers have this standing.
    Trusted {
        is_shared: bool,
    },
}

impl Caller {
    /// Returns an anonymous caller.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self(Standing::Anonymous)
    }

    /// Returns a caller who has full access, such as the user who started the process.
    #[must_use]
    pub const fn trusted() -> Self {
        Self(Standing::Trusted { is_shared: false })
    }

    /// Returns the caller that represents all anonymous callers of a server that trusts them.
    pub(crate) const fn trusted_anonymous() -> Self {
        Self(Standing::Trusted { is_shared: true })
    }

    /// Returns `true` if the caller can be distinguished from others, because it has credentials or is the user who
    /// started the process.
    pub(crate) const fn is_identified(&self) -> bool {
        matches!(
            self.0,
            Standing::Known(_) | Standing::Trusted { is_shared: false }
        )
    }

    /// Returns the principal, if the caller has credentials.
    #[must_use]
    pub const fn principal(&self) -> Option<&Principal> {
        match &self.0 {
            Standing::Known(principal) => Some(principal),
            Standing::Anonymous | Standing::Trusted { .. } => None,
        }
    }

    /// Returns `true` if scopes do not apply to the caller.
    #[must_use]
    pub const fn is_trusted(&self) -> bool {
        matches!(self.0, Standing::Trusted { .. })
    }

    /// Returns `true` if the caller may use definitions that require this scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        match &self.0 {
            Standing::Anonymous => false,
            Standing::Known(principal) => principal.has_scope(scope),
            Standing::Trusted { .. } => true,
        }
    }

    /// Returns a key that identifies the caller, for use in maps and stores. All anonymous callers share one key, the
    /// empty string, and so do all trusted callers. For a principal, it is [`Principal::key`].
    #[must_use]
    pub fn key(&self) -> &str {
        match &self.0 {
            Standing::Anonymous => "",
            // This cannot be a principal's key, because such a key starts with a number.
            Standing::Trusted { .. } => "trusted",
            Standing::Known(principal) => principal.key(),
        }
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self(Standing::Known(principal))
    }
}

/// Converts `None` into an anonymous caller.
impl From<Option<Principal>> for Caller {
    fn from(principal: Option<Principal>) -> Self {
        principal.map_or_else(Self::anonymous, Self::from)
    }
}
