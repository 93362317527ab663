//! The parts of an HTTP request that handlers can read, and the addresses that it came from.

use std::net::{IpAddr, SocketAddr};

use hyper::Uri;
use hyper::http::request::Parts;

use crate::handler::handler_error::{HandlerError, Result};

/// The parts of an HTTP request. Shared by the request's calls and their contexts.
pub(crate) struct HttpParts {
    pub(crate) parts: Parts,
    /// The other end of the connection.
    pub(crate) peer: Option<SocketAddr>,
    /// The client, which may be behind trusted proxies.
    pub(crate) client: Option<IpAddr>,
    pub(crate) is_from_trusted_proxy: bool,
}

impl HttpParts {
    /// Returns the URI of the request as its client sees it, even in nested routers.
    pub(crate) fn uri(&self) -> &Uri {
        #[cfg(feature = "axum")]
        if let Some(axum::extract::OriginalUri(uri)) = self.parts.extensions.get() {
            return uri;
        }
        &self.parts.uri
    }

    /// Returns the value of a header that may occur only once.
    pub(super) fn header(&self, name: &str) -> Result<Option<&str>> {
        let mut values = self.parts.headers.get_all(name).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(HandlerError::exposed(format_args!(
                "header `{name}` occurs more than once"
            )));
        }
        match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => Ok(Some(text.trim_ascii())),
            Err(_) => Err(HandlerError::exposed(format_args!(
                "header `{name}` is not UTF-8"
            ))),
        }
    }
}
