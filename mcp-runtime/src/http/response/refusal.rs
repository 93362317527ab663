//! Refusals: responses to rejected requests, with a status, an error and possibly a challenge.

use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use crate::budget::Shortage;
use crate::http::response::answer;
use crate::http::response::body::HttpBody;
use crate::http::response::body::PermitRefusal;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::observe::{RefusalKind, record_refusal};
use crate::protocol::encode;
use crate::protocol::errors;

/// The response to a rejected request: the status, the error and an optional challenge.
pub(in crate::http) struct HttpRefusal {
    pub(in crate::http) status: StatusCode,
    pub(in crate::http) id: Option<RequestId>,
    pub(in crate::http) error: Box<ErrorObject>,
    /// The value of the `WWW-Authenticate` header.
    challenge: Option<HeaderValue>,
}

impl HttpRefusal {
    pub(in crate::http) fn new(status: StatusCode, error: ErrorObject) -> Self {
        Self {
            status,
            id: None,
            error: Box::new(error),
            challenge: None,
        }
    }

    pub(in crate::http) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }

    /// Adds a challenge that tells the client how to get access.
    pub(in crate::http) fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    pub(in crate::http) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorObject::invalid_request(message))
    }

    pub(in crate::http) fn bad_request(message: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            ErrorObject::invalid_request(message),
        )
    }

    /// 503: the server is shutting down, and the time allowed for finishing requests has run out.
    pub(in crate::http) fn shutting_down() -> Self {
        let error = ErrorObject::internal("the server is stopping");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// 404: no open session has this id. The client must start a new session.
    pub(in crate::http) fn unknown_session() -> Self {
        let error = ErrorObject::invalid_request("the session is unknown or has ended");
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// 400: the request needs a session but does not name one.
    pub(in crate::http) fn session_required() -> Self {
        Self::bad_request("`Mcp-Session-Id` is missing: send `initialize` first")
    }

    /// 406: the client does not accept events.
    pub(in crate::http) fn events_not_accepted() -> Self {
        let error = ErrorObject::invalid_request("`Accept` must list `text/event-stream`");
        Self::new(StatusCode::NOT_ACCEPTABLE, error)
    }

    /// 406: the client does not accept both JSON and events.
    pub(in crate::http) fn answer_not_accepted() -> Self {
        let error = ErrorObject::invalid_request(
            "`Accept` must list `application/json` and `text/event-stream`",
        );
        Self::new(StatusCode::NOT_ACCEPTABLE, error)
    }

    /// 503: a later request may succeed.
    pub(in crate::http) fn unavailable(message: &str) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorObject::internal(message),
        )
    }

    /// 405: the HTTP method is not listed in `allow`.
    pub(in crate::http) fn method_not_allowed(allow: &'static str) -> Response<HttpBody> {
        let error = ErrorObject::invalid_request("this HTTP method is not supported here");
        let mut response = Self::new(StatusCode::METHOD_NOT_ALLOWED, error).into_response();
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static(allow));
        response
    }

    pub(in crate::http) fn into_response(self) -> Response<HttpBody> {
        let mut out = Vec::with_capacity(128);
        encode::error(&mut out, self.id.as_ref(), &self.error);
        let mut response = answer::json_response(self.status, out);
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

impl From<PermitRefusal> for HttpRefusal {
    fn from(refused: PermitRefusal) -> Self {
        match refused {
            PermitRefusal::Server => Self::unavailable("there are too many event streams"),
            PermitRefusal::Caller(retry) => {
                let error = errors::too_many_at_once("event streams for this caller", retry);
                Self::new(StatusCode::TOO_MANY_REQUESTS, error)
            }
        }
    }
}

impl From<Shortage> for HttpRefusal {
    fn from(shortage: Shortage) -> Self {
        match shortage {
            Shortage::OfClient => {
                record_refusal(RefusalKind::TooMany, None);
                let retry = errors::RETRY_AFTER;
                let error = errors::too_many_at_once("unread answers for this caller", retry);
                Self::new(StatusCode::TOO_MANY_REQUESTS, error)
            }
            Shortage::Everywhere => Self::unavailable("there are too many unread answers"),
        }
    }
}

/// Adds a `Retry-After` header with the delay that the error specifies.
pub(in crate::http) fn with_retry_after(
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
