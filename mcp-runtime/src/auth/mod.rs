//! Who sends an HTTP request, by its access token.
//!
//! [`Protected`] says how a server is protected; an [`Authenticator`] finds out whose a token is. There is one for JSON Web
//! Tokens ([`Jwt`]), one that asks the authorization server ([`Introspection`]), one for a few tokens that never change
//! ([`StaticTokens`]), and any closure is one. An authorization server is none of these: this framework has none.
//!
//! ```
//! use mcp_runtime::Server;
//! use mcp_runtime::auth::{Jwt, Protected};
//! use mcp_runtime::transport::HttpOptions;
//!
//! # fn protect(server: Server) -> Server {
//! let tokens = Jwt::issuer("https://login.example.com");
//! server.http(HttpOptions::new().authenticate(Protected::new("https://mcp.example.com/mcp", tokens)))
//! # }
//! ```
//!
//! Which requests need a token, and how they are refused without one, is decided in `transport/http/`.
//!
//! Source: every revision since 2025-03-26, basic/authorization; `docs/requirements.md`, section 2.28.

mod claims;
mod fetch;
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

pub use introspection::Introspection;
pub use jwt::Jwt;
pub use protected::Protected;
pub use static_tokens::StaticTokens;
pub(crate) use url::Url;

use crate::context::Principal;

/// Finds out whose an access token is.
///
/// **Open**: implement it for whatever knows. A closure is one too: `async |token: String| Ok(Principal::new("alice"))`.
///
/// Asked for each request that came with a token, and given up (its future is dropped) after
/// [`Limits::authentication_time`](crate::Limits::authentication_time), or when the client goes away.
pub trait Authenticator: Send + Sync + 'static {
    /// Whose token it is, if it is valid and was issued for this server.
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> Authenticating<'a>;

    /// The authorization server that issues the tokens, which clients are told of. Default: none.
    fn issuer(&self) -> Option<&str> {
        None
    }

    /// What is wrong with how it was set up, in a sentence each; a server does not start with any. Default: nothing.
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What an [`Authenticator`] will have found out.
pub type Authenticating<'a> = Pin<Box<dyn Future<Output = Result<Principal, Refused>> + Send + 'a>>;

impl<F, T> Authenticator for F
where
    F: Fn(String) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Principal, Refused>> + Send + 'static,
{
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> Authenticating<'a> {
        Box::pin(self(credentials.token.to_owned()))
    }
}

/// What a request came with.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Credentials<'a> {
    /// The bearer token: at most [`Limits::token`](crate::Limits::token) bytes of the characters that tokens are made of.
    pub token: &'a str,
    /// The address of this server, which the token has to be for.
    pub resource: &'a str,
    /// The head of the request.
    pub head: &'a Parts,
}

/// Says nothing of the token.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// Why a request is not let in. What is said here goes to the log, and never to the client; it must not repeat the token.
#[derive(Clone, Debug)]
pub struct Refused {
    pub(crate) kind: Refusing,
    pub(crate) why: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Refusing {
    Invalid,
    Insufficient(Vec<String>),
    Unavailable,
}

impl Refused {
    /// The token is not valid here: 401.
    pub fn invalid(why: impl fmt::Display) -> Self {
        Self::new(Refusing::Invalid, why)
    }

    /// The token is valid, but not for these scopes, all of which would be needed: 403.
    pub fn insufficient(scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let scopes = scopes.into_iter().map(Into::into).collect();
        Self::new(Refusing::Insufficient(scopes), "scopes are missing")
    }

    /// It cannot be found out just now: 503.
    pub fn unavailable(why: impl fmt::Display) -> Self {
        Self::new(Refusing::Unavailable, why)
    }

    fn new(kind: Refusing, why: impl fmt::Display) -> Self {
        Self {
            kind,
            why: why.to_string(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}
