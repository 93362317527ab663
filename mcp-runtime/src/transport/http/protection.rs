//! A protected server: authentication of requests, and the metadata that tells clients how to authenticate.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 6750, sections 2.1 and 3; RFC 9728.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Uri};
use serde_json::json;

use super::access::Challenge;
use super::answer::{self, HttpRefusal};
use super::body::HttpBody;
use crate::auth::{AuthError, Authenticator, Credentials, ProtectedResource, Refusing, Url};
use crate::context::Principal;
use crate::dispatch::Dispatcher;

/// Name of the metadata document of this server.
const METADATA: &str = "oauth-protected-resource";
/// Path at which clients of 2025-03-26 look for the metadata of the authorization server.
const ORIGIN_METADATA: &str = "/.well-known/oauth-authorization-server";

/// The protection of a server, checked and assembled once.
pub(super) struct Protection {
    authenticator: Arc<dyn Authenticator>,
    resource: Url,
    required: Vec<String>,
    supported: Option<Vec<String>>,
    /// The issuers of its authorization servers. Without any, there is no metadata.
    servers: Vec<String>,
    /// URL of the metadata.
    metadata: Option<String>,
    origin_metadata: Option<HeaderValue>,
}

impl Protection {
    /// Returns `None` if the settings are invalid; they are checked at start-up.
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
            origin_metadata: moved.and_then(|address| HeaderValue::from_str(address).ok()),
            resource,
        })
    }

    /// Returns the host by which clients know the server.
    pub(super) fn host(&self) -> &str {
        self.resource.authority()
    }

    /// Returns the URL of the metadata, if there is any.
    pub(super) fn metadata(&self) -> Option<&str> {
        self.metadata.as_deref()
    }

    /// Refuses a request with a challenge for these scopes.
    fn refuse(
        &self,
        status: StatusCode,
        error: Option<&'static str>,
        scopes: &[String],
    ) -> HttpRefusal {
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let challenge = Challenge {
            error,
            scopes: &scopes,
            metadata: self.metadata(),
        };
        challenge.refuse(status)
    }

    /// Authenticates the caller of a request, or refuses the request.
    pub(super) async fn admit(
        &self,
        head: &Parts,
        dispatcher: &Dispatcher,
    ) -> Result<Principal, HttpRefusal> {
        let limits = dispatcher.limits();
        let refuse = |status, error| Err(self.refuse(status, error, &self.required));
        if has_token(&head.uri) {
            return refuse(StatusCode::BAD_REQUEST, Some("invalid_request"));
        }
        let token = match bearer(&head.headers) {
            Ok(Some(token)) if token.len() <= limits.http.max_token_bytes => token,
            Ok(Some(_)) => return refuse(StatusCode::UNAUTHORIZED, Some("invalid_token")),
            Ok(None) => return refuse(StatusCode::UNAUTHORIZED, None),
            Err(MalformedAuthorization) => {
                return refuse(StatusCode::BAD_REQUEST, Some("invalid_request"));
            }
        };
        let credentials = Credentials {
            token,
            resource: self.resource.as_str(),
            head,
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
            Refusing::Invalid => refuse(StatusCode::UNAUTHORIZED, Some("invalid_token")),
            Refusing::Insufficient(scopes) => {
                Err(self.refuse(StatusCode::FORBIDDEN, Some("insufficient_scope"), &scopes))
            }
            Refusing::Unavailable => Err(HttpRefusal::unavailable("authentication is unavailable")),
        }
    }

    /// Returns the paths of the documents for clients without a token.
    #[cfg(feature = "axum")]
    pub(super) fn paths(&self, endpoint: &str) -> Vec<String> {
        let root = format!("/.well-known/{METADATA}");
        let mut paths = vec![
            format!("{root}{}", self.resource.path()),
            format!("{root}{}", endpoint.trim_end_matches('/')),
            root,
            ORIGIN_METADATA.to_owned(),
        ];
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| self.publishes(path, endpoint));
        paths
    }

    /// Returns `true` if this is the path of a document for clients without a token; `endpoint` is the path of the server.
    pub(super) fn publishes(&self, path: &str, endpoint: &str) -> bool {
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
    pub(super) fn publish(
        &self,
        method: &Method,
        path: &str,
        dispatcher: &Dispatcher,
    ) -> Response<HttpBody> {
        if method != Method::GET {
            return HttpRefusal::method("GET");
        }
        if path == ORIGIN_METADATA
            && let Some(address) = &self.origin_metadata
        {
            let mut response = answer::empty(StatusCode::TEMPORARY_REDIRECT);
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, address.clone());
            return response;
        }
        let mut metadata = json!({
            "resource": self.resource.as_str(),
            "authorization_servers": self.servers,
            "bearer_methods_supported": ["header"],
        });
        let scopes = self.scopes(dispatcher);
        if !scopes.is_empty() {
            metadata["scopes_supported"] = json!(scopes);
        }
        answer::json(StatusCode::OK, metadata.to_string().into_bytes())
    }

    /// Returns the scopes to publish.
    fn scopes(&self, dispatcher: &Dispatcher) -> BTreeSet<String> {
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

/// Returns `true` if the credentials that an authenticator accepted have expired according to the expiry it reports.
fn has_expired(principal: &Principal) -> bool {
    let expiry = principal.expires_at();
    expiry.is_some_and(|expiry| expiry <= SystemTime::now())
}

/// Returns `true` if the query contains a token, which proxies and browsers would record. The token is not used.
fn has_token(uri: &Uri) -> bool {
    let names = uri.query().unwrap_or_default().split('&');
    let mut names = names.map(|pair| pair.split('=').next().unwrap_or_default());
    names.any(|name| name.eq_ignore_ascii_case("access_token"))
}

/// The `Authorization` header is malformed.
#[derive(Debug, PartialEq, Eq)]
struct MalformedAuthorization;

/// Returns the bearer token of a request; `None` if it has no credentials, or those of another scheme.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, MalformedAuthorization> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let value = value.to_str().map_err(|_| MalformedAuthorization)?.trim();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Ok(None);
    }
    let token = token.trim_start();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(is_plain) {
        return Err(MalformedAuthorization);
    }
    Ok(Some(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_its_field_and_from_nowhere_else() {
        for (value, token) in [
            ("Bearer abc", Ok(Some("abc"))),
            ("bearer   a.b-c_d~e+f/g==", Ok(Some("a.b-c_d~e+f/g=="))),
            ("Basic YWxpY2U6cGFzcw==", Ok(None)),
            ("Bearerabc", Ok(None)),
            ("Bearer", Err(MalformedAuthorization)),
            ("Bearer ", Err(MalformedAuthorization)),
            ("Bearer =", Err(MalformedAuthorization)),
            ("Bearer a b", Err(MalformedAuthorization)),
            ("Bearer a,b", Err(MalformedAuthorization)),
            ("Bearer \"a\"", Err(MalformedAuthorization)),
            ("Bearer a=b", Err(MalformedAuthorization)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(bearer(&headers), token, "{value}");
        }
        assert_eq!(bearer(&HeaderMap::new()), Ok(None));
        for (uri, there) in [
            ("/mcp?access_token=x", true),
            ("/mcp?a=b&access_token", true),
            ("/mcp?connection=x", false),
            ("/mcp", false),
        ] {
            assert_eq!(has_token(&uri.parse().unwrap()), there, "{uri}");
        }
    }
}
