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
//! `http/access/` decides which requests need a token and how requests without a token are rejected.
//!
//! Source: every revision since 2025-03-26, basic/authorization; `docs/requirements.md`, section 2.28.

#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod introspection;
mod jws;
mod jwt;
mod key_set;
mod protected;
mod static_tokens;
mod url;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use hyper::http::request::Parts;

use crate::context::Principal;

pub use introspection::Introspection;
pub use jwt::Jwt;
pub use protected::ProtectedResource;
pub use static_tokens::StaticTokens;
pub(crate) use url::Url;

/// Maps an access token to its principal.
///
/// **Open**: implement it to support custom kinds of tokens. A closure is also an authenticator: `async |token: String|
/// Ok(Principal::new("alice"))`.
///
/// [`authenticate`](Self::authenticate) is called for each request that includes a token. The call is cancelled (its
/// future is dropped) after [`limits.http.authentication_timeout`](crate::Limits) or when the client disconnects.
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
    /// The bearer token, which is at most [`limits.http.max_token_bytes`](crate::Limits) bytes long and contains only
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
