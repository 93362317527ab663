//! Small routes of the author beside the endpoint, such as `/metrics`: their paths, requests and responses.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode, header};
use mcp_core::context::HttpParts;
use mcp_core::spawn;

use crate::response;
use crate::response::HttpBody;

/// A path and the function that answers its requests.
#[derive(Clone)]
pub(crate) struct ExtraRoute {
    pub(crate) path: String,
    answer: Arc<dyn Fn(&RouteRequest) -> RouteResponse + Send + Sync>,
}

impl ExtraRoute {
    pub(crate) fn new<R: Into<RouteResponse>>(
        path: String,
        answer: impl Fn(&RouteRequest) -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            path,
            answer: Arc::new(move |request| answer(request).into()),
        }
    }

    /// Describes what is wrong with the path, given all `other` paths of the server.
    pub(crate) fn fault(
        &self,
        mut others: impl Iterator<Item = impl AsRef<str>>,
    ) -> Option<String> {
        let path = &self.path;
        if path.contains(|it: char| "{}?#*%".contains(it) || it.is_whitespace()) {
            return Some(format!(
                "the path `{path}` in `HttpOptions::route` is not a plain path"
            ));
        }
        let is_taken = others.any(|other| other.as_ref() == path);
        // Clients look for the documents of a protected server here.
        (is_taken || path.starts_with("/.well-known/oauth-")).then(|| {
            format!("the HTTP path `{path}` is used twice: choose another in `HttpOptions::route`")
        })
    }

    /// Returns the answer to a request with this body.
    pub(crate) fn answer(&self, http: Arc<HttpParts>, body: Bytes) -> Response<HttpBody> {
        let request = RouteRequest { http, body };
        let answered = spawn::catch(|| (self.answer)(&request));
        let answered = answered.and_then(RouteResponse::into_http);
        answered.unwrap_or_else(|problem| {
            tracing::error!(route = self.path, problem, "a route has failed");
            response::empty_response(StatusCode::INTERNAL_SERVER_ERROR)
        })
    }
}

impl fmt::Debug for ExtraRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// A request to a route of [`HttpOptions::route`](crate::HttpOptions::route).
pub struct RouteRequest {
    http: Arc<HttpParts>,
    body: Bytes,
}

impl RouteRequest {
    /// Returns the method, such as `GET`.
    #[must_use]
    pub fn method(&self) -> &str {
        self.http.parts.method.as_str()
    }

    /// Returns the query string, undecoded and without the `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.http.parts.uri.query()
    }

    /// Returns the value of a header, unless it is not UTF-8. Any client can send any header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.http.parts.headers.get(name)?;
        std::str::from_utf8(value.as_bytes()).ok()
    }

    /// Returns the body, which is at most [`limits.http.max_body_bytes`](mcp_core::limits::Limits) bytes long.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// Omits headers and the body, because they may contain credentials.
impl fmt::Debug for RouteRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouteRequest")
            .field("method", &self.http.parts.method)
            .field("path", &self.http.parts.uri.path())
            .finish_non_exhaustive()
    }
}

/// The response of a route: by default, plain text with status 200. Text becomes a response by `into`.
#[derive(Clone, Debug)]
#[must_use]
pub struct RouteResponse {
    status: u16,
    content_type: String,
    body: Vec<u8>,
}

impl RouteResponse {
    /// Creates a response with this body.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            content_type: "text/plain; charset=utf-8".to_owned(),
            body: body.into(),
        }
    }

    /// Sets the status. Without a valid one, from 200 to 599, the client gets 500.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets the content type.
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = content_type.into();
        self
    }

    /// # Errors
    ///
    /// Returns what is wrong with the response, for the log.
    fn into_http(self) -> Result<Response<HttpBody>, String> {
        let status = StatusCode::from_u16(self.status).ok();
        let status = status.filter(|status| (200..600).contains(&status.as_u16()));
        let status = status.ok_or_else(|| format!("`{}` is not a status", self.status))?;
        let content_type = HeaderValue::from_str(&self.content_type);
        let content_type =
            content_type.map_err(|_| format!("`{:?}` is not a content type", self.content_type))?;
        let mut response = Response::new(HttpBody::from_bytes(self.body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, content_type);
        // What it says may change at any time, and may be known only to this client.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

impl From<String> for RouteResponse {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for RouteResponse {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
