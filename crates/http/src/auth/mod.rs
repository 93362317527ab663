//! Authenticates HTTP requests by their access tokens.
//!
//! [`ProtectedResource`] configures how a server is protected; an [`Authenticator`] maps a token to its principal.
//! [`Jwt`] handles JSON Web Tokens, [`Introspection`] queries the authorization server, and [`StaticTokens`] contains a
//! few tokens that never change. A closure can also be used as an authenticator. This framework does not include an
//! authorization server.
//!
//! ```
//! use mcp_runtime::Server;
//! use mcp_runtime::auth::{Jwt, ProtectedResource};
//! use mcp_runtime::http::HttpOptions;
//!
//! # fn protect(server: Server) -> Server {
//! let tokens = Jwt::issuer("https://login.example.com");
//! server.http(HttpOptions::new().authenticate(ProtectedResource::new("https://mcp.example.com/mcp", tokens)))
//! # }
//! ```
//!
//! `access/` decides which requests need a token and how requests without a token are rejected.
//!
//! Source: every revision since 2025-03-26, basic/authorization; `docs/requirements.md`, section 2.28.

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod introspection;
mod jws;
mod jwt;
mod key_set;
mod static_tokens;
mod url;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::http::request::Parts;
pub use introspection::Introspection;
pub use jwt::Jwt;
use mcp_core::context::Principal;
use mcp_core::handler::rules;
pub use static_tokens::StaticTokens;
pub(crate) use url::Url;

/// Maps an access token to its principal.
///
/// **Open**: implement it to support custom kinds of tokens. A closure is also an authenticator: `async |token: String|
/// Ok(Principal::new("alice"))`.
///
/// [`authenticate`](Self::authenticate) is called for each request that includes a token. The call is cancelled (its
/// future is dropped) after [`limits.http.authentication_timeout`](mcp_core::limits::Limits) or when the client disconnects.
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the principal that the token identifies, if the token is valid and was issued for this server.
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> AuthFuture<'a>;

    /// Returns the authorization server that issues the tokens, so that this server can announce it to clients. The
    /// default implementation returns `None`.
    fn issuer(&self) -> Option<&str> {
        None
    }

    /// Describes each configuration error in one sentence. If there are any errors, the server does not start. The
    /// default implementation returns an empty list.
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The future that an [`Authenticator`] returns.
pub type AuthFuture<'a> = Pin<Box<dyn Future<Output = Result<Principal, AuthError>> + Send + 'a>>;

impl<F, T> Authenticator for F
where
    F: Fn(String) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Principal, AuthError>> + Send + 'static,
{
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> AuthFuture<'a> {
        Box::pin(self(credentials.token.to_owned()))
    }
}

/// A request's credentials.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Credentials<'a> {
    /// The bearer token, which is at most [`limits.http.max_token_bytes`](mcp_core::limits::Limits) bytes long and contains only
    /// characters that are valid in tokens.
    pub token: &'a str,
    /// The URL of this server, for which the token must have been issued.
    pub resource: &'a str,
    /// The request line and headers.
    pub head: &'a Parts,
}

/// Omits the token.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// The reason why a request is rejected. The text is logged but never sent to the client; it must not contain the
/// token.
#[derive(Clone, Debug)]
pub struct AuthError {
    pub(crate) kind: AuthErrorKind,
    pub(crate) why: String,
}

#[derive(Clone, Debug)]
pub(crate) enum AuthErrorKind {
    Invalid,
    Insufficient(Vec<String>),
    Unavailable,
}

impl AuthError {
    /// Creates an error for a token that is not valid for this server (401).
    pub fn invalid(why: impl fmt::Display) -> Self {
        Self::new(AuthErrorKind::Invalid, why)
    }

    /// Creates an error for a valid token that lacks these scopes, all of which are required (403).
    pub fn insufficient(scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let scopes = scopes.into_iter().map(Into::into).collect();
        Self::new(AuthErrorKind::Insufficient(scopes), "scopes are missing")
    }

    /// Creates an error for a token that cannot be checked at the moment (503).
    pub fn unavailable(why: impl fmt::Display) -> Self {
        Self::new(AuthErrorKind::Unavailable, why)
    }

    fn new(kind: AuthErrorKind, why: impl fmt::Display) -> Self {
        Self {
            kind,
            why: why.to_string(),
        }
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for AuthError {}

// --- How a server is protected.

/// Settings for protecting a server: its URL, the authenticator that checks tokens, and the authorization servers that
/// issue them.
///
/// A protected server requires each request to include an access token in its `Authorization: Bearer …` header. A
/// request without a token is answered with 401 and the location of the server's metadata (RFC 9728), from which
/// clients learn where to get a token and which scopes to request. See Authorization.
///
/// Requests to the URL's host are allowed, as with [`HttpOptions::allow_host`](crate::HttpOptions::allow_host).
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
