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
/// Callers over stdio are trusted because the user who starts a process already has all of the process's privileges,
/// and because the specification allows servers on stdio to take credentials from the environment. A principal is
/// limited to its scopes on every transport.
///
/// Source: every revision since 2025-03-26, basic/authorization, "Protocol Requirements".
#[derive(Clone, Debug, Default)]
pub struct Caller(CallerKind);

#[derive(Clone, Debug, Default)]
enum CallerKind {
    #[default]
    Anonymous,
    Known(Principal),
    /// `is_shared` is `true` if this value represents all anonymous callers.
    Trusted {
        is_shared: bool,
    },
}

impl Caller {
    /// Returns an anonymous caller.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self(CallerKind::Anonymous)
    }

    /// Returns a caller who has full access, such as the user who started the process.
    #[must_use]
    pub const fn trusted() -> Self {
        Self(CallerKind::Trusted { is_shared: false })
    }

    /// Returns the caller that represents all anonymous callers of a server that trusts them.
    pub(crate) const fn trusted_anonymous() -> Self {
        Self(CallerKind::Trusted { is_shared: true })
    }

    /// Returns `true` if the caller can be distinguished from other callers, because it has credentials or is the user
    /// who started the process.
    pub(crate) const fn is_identified(&self) -> bool {
        matches!(
            self.0,
            CallerKind::Known(_) | CallerKind::Trusted { is_shared: false }
        )
    }

    /// Returns the principal, if the caller has credentials.
    #[must_use]
    pub const fn principal(&self) -> Option<&Principal> {
        match &self.0 {
            CallerKind::Known(principal) => Some(principal),
            CallerKind::Anonymous | CallerKind::Trusted { .. } => None,
        }
    }

    /// Returns `true` if scopes do not apply to the caller.
    #[must_use]
    pub const fn is_trusted(&self) -> bool {
        matches!(self.0, CallerKind::Trusted { .. })
    }

    /// Returns `true` if the caller may use definitions that require this scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        match &self.0 {
            CallerKind::Anonymous => false,
            CallerKind::Known(principal) => principal.has_scope(scope),
            CallerKind::Trusted { .. } => true,
        }
    }

    /// Returns a key that identifies the caller, for use in maps and stores. All anonymous callers share a single key,
    /// the empty string. All trusted callers also share a key. For a principal, the key is [`Principal::key`].
    #[must_use]
    pub fn key(&self) -> &str {
        match &self.0 {
            CallerKind::Anonymous => "",
            // This cannot be a principal's key, because such a key starts with a number.
            CallerKind::Trusted { .. } => "trusted",
            CallerKind::Known(principal) => principal.key(),
        }
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self(CallerKind::Known(principal))
    }
}

/// Converts `None` into an anonymous caller.
impl From<Option<Principal>> for Caller {
    fn from(principal: Option<Principal>) -> Self {
        principal.map_or_else(Self::anonymous, Self::from)
    }
}
