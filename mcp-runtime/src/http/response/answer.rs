//! Creates responses that consist of a message, an event stream, or a status without a body.

use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use crate::http::response::body::HttpBody;
use crate::http::response::message::WholeMessage;

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
