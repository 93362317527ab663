//! The documents that a protected server publishes to tell clients without a token how to authenticate.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 9728.

use std::collections::BTreeSet;

use hyper::header;
use hyper::{Method, Response, StatusCode};
use serde_json::json;

use crate::dispatch::Dispatcher;
use crate::http::access::protection::{METADATA, Protection};
use crate::http::response::answer;
use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;

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
            let mut response = answer::empty_response(StatusCode::TEMPORARY_REDIRECT);
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
        answer::json_response(StatusCode::OK, metadata.to_string().into_bytes())
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
