//! The response to a request, available immediately or later.

use std::future::Future;
use std::pin::Pin;

use hyper::Response;

use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;

/// The result of serving a request as far as possible without waiting.
pub(in crate::http) enum PendingResponse<'s> {
    /// The response.
    Over(Response<HttpBody>),
    /// The remaining work, which yields the response.
    Waiting(Pin<Box<dyn Future<Output = Response<HttpBody>> + Send + 's>>),
}

impl<'s> PendingResponse<'s> {
    pub(in crate::http) fn from_future(
        rest: impl Future<Output = Response<HttpBody>> + Send + 's,
    ) -> Self {
        Self::Waiting(Box::pin(rest))
    }
}

impl From<HttpRefusal> for PendingResponse<'_> {
    fn from(refusal: HttpRefusal) -> Self {
        Self::Over(refusal.into_response())
    }
}
