//! The parts of an HTTP request that handlers can read, and the addresses from which it came.

mod reauthorization;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::Uri;
use http::header::{AUTHORIZATION, HeaderValue};
use http::request::Parts;

use crate::context::Principal;
use crate::handler::handler_error::{HandlerError, Result};
use crate::jsonrpc::ErrorObject;
use crate::observe::TraceContext;
use reauthorization::{ChallengedCaller, Reauthorization};

pub use reauthorization::ChallengesForNextRequests;

/// The parts of an HTTP request. These are shared by the request's calls and their contexts.
pub struct HttpParts {
    /// The head of the request.
    pub parts: Parts,
    /// The URI before routers removed the part of its path that led here, if it is known.
    original_uri: Option<Uri>,
    pub(super) addresses: ClientAddresses,
    reauthorization: Reauthorization,
}

/// The addresses from which a request came.
#[derive(Clone, Copy)]
pub struct ClientAddresses {
    /// The other end of the connection.
    pub peer: Option<SocketAddr>,
    /// The client, which may be behind trusted proxies.
    pub client: Option<IpAddr>,
    /// `true` if the other end of the connection is one of these proxies.
    pub is_from_trusted_proxy: bool,
}

impl HttpParts {
    /// Creates the parts of a request. `original_uri` is its URI before routers removed the part of its path that led
    /// here, if it is known. `challenges` keeps demands for later requests.
    pub fn new(
        parts: Parts,
        original_uri: Option<Uri>,
        addresses: ClientAddresses,
        challenges: &Arc<ChallengesForNextRequests>,
    ) -> Self {
        Self {
            parts,
            original_uri,
            addresses,
            reauthorization: Reauthorization::new(challenges),
        }
    }

    /// Returns `true` if the peer is a trusted proxy.
    pub fn is_from_trusted_proxy(&self) -> bool {
        self.addresses.is_from_trusted_proxy
    }

    /// Returns the client's address, if it is known.
    pub fn client_address(&self) -> Option<IpAddr> {
        self.addresses.client
    }

    /// Returns the trace context that the headers specify. A `traceparent` that is repeated is ambiguous, so it specifies
    /// none; the values of a repeated `tracestate` are one list.
    // Source: W3C Trace Context, level 1, sections 3.2 and 3.3.
    pub fn trace_context(&self) -> Option<TraceContext> {
        let values = |name| self.parts.headers.get_all(name).iter();
        let mut parents = values("traceparent");
        let (parent, None) = (parents.next()?, parents.next()) else {
            return None;
        };
        let states: Vec<&str> = values("tracestate")
            .filter_map(|state| state.to_str().ok())
            .collect();
        let state = (!states.is_empty()).then(|| states.join(","));
        TraceContext::parse(parent.to_str().ok()?, state.as_deref())
    }

    /// Returns the request's URI as the client sees it, even within nested routers.
    pub(crate) fn uri(&self) -> &Uri {
        self.original_uri.as_ref().unwrap_or(&self.parts.uri)
    }

    /// Requires the caller to reauthorize, in this response or, if its head has already been sent, in the response to
    /// the caller's next request.
    pub(crate) fn demand_authorization(&self, error: &ErrorObject, caller: Option<&Principal>) {
        self.reauthorization.demand(error, self.challenged(caller));
    }

    /// Records that the response head is now being sent. Returns the reauthorization demand that the head must include,
    /// if there is one and `can_challenge` returns `true`.
    pub fn send_head(&self, can_challenge: impl FnOnce() -> bool) -> Option<ErrorObject> {
        self.reauthorization.send_head(can_challenge)
    }

    /// Takes the demand left by an earlier request from the same caller with the same credentials.
    pub fn take_earlier_demand(&self, caller: Option<&Principal>) -> Option<ErrorObject> {
        let challenged = || self.challenged(caller);
        self.reauthorization.take_earlier(challenged)
    }

    /// Returns the caller with the credentials of this request, or `None` if the caller is anonymous.
    fn challenged<'a>(&'a self, caller: Option<&'a Principal>) -> Option<ChallengedCaller<'a>> {
        let authorization = self.parts.headers.get(AUTHORIZATION);
        Some(ChallengedCaller {
            principal: caller?.key(),
            authorization: authorization.map(HeaderValue::as_bytes),
        })
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

    /// Returns `true` if the request has a header.
    pub fn has_header(&self, name: &str) -> bool {
        self.parts.headers.contains_key(name)
    }
}
