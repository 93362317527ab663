//! Creates responses whose answers are all available, as JSON or as events, depending on the content types that the
//! client accepts.

use std::sync::Arc;

use hyper::{Response, StatusCode};

use crate::http::request::accepts::AcceptedContentTypes;
use crate::http::response::body::HttpBody;
use crate::http::response::message::WholeMessage;
use crate::http::response::{answer, sse};

/// Returns the response for an available answer.
pub(super) fn whole_response(
    answer: impl Into<WholeMessage>,
    accepts: AcceptedContentTypes,
) -> Response<HttpBody> {
    let answer = answer.into();
    if accepts.json {
        return answer::json_response(StatusCode::OK, answer);
    }
    let mut out = Vec::new();
    sse::write_event(&mut out, None, "message", &answer.into_text());
    answer::event_stream_response(HttpBody::from_bytes(out))
}

/// Returns the response to a cancelled request, which does not have an answer.
pub(super) fn unanswered_response(accepts: AcceptedContentTypes) -> Response<HttpBody> {
    if accepts.events {
        answer::event_stream_response(HttpBody::empty())
    } else {
        answer::empty_response(StatusCode::NO_CONTENT)
    }
}

/// Returns the response to a single request or a batch whose answers are all available.
pub(super) fn answers_response(
    messages: &[Arc<[u8]>],
    is_batch: bool,
    accepts: AcceptedContentTypes,
) -> Response<HttpBody> {
    match messages {
        [] => unanswered_response(accepts),
        [message] if !is_batch => whole_response(message.to_vec(), accepts),
        messages if accepts.json => {
            let mut out = vec![b'['];
            out.extend_from_slice(&messages.join(&b','));
            out.push(b']');
            answer::json_response(StatusCode::OK, out)
        }
        messages => {
            let mut out = Vec::new();
            for message in messages {
                sse::write_event(&mut out, None, "message", message);
            }
            answer::event_stream_response(HttpBody::from_bytes(out))
        }
    }
}
