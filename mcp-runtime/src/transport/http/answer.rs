//! Complete responses: a message, an error, or only a status.

use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::HttpBody;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::protocol::encode::{self, Gap};
use crate::protocol::errors;

/// A refused request: the status, the error and the challenge to send.
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    pub(super) id: Option<RequestId>,
    pub(super) error: Box<ErrorObject>,
    /// The value of the `WWW-Authenticate` header.
    challenge: Option<HeaderValue>,
}

impl HttpRefusal {
    pub(super) fn new(status: StatusCode, error: ErrorObject) -> Self {
        Self {
            status,
            id: None,
            error: Box::new(error),
            challenge: None,
        }
    }

    pub(super) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }

    /// Adds a challenge, which says how to get access.
    pub(super) fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorObject::invalid_request(message))
    }

    pub(super) fn bad_request(message: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            ErrorObject::invalid_request(message),
        )
    }

    /// 503: the time for finishing requests is over.
    pub(super) fn stopping() -> Self {
        let error = ErrorObject::internal("the server is stopping");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// 503: too many of these are in use now; a later request may succeed.
    pub(super) fn too_many(what: &str) -> Self {
        Self::unavailable(&format!("there are too many {what}"))
    }

    /// 404: no session with this id is open. Clients start a new one.
    pub(super) fn unknown_session() -> Self {
        let error = ErrorObject::invalid_request("the session is unknown or has ended");
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// 503: a later request may succeed.
    pub(super) fn unavailable(message: &str) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorObject::internal(message),
        )
    }

    /// 405: the HTTP method is not one of `allow`.
    pub(super) fn method(allow: &'static str) -> Response<HttpBody> {
        let error = ErrorObject::invalid_request("this HTTP method is not served here");
        let mut response = Self::new(StatusCode::METHOD_NOT_ALLOWED, error).into_response();
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static(allow));
        response
    }

    pub(super) fn into_response(self) -> Response<HttpBody> {
        let mut out = Vec::with_capacity(128);
        encode::error(&mut out, self.id.as_ref(), &self.error);
        let mut response = json(self.status, out);
        if let Some(challenge) = self.challenge {
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
        }
        with_retry_after(response, &self.error)
    }
}

/// Adds a `Retry-After` header with the delay that the error specifies.
pub(super) fn with_retry_after(
    mut response: Response<HttpBody>,
    error: &ErrorObject,
) -> Response<HttpBody> {
    if response.status() == StatusCode::TOO_MANY_REQUESTS
        && let Some(seconds) = errors::retry_after(error)
    {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Returns the HTTP status of an answer in the modern era, by the code of its error.
///
/// Errors of handlers keep 200: from another status, a client could conclude that the server does not support the protocol.
pub(super) fn modern_status(code: Option<i32>) -> StatusCode {
    match code {
        Some(ErrorObject::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(errors::TOO_MANY) => StatusCode::TOO_MANY_REQUESTS,
        Some(
            errors::HEADER_MISMATCH
            | errors::MISSING_CAPABILITY
            | errors::UNSUPPORTED_VERSION
            | ErrorObject::PARSE_ERROR
            | ErrorObject::INVALID_REQUEST,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Returns a JSON response: one message, or an array of messages.
pub(super) fn json(status: StatusCode, message: impl Into<Whole>) -> Response<HttpBody> {
    let mut response = Response::new(message.into().into_body());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

/// A complete message, which may contain a page of a list that all callers of the list share.
pub(super) struct Whole {
    pub(super) text: Vec<u8>,
    pub(super) page: Option<(Gap, Bytes)>,
}

impl From<Vec<u8>> for Whole {
    fn from(text: Vec<u8>) -> Self {
        Self { text, page: None }
    }
}

impl Whole {
    /// Returns the message in a buffer of its own.
    pub(super) fn into_text(self) -> Vec<u8> {
        let Self { mut text, page } = self;
        if let Some((gap, page)) = page {
            gap.fill(&mut text, &page);
        }
        text
    }

    /// Returns the message as the body of a response, without copying the page.
    pub(super) fn into_body(self) -> HttpBody {
        let Self { mut text, page } = self;
        let Some((gap, page)) = page else {
            return HttpBody::whole(text);
        };
        let after = gap.split(&mut text);
        HttpBody::parts([text.into(), page, after.into()])
    }
}

/// Returns a response with a status and no body.
pub(super) fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}

/// Returns a response that streams events.
pub(super) fn stream(body: HttpBody) -> Response<HttpBody> {
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
