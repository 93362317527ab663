//! Controls access to the server: identifies each request's caller, challenges callers without access, and publishes
//! the metadata that tells clients how to authenticate.
//!
//! The dispatcher checks the scopes that a handler needs, and `auth` checks whether a token is valid.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 6750; RFC 9728.

#[cfg(feature = "auth")]
mod bearer;
mod challenge;
#[cfg(feature = "auth")]
mod protection;

use hyper::header::{HeaderName, HeaderValue};
#[cfg(feature = "auth")]
use hyper::http::request::Parts;
use hyper::{Response, StatusCode, header};
use mcp_core::context::{HttpParts, Principal};
use mcp_core::dispatch::Dispatcher;
use mcp_protocol::errors;
use mcp_protocol::jsonrpc::ErrorObject;

use crate::access::challenge::BearerChallenge;
#[cfg(feature = "auth")]
use crate::access::protection::Protection;
use crate::options::HttpOptions;
use crate::response::{HttpBody, HttpRefusal};

/// Authenticates requests to a server.
pub(crate) struct Authentication {
    /// `None` if requests do not need a token.
    #[cfg(feature = "auth")]
    protection: Option<Protection>,
    /// `None` if proxies do not name principals.
    principal_header: Option<PrincipalHeader>,
}

impl Authentication {
    /// Sets up authentication as configured. If the server is protected, also allows requests to its host.
    pub(crate) fn new(options: &mut HttpOptions) -> Self {
        #[cfg(feature = "auth")]
        let protection = options.protected.as_ref().and_then(Protection::new);
        #[cfg(feature = "auth")]
        if let Some(protection) = &protection {
            options.hosts.push(protection.host().to_owned());
        }
        Self {
            #[cfg(feature = "auth")]
            protection,
            principal_header: options
                .principal_header
                .as_deref()
                .and_then(PrincipalHeader::new),
        }
    }

    /// Returns `true` if every request needs a token.
    #[cfg_attr(
        not(feature = "auth"),
        expect(clippy::unused_self, reason = "only the `auth` feature has tokens")
    )]
    pub(crate) fn is_required(&self) -> bool {
        #[cfg(feature = "auth")]
        return self.protection.is_some();
        #[cfg(not(feature = "auth"))]
        false
    }

    /// Returns the caller that sent a request, if known.
    #[cfg_attr(
        not(feature = "auth"),
        expect(
            clippy::unused_async,
            unused_variables,
            reason = "checking a token involves waiting"
        )
    )]
    pub(crate) async fn authenticate(
        &self,
        request: &HttpParts,
        dispatcher: &Dispatcher,
    ) -> Result<Option<Principal>, HttpRefusal> {
        let parts = &request.parts;
        if let Some(principal) = parts.extensions.get::<Principal>() {
            return Ok(Some(principal.clone()));
        }
        #[cfg(feature = "auth")]
        if let Some(protection) = &self.protection {
            return protection
                .authenticate_request(parts, dispatcher)
                .await
                .map(Some);
        }
        match &self.principal_header {
            Some(header) => header.read(request),
            None => Ok(None),
        }
    }

    /// Rejects a request because its caller lacks the scopes named in the error. The status is 403 for a known caller
    /// and 401 for an anonymous caller.
    pub(crate) fn refuse_for_scopes(
        &self,
        caller: Option<&Principal>,
        error: ErrorObject,
    ) -> HttpRefusal {
        let (status, reason) = match caller {
            Some(_) => (StatusCode::FORBIDDEN, Some("insufficient_scope")),
            None => (StatusCode::UNAUTHORIZED, None),
        };
        let challenge = BearerChallenge {
            error: reason,
            scopes: &self.all_scopes(errors::scopes_needed(&error).unwrap_or_default()),
            metadata: self.metadata_url(),
        };
        let challenge = challenge.header_value();
        HttpRefusal::new(status, error).with_challenge(challenge)
    }

    /// Rejects a request because an earlier call by the same caller required the caller to reauthorize.
    pub(crate) fn refuse_until_reauthorized(&self, error: ErrorObject) -> HttpRefusal {
        let (status, challenge) = self.new_challenge(&error);
        HttpRefusal::new(status, error).with_challenge(challenge)
    }

    /// If a request's call required its caller to reauthorize, turns the error response into a challenge. An event
    /// stream cannot become a challenge, so the caller's next request is challenged instead.
    pub(crate) fn challenge_if_reauthorization_needed(
        &self,
        request: &HttpParts,
        response: &mut Response<HttpBody>,
    ) {
        let can_challenge = || {
            let media_type = response.headers().get(header::CONTENT_TYPE);
            let is_json = media_type.is_some_and(|kind| kind == "application/json");
            is_json && response.status() == StatusCode::OK
        };
        if let Some(error) = request.send_head(can_challenge) {
            let (status, challenge) = self.new_challenge(&error);
            *response.status_mut() = status;
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
    }

    /// Returns the challenge for a handler's error that requires the caller to reauthorize.
    fn new_challenge(&self, error: &ErrorObject) -> (StatusCode, HeaderValue) {
        let scopes = errors::scopes_needed(error);
        let (status, reason) = match scopes {
            Some(_) => (StatusCode::FORBIDDEN, "insufficient_scope"),
            None => (StatusCode::UNAUTHORIZED, "invalid_token"),
        };
        let scopes = scopes.map_or_else(Vec::new, |scopes| self.all_scopes(scopes));
        let challenge = BearerChallenge {
            error: Some(reason),
            scopes: &scopes,
            metadata: self.metadata_url(),
        };
        (status, challenge.header_value())
    }

    /// Returns the scopes that every request needs, followed by those that an operation needs as well. Clients request
    /// exactly the scopes that a challenge names, so a challenge names all of them.
    #[cfg_attr(
        not(feature = "auth"),
        expect(clippy::unused_self, reason = "only protected servers require scopes")
    )]
    fn all_scopes<'c>(&'c self, needed: Vec<&'c str>) -> Vec<&'c str> {
        #[cfg(feature = "auth")]
        if let Some(protection) = &self.protection {
            return protection.all_scopes(needed);
        }
        needed
    }

    /// Returns the URL of the server's metadata, if the metadata is published.
    #[cfg_attr(
        not(feature = "auth"),
        expect(clippy::unused_self, reason = "only protected servers have metadata")
    )]
    fn metadata_url(&self) -> Option<&str> {
        #[cfg(feature = "auth")]
        if let Some(protection) = &self.protection {
            return protection.metadata_url();
        }
        None
    }
}

#[cfg(feature = "auth")]
impl Authentication {
    /// Returns `true` if `path` is the path of a published document that is available without a token. `endpoint` is
    /// the server's path.
    pub(crate) fn publishes_metadata_at(&self, path: &str, endpoint: &str) -> bool {
        let protection = self.protection.as_ref();
        protection.is_some_and(|protection| protection.publishes_metadata_at(path, endpoint))
    }

    /// Returns the paths of the documents that are available without a token.
    #[cfg(feature = "axum")]
    pub(crate) fn public_document_paths(&self, endpoint: &str) -> Vec<String> {
        let protection = self.protection.as_ref();
        protection.map_or_else(Vec::new, |protection| {
            protection.public_document_paths(endpoint)
        })
    }

    /// Answers a request for a document that is available without a token, or returns `None` for any other request.
    /// `path` returns the path as the client sees it.
    pub(crate) fn public_document<'p>(
        &self,
        parts: &'p Parts,
        path: impl FnOnce(&'p Parts) -> &'p str,
        endpoint: &str,
        dispatcher: &Dispatcher,
    ) -> Option<Response<HttpBody>> {
        let protection = self.protection.as_ref()?;
        let path = path(parts);
        protection
            .publishes_metadata_at(path, endpoint)
            .then(|| protection.public_document(&parts.method, path, dispatcher))
    }
}

// --- The header in which a trusted proxy names a request's principal.

/// Maximum length of a principal's name, in bytes. The name is part of the keys of stores.
const MAX_BYTES: usize = 256;

/// The name of the header.
pub(super) struct PrincipalHeader(HeaderName);

impl PrincipalHeader {
    /// Returns `None` if this is not a valid name for a header.
    pub(super) fn new(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// Returns the principal of a request, or `None` if the request has no such header or does not come from a trusted
    /// proxy. A value that does not name exactly one principal is an error, because a default would give the request to
    /// another principal.
    pub(super) fn read(&self, request: &HttpParts) -> Result<Option<Principal>, HttpRefusal> {
        if !request.is_from_trusted_proxy() {
            return Ok(None);
        }
        let mut values = request.parts.headers.get_all(&self.0).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let name = std::str::from_utf8(value.as_bytes()).map(str::trim_ascii);
        let problem = match name {
            // Some proxies append their value to the client's, with a comma in between.
            Ok(name) if name.contains(',') => "names more than one principal",
            _ if values.next().is_some() => "names more than one principal",
            Ok("") => "is empty",
            Ok(name) if name.len() > MAX_BYTES => "is too long",
            Ok(name) if name.contains(char::is_control) => "has a control character",
            Err(_) => "is not UTF-8",
            // The issuer keeps these principals apart from those that the program or an authorization server names.
            Ok(name) => return Ok(Some(Principal::new(name).with_issuer(self.0.as_str()))),
        };
        let refusal = format!("header `{}` {problem}", self.0);
        Err(HttpRefusal::bad_request(&refusal))
    }
}
