//! Authenticates requests to a protected server.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 6750, section 3.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, header};
use mcp_core::context::Principal;
use mcp_core::dispatch::Dispatcher;
use serde_json::json;

use crate::access::bearer::{bearer_token, has_token_in_query};
use crate::access::challenge::BearerChallenge;
use crate::auth::{AuthError, AuthErrorKind, Authenticator, Credentials, ProtectedResource, Url};
use crate::request::MalformedHeader;
use crate::response;
use crate::response::{HttpBody, HttpRefusal};

/// Name of this server's metadata document.
const METADATA: &str = "oauth-protected-resource";

/// A server's protection settings, which are validated and assembled only once.
pub(super) struct Protection {
    authenticator: Arc<dyn Authenticator>,
    pub(super) resource: Url,
    /// The scopes that every request needs.
    pub(super) required: Vec<String>,
    /// The scopes to publish. If `None`, the scopes that requests and definitions need are published.
    pub(super) supported: Option<Vec<String>>,
    /// The issuers of the server's authorization servers. If the list is empty, metadata is not published.
    pub(super) servers: Vec<String>,
    /// URL of the metadata.
    pub(super) metadata: Option<String>,
    /// URL of the authorization server's metadata, for clients that look for it at this server's origin.
    pub(super) origin_metadata: Option<HeaderValue>,
}

impl Protection {
    /// Returns `None` if the settings are invalid. The settings are also checked at start-up.
    pub(super) fn new(protected: &ProtectedResource) -> Option<Self> {
        let resource = Url::parse(&protected.resource).ok()?;
        let servers: Vec<String> = protected.issuers().into_iter().map(Into::into).collect();
        let has_servers = !servers.is_empty();
        let moved = protected.origin_metadata.as_deref();
        Some(Self {
            authenticator: Arc::clone(&protected.authenticator),
            required: protected.required.clone(),
            supported: protected.supported.clone(),
            servers,
            metadata: has_servers.then(|| resource.well_known(METADATA)),
            origin_metadata: moved.and_then(|url| HeaderValue::from_str(url).ok()),
            resource,
        })
    }

    /// Returns the host that clients use to reach the server.
    pub(super) fn host(&self) -> &str {
        self.resource.authority()
    }

    /// Returns the URL of the metadata, if the metadata is published.
    pub(super) fn metadata_url(&self) -> Option<&str> {
        self.metadata.as_deref()
    }

    /// Returns the scopes that every request needs, followed by the other scopes in `needed`.
    pub(super) fn all_scopes<'c>(&'c self, needed: Vec<&'c str>) -> Vec<&'c str> {
        let required = || self.required.iter().map(String::as_str);
        let others = needed
            .into_iter()
            .filter(|scope| required().all(|other| other != *scope));
        required().chain(others).collect()
    }

    /// Rejects a request with a challenge for these scopes and those that every request needs.
    fn challenge_refusal(
        &self,
        status: StatusCode,
        error: Option<&'static str>,
        scopes: &[String],
    ) -> HttpRefusal {
        let scopes = self.all_scopes(scopes.iter().map(String::as_str).collect());
        let challenge = BearerChallenge {
            error,
            scopes: &scopes,
            metadata: self.metadata_url(),
        };
        challenge.refuse(status)
    }

    /// Authenticates a request's caller or rejects the request.
    pub(super) async fn authenticate_request(
        &self,
        parts: &Parts,
        dispatcher: &Dispatcher,
    ) -> Result<Principal, HttpRefusal> {
        let limits = dispatcher.limits();
        let refuse = |status, error| Err(self.challenge_refusal(status, error, &self.required));
        if has_token_in_query(&parts.uri) {
            return refuse(StatusCode::BAD_REQUEST, Some("invalid_request"));
        }
        let token = match bearer_token(&parts.headers) {
            Ok(Some(token)) if token.len() <= limits.http.max_token_bytes => token,
            Ok(Some(_)) => return refuse(StatusCode::UNAUTHORIZED, Some("invalid_token")),
            Ok(None) => return refuse(StatusCode::UNAUTHORIZED, None),
            Err(MalformedHeader) => {
                return refuse(StatusCode::BAD_REQUEST, Some("invalid_request"));
            }
        };
        let credentials = Credentials {
            token,
            resource: self.resource.as_str(),
            head: parts,
        };
        let authenticating = self.authenticator.authenticate(&credentials);
        let found = tokio::time::timeout(limits.http.authentication_timeout, authenticating).await;
        let Ok(found) = found else {
            tracing::warn!("authentication took too long");
            return Err(HttpRefusal::unavailable("authentication is unavailable"));
        };
        let refused = match found {
            Ok(principal) if has_expired(&principal) => AuthError::invalid("the token has expired"),
            Ok(principal) => {
                let caller = dispatcher.admit(principal.clone().into());
                return if self.required.iter().all(|scope| caller.has_scope(scope)) {
                    Ok(principal)
                } else {
                    refuse(StatusCode::FORBIDDEN, Some("insufficient_scope"))
                };
            }
            Err(refused) => refused,
        };
        tracing::debug!(why = refused.why, "a request was refused");
        match refused.kind {
            AuthErrorKind::Invalid => refuse(StatusCode::UNAUTHORIZED, Some("invalid_token")),
            AuthErrorKind::Insufficient(scopes) => Err(self.challenge_refusal(
                StatusCode::FORBIDDEN,
                Some("insufficient_scope"),
                &scopes,
            )),
            AuthErrorKind::Unavailable => {
                Err(HttpRefusal::unavailable("authentication is unavailable"))
            }
        }
    }
}

/// Returns `true` if an authenticator accepted credentials even though the expiry it reports for them has passed.
fn has_expired(principal: &Principal) -> bool {
    let expiry = principal.expires_at();
    expiry.is_some_and(|expiry| expiry <= SystemTime::now())
}

// --- The documents that a protected server publishes to tell clients without a token how to authenticate.
//
// Specification: basic/authorization of every protocol version since 2025-03-26; RFC 9728.

/// Path at which clients that use protocol version 2025-03-26 look for the authorization server's metadata.
const ORIGIN_METADATA: &str = "/.well-known/oauth-authorization-server";

impl Protection {
    /// Returns the paths of the documents that are available without a token.
    #[cfg(feature = "axum")]
    pub(super) fn public_document_paths(&self, endpoint: &str) -> Vec<String> {
        let root = format!("/.well-known/{METADATA}");
        let mut paths = vec![
            format!("{root}{}", self.resource.path()),
            format!("{root}{}", endpoint.trim_end_matches('/')),
            root,
            ORIGIN_METADATA.to_owned(),
        ];
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| self.publishes_metadata_at(path, endpoint));
        paths
    }

    /// Returns `true` if `path` is the path of a published document that is available without a token. `endpoint` is
    /// the server's path.
    pub(super) fn publishes_metadata_at(&self, path: &str, endpoint: &str) -> bool {
        let about = path
            .strip_prefix("/.well-known/")
            .and_then(|path| path.strip_prefix(METADATA))
            .map(|path| path.trim_end_matches('/'));
        let is_metadata = about.is_some_and(|about| {
            about.is_empty()
                || about == self.resource.path()
                || about == endpoint.trim_end_matches('/')
        });
        is_metadata && self.metadata.is_some()
            || path == ORIGIN_METADATA && self.origin_metadata.is_some()
    }

    /// Answers a request for a public document.
    pub(super) fn public_document(
        &self,
        method: &Method,
        path: &str,
        dispatcher: &Dispatcher,
    ) -> Response<HttpBody> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return HttpRefusal::method_not_allowed("GET, HEAD");
        }
        if path == ORIGIN_METADATA
            && let Some(url) = &self.origin_metadata
        {
            let mut response = response::empty_response(StatusCode::TEMPORARY_REDIRECT);
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, url.clone());
            return response;
        }
        let mut metadata = json!({
            "resource": self.resource.as_str(),
            "authorization_servers": self.servers,
            "bearer_methods_supported": ["header"],
        });
        let scopes = self.published_scopes(dispatcher);
        if !scopes.is_empty() {
            metadata["scopes_supported"] = json!(scopes);
        }
        response::json_response(StatusCode::OK, metadata.to_string().into_bytes())
    }

    /// Returns the scopes to publish.
    fn published_scopes(&self, dispatcher: &Dispatcher) -> BTreeSet<String> {
        let mut scopes = match &self.supported {
            Some(scopes) => scopes.iter().cloned().collect(),
            None => dispatcher.scopes(),
        };
        if self.supported.is_none() {
            scopes.extend(self.required.iter().cloned());
        }
        scopes.remove("offline_access");
        scopes
    }
}
