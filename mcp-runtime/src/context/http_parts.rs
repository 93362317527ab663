//! The parts of an HTTP request that handlers can read, and the addresses that it came from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::Uri;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;

use crate::context::{PendingChallenges, Principal, Reauthorization};
use crate::handler::handler_error::{HandlerError, Result};
use crate::jsonrpc::ErrorObject;

/// The parts of an HTTP request. Shared by the request's calls and their contexts.
pub(crate) struct HttpParts {
    pub(crate) parts: Parts,
    /// The other end of the connection.
    pub(super) peer: Option<SocketAddr>,
    /// The client, which may be behind trusted proxies.
    pub(super) client: Option<IpAddr>,
    pub(super) is_from_trusted_proxy: bool,
    pub(super) reauthorization: Reauthorization,
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

    /// Creates the parts of a request that came from this peer. `proxied` is `Some` if the peer
    /// is a trusted proxy, with the client that it reports.
    pub(crate) fn new(
        parts: Parts,
        peer: Option<SocketAddr>,
        proxied: Option<Option<IpAddr>>,
        challenges: &Arc<PendingChallenges>,
    ) -> Self {
        Self {
            peer,
            client: proxied.unwrap_or_else(|| peer.map(|peer| peer.ip().to_canonical())),
            is_from_trusted_proxy: proxied.is_some(),
            reauthorization: Reauthorization::new(challenges),
            parts,
        }
    }

    /// Demands that the caller authorize again, with this response or, if its head has been sent, with the next.
    pub(crate) fn demand_authorization(&self, error: &ErrorObject) {
        self.reauthorization.demand(error, self.credentials());
    }

    /// Notes that the head of the response is sent now. Returns the demand for a new authorization that it has to
    /// carry, if there is one and `can_challenge`.
    pub(crate) fn send_head(&self, can_challenge: bool) -> Option<ErrorObject> {
        self.reauthorization
            .send_head(can_challenge, || self.credentials())
    }

    /// Takes the demand that an earlier request with the same credentials left.
    pub(crate) fn take_earlier_demand(&self) -> Option<ErrorObject> {
        self.reauthorization.take_earlier(|| self.credentials())
    }

    /// Returns the credentials in a form that is the same for each request with them.
    fn credentials(&self) -> Option<&[u8]> {
        let principal = self.parts.extensions.get::<Principal>();
        let principal = principal.map(|principal| principal.key().as_bytes());
        principal.or_else(|| Some(self.parts.headers.get(AUTHORIZATION)?.as_bytes()))
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
