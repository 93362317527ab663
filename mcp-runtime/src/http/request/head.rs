//! The parts of a request that are known before its body is read.

use std::sync::Arc;

use hyper::Uri;

use crate::budget::{ClientNetwork, Holder};
use crate::context::{HttpParts, Principal};
use crate::handler::tags::TagSelection;
use crate::http::request::headers::RequestHeaders;
use crate::observe::Origin;

/// The parts of a request that are known before its body is read.
#[derive(Clone, Copy)]
pub(in crate::http) struct RequestHead<'h> {
    pub(in crate::http) parts: &'h Arc<HttpParts>,
    pub(in crate::http) uri: &'h Uri,
    pub(in crate::http) headers: &'h RequestHeaders<'h>,
    /// The authenticated caller, or `None` if there were no credentials to check.
    pub(in crate::http) caller: Option<&'h Principal>,
    /// The definitions that the request selects by their tags; `None` for all.
    pub(in crate::http) selection: Option<&'h TagSelection>,
    pub(in crate::http) origin: &'h Origin,
}

impl RequestHead<'_> {
    /// Returns the client for whom the server holds what it keeps for the request.
    pub(in crate::http) fn holder(&self) -> Holder {
        Holder::new(self.caller, self.network())
    }

    /// Returns the network of the client, which may be behind trusted proxies, if it is known.
    pub(in crate::http) fn network(&self) -> Option<ClientNetwork> {
        self.parts.client_address().map(Into::into)
    }
}
