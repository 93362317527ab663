//! The response to a request, available immediately or later.

use std::future::Future;
use std::pin::Pin;

use hyper::Response;

use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;
use crate::jsonrpc::RequestId;

/// The result of serving a request as far as possible without waiting.
pub(in crate::http) enum PendingResponse<'s> {
    /// The response.
    Over(Response<HttpBody>),
    /// The remaining work, which yields the response.
    Waiting(RemainingWork<'s>),
}

/// Work that yields the response to a request.
pub(in crate::http) struct RemainingWork<'s> {
    pub(in crate::http) response: Pin<Box<dyn Future<Output = Response<HttpBody>> + Send + 's>>,
    /// The id of the request, for the response if the work is cut short. `None` for a batch.
    pub(in crate::http) id: Option<RequestId>,
}

impl<'s> PendingResponse<'s> {
    pub(in crate::http) fn from_future(
        response: impl Future<Output = Response<HttpBody>> + Send + 's,
        id: Option<RequestId>,
    ) -> Self {
        Self::Waiting(RemainingWork {
            response: Box::pin(response),
            id,
        })
    }
}

impl From<HttpRefusal> for PendingResponse<'_> {
    fn from(refusal: HttpRefusal) -> Self {
        Self::Over(refusal.into_response())
    }
}
