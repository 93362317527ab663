//! How a server is protected.

use std::fmt;
use std::sync::Arc;

use super::{Authenticator, Url};

/// How a server is protected: by which address it is known, who checks tokens, where clients get them.
///
/// Each request then needs an access token in its header `Authorization: Bearer …`. One without is answered 401, which says
/// where the metadata of the server is (RFC 9728); clients learn from it where to get a token, and for which scopes. See
/// `docs/authorization.md`.
///
/// Requests to the host of the address are let in, as with
/// [`HttpOptions::allow_host`](crate::transport::HttpOptions::allow_host).
#[derive(Clone)]
#[must_use]
pub struct Protected {
    pub(crate) resource: String,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) servers: Vec<String>,
    pub(crate) required: Vec<String>,
    pub(crate) supported: Option<Vec<String>>,
    pub(crate) origin_metadata: Option<String>,
}

impl Protected {
    /// Clients know the server by the address `resource`, path included: `https://mcp.example.com/mcp`. Tokens are issued for
    /// it, and `authenticator` checks them.
    ///
    /// Over HTTPS, or over HTTP on this machine; without a fragment.
    pub fn new(resource: impl Into<String>, authenticator: impl Authenticator) -> Self {
        Self {
            resource: resource.into(),
            authenticator: Arc::new(authenticator),
            servers: Vec::new(),
            required: Vec::new(),
            supported: None,
            origin_metadata: None,
        }
    }

    /// Where clients get tokens: the issuer of an authorization server. May be repeated. Default: that of the authenticator.
    ///
    /// Without any there is no metadata, and people have to give their clients tokens by hand.
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Self {
        self.servers.push(issuer.into());
        self
    }

    /// Scopes that every request needs, whatever it asks for. Clients are told to ask for these first. Default: none.
    pub fn require(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.required = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The scopes that clients are told of: `scopes_supported` of the metadata. Default: those that any definition needs, and
    /// those that every request does. `offline_access` is never among them.
    pub fn scopes_supported(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.supported = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// For clients of 2025-03-26, which look for the metadata of the authorization server at the origin of this one: they are
    /// sent on to this address, such as `https://login.example.com/.well-known/oauth-authorization-server`. Default: nothing
    /// is there.
    pub fn origin_metadata(mut self, address: impl Into<String>) -> Self {
        self.origin_metadata = Some(address.into());
        self
    }

    /// The issuers that clients are told of.
    pub(crate) fn issuers(&self) -> Vec<&str> {
        if self.servers.is_empty() {
            self.authenticator.issuer().into_iter().collect()
        } else {
            self.servers.iter().map(String::as_str).collect()
        }
    }

    /// What is wrong with it, in a sentence each.
    pub(crate) fn faults(&self) -> Vec<String> {
        let addresses = [("resource", &self.resource)]
            .into_iter()
            .chain(
                self.servers
                    .iter()
                    .map(|server| ("authorization server", server)),
            )
            .chain(
                self.origin_metadata
                    .iter()
                    .map(|at| ("origin metadata", at)),
            );
        let addresses = addresses.filter_map(|(what, address)| {
            let fault = Url::parse(address).err()?;
            Some(format!("the {what} `{address}` {fault}"))
        });
        let scopes = self.required.iter().chain(self.supported.iter().flatten());
        let scopes = scopes.filter(|scope| !is_scope(scope));
        let scopes = scopes.map(|scope| format!("`{scope}` is no scope"));
        let mut faults = self.authenticator.faults();
        faults.extend(addresses.chain(scopes));
        faults
    }
}

/// Whether it is a scope: one or more characters of ASCII, without blanks, quotation marks and backslashes.
pub(crate) fn is_scope(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.bytes().all(is_plain)
}

impl fmt::Debug for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protected")
            .field("resource", &self.resource)
            .field("authorization_servers", &self.issuers())
            .field("require", &self.required)
            .finish_non_exhaustive()
    }
}
