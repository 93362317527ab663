//! Responses that consist of a message, an event stream, or a status without a body, and those that come later.

use std::future::Future;
use std::pin::Pin;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode, header};

use crate::dispatch::SharedText;
use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;
use crate::jsonrpc::RequestId;

/// Returns a JSON response: one message, or an array of messages.
pub(in crate::http) fn json_response(
    status: StatusCode,
    message: impl Into<WholeMessage>,
) -> Response<HttpBody> {
    let mut response = Response::new(message.into().into_body());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

/// Returns a response with a status and no body.
pub(in crate::http) fn empty_response(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}

/// Returns a response that streams events.
pub(in crate::http) fn event_stream_response(body: HttpBody) -> Response<HttpBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    // Tells nginx not to buffer events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A complete message.
pub(in crate::http) struct WholeMessage {
    pub(in crate::http) text: Vec<u8>,
    pub(in crate::http) shared: SharedText,
}

impl From<Vec<u8>> for WholeMessage {
    fn from(text: Vec<u8>) -> Self {
        Self { text, shared: None }
    }
}

impl WholeMessage {
    /// Returns the message in a single buffer.
    pub(in crate::http) fn into_text(self) -> Vec<u8> {
        let Self { mut text, shared } = self;
        if let Some(shared) = shared {
            let (gap, shared) = *shared;
            gap.fill(&mut text, &shared);
        }
        text
    }

    /// Returns the message as the body of a response, without copying shared text.
    pub(super) fn into_body(self) -> HttpBody {
        let Self { mut text, shared } = self;
        let Some(shared) = shared else {
            return HttpBody::from_bytes(text);
        };
        let (gap, shared) = *shared;
        let after = gap.split(&mut text);
        HttpBody::from_parts([text.into(), shared, after.into()])
    }
}

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
