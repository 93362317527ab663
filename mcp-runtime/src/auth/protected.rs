//! Configures how a server is protected.

use std::fmt;
use std::sync::Arc;

use super::{Authenticator, Url};
use crate::handler::rules;

/// Settings for protecting a server: its URL, the authenticator that checks tokens, and the authorization servers that
/// issue them.
///
/// A protected server requires each request to include an access token in its `Authorization: Bearer …` header. A
/// request without a token is answered with 401 and the location of the server's metadata (RFC 9728), from which
/// clients learn where to get a token and which scopes to request. See [Authorization](crate::guide::authorization).
///
/// Requests to the URL's host are allowed, as with [`HttpOptions::allow_host`](crate::http::HttpOptions::allow_host).
#[derive(Clone)]
#[must_use]
pub struct ProtectedResource {
    pub(crate) resource: String,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) servers: Vec<String>,
    pub(crate) required: Vec<String>,
    pub(crate) supported: Option<Vec<String>>,
    pub(crate) origin_metadata: Option<String>,
}

impl ProtectedResource {
    /// Protects the server at the URL `resource`, as clients know it, including its path, such as
    /// `https://mcp.example.com/mcp`. Tokens are issued for this URL and checked by `authenticator`.
    ///
    /// The URL must be an HTTPS URL, or an HTTP URL on this machine, without a fragment.
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

    /// Adds an authorization server, identified by its issuer, from which clients can get tokens. Can be called more
    /// than once. Defaults to the authenticator's issuer.
    ///
    /// Without an authorization server, metadata is not served, and users must enter their tokens into their clients by
    /// hand.
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Self {
        self.servers.push(issuer.into());
        self
    }

    /// Sets the scopes that every request needs. Clients are advised to request these scopes first. By default, no
    /// scopes are required.
    pub fn require_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.required = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the scopes that are announced to clients as `scopes_supported` in the metadata. Defaults to every scope
    /// that is required by all requests or by at least one definition. `offline_access` is never announced.
    pub fn scopes_supported(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.supported = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the URL to which clients that use protocol version 2025-03-26 are redirected, such as
    /// `https://login.example.com/.well-known/oauth-authorization-server`. These clients look for the authorization
    /// server's metadata at this server's origin. By default, such requests are not redirected.
    pub fn origin_metadata(mut self, url: impl Into<String>) -> Self {
        self.origin_metadata = Some(url.into());
        self
    }

    /// Returns the issuers that are announced to clients.
    pub(crate) fn issuers(&self) -> Vec<&str> {
        if self.servers.is_empty() {
            self.authenticator.issuer().into_iter().collect()
        } else {
            self.servers.iter().map(String::as_str).collect()
        }
    }

    /// Describes each configuration error in one sentence.
    pub(crate) fn faults(&self) -> Vec<String> {
        let urls = [("resource", &self.resource)]
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
        let urls = urls.filter_map(|(what, url)| {
            let fault = Url::parse(url).err()?;
            Some(format!("the {what} `{url}` {fault}"))
        });
        let scopes = self.required.iter().chain(self.supported.iter().flatten());
        let scopes = scopes.filter_map(|scope| rules::scope(scope).into_result().err());
        let mut faults = self.authenticator.faults();
        faults.extend(urls.chain(scopes));
        faults
    }
}

impl fmt::Debug for ProtectedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectedResource")
            .field("resource", &self.resource)
            .field("authorization_servers", &self.issuers())
            .field("require", &self.required)
            .finish_non_exhaustive()
    }
}
