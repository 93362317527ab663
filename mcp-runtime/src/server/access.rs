//! What the author says of callers: which scopes come with others, and whether strangers are trusted.

use crate::handler::rules;
use crate::server::Server;

impl Server {
    /// Whoever has the scope `broad` has these as well, and what they imply in turn. May be repeated.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!()
    ///     .scope_implies("notes:write", ["notes:read"])
    ///     .scope_implies("admin", ["notes:write", "users:read"]);
    /// ```
    ///
    /// Holds wherever scopes are asked for: options, functions for `visible_if`, and the [`Principal`](crate::Principal)
    /// that handlers see. A scope that no credentials can hold is an error at start-up.
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

    /// Every definition of this group needs these scopes, besides those it names itself. May be repeated.
    ///
    /// A group that no definition has is an error at start-up, and so is a scope that no credentials can hold.
    pub fn require_scopes(
        mut self,
        group: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        let verdicts = scopes.iter().map(|scope| rules::scope(scope).into_result());
        self.faults.extend(verdicts.filter_map(Result::err));
        self.group_scopes.push((group.into(), scopes));
        self
    }

    /// Callers of whom nothing is known may do everything, as on standard input and output: scopes apply only to those with
    /// credentials. Default: they may do nothing that needs a scope.
    ///
    /// For servers that only those reach who may do everything, such as on a machine of one person, or behind something
    /// that checks callers and passes on those it knows.
    pub fn trust_anonymous(mut self) -> Self {
        self.admission.trusts_anonymous = true;
        self
    }
}
