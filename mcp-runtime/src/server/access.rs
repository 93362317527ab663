//! Access control settings: which scopes include others, which scopes a tag requires, and whether anonymous callers are
//! trusted.

use crate::handler::rules;
use crate::server::Server;

impl Server {
    /// Declares that the scope `broad` includes the scopes `narrow` and, transitively, any scopes that those include.
    /// Can be called more than once.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!()
    ///     .scope_implies("notes:write", ["notes:read"])
    ///     .scope_implies("admin", ["notes:write", "users:read"]);
    /// ```
    ///
    /// The declaration applies wherever scopes are checked: in options, in `visible_if` functions, and in the
    /// [`Principal`](crate::Principal) that handlers receive. Start-up fails if a scope is invalid.
    ///
    /// Source: revision 2025-11-25 and later, basic/authorization, "Scope Challenge Handling".
    pub fn scope_implies(
        mut self,
        broad: impl AsRef<str>,
        narrow: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let broad = broad.as_ref();
        self.faults.extend(rules::scope(broad).into_result().err());
        for narrow in narrow {
            let narrow = narrow.as_ref();
            self.faults.extend(rules::scope(narrow).into_result().err());
            self.admission.imply(broad, narrow);
        }
        self
    }

    /// Requires these scopes for every definition with this tag, in addition to any scopes that the definition itself
    /// requires. Can be called more than once.
    ///
    /// Start-up fails if the tag is not used by any definition or if a scope is invalid.
    pub fn require_scopes(
        mut self,
        tag: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        let verdicts = scopes.iter().map(|scope| rules::scope(scope).into_result());
        self.faults.extend(verdicts.filter_map(Result::err));
        self.tag_scopes.push((tag.into(), scopes));
        self
    }

    /// Grants anonymous callers full access, as over standard input and output. Scopes then apply only to callers with
    /// credentials. By default, anonymous callers cannot use definitions that require scopes.
    ///
    /// Use this for a server that can be reached only by callers with full access, such as a server on a single-user
    /// machine or behind a proxy that authenticates callers.
    pub fn trust_anonymous(mut self) -> Self {
        self.admission.trusts_anonymous = true;
        self
    }
}
