//! Answers to a POST request that are sent on a stream, and the response that waits for them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Response;

use crate::http::legacy::replies::{answers_response, unanswered_response};
use crate::http::legacy::session_events::events_response;
use crate::http::request::accepts::AcceptedContentTypes;
use crate::http::response::body::HttpBody;
use crate::http::sessions::http_session::HttpSession;
use crate::http::state::ServiceState;
use crate::http::streams::session_stream::{ResponseStart, SessionStream};
use crate::http::timers::silence_timeout::SilenceTimeout;

/// Answers to a POST request that are sent on a stream.
pub(super) struct AwaitedAnswers {
    pub(super) session: Arc<HttpSession>,
    pub(super) stream: Arc<SessionStream>,
    pub(super) is_batch: bool,
    pub(super) accepts: AcceptedContentTypes,
}

impl AwaitedAnswers {
    /// Returns the response once it is clear whether it is JSON or an event stream. Calls continue to run if the future
    /// is dropped.
    pub(super) async fn wait_for_answers(self, state: &ServiceState) -> Response<HttpBody> {
        let Self {
            session,
            stream,
            is_batch,
            accepts,
        } = self;
        let mut silence = accepts
            .events
            .then(|| SilenceTimeout::new(state.limits(), &state.shutdown));
        let mut is_due =
            |cx: &mut Context<'_>| silence.as_mut().is_some_and(|it| it.has_elapsed(cx));
        let opening = poll_fn(|cx| match stream.poll_opening(cx) {
            Poll::Pending if is_due(cx) => Poll::Ready(ResponseStart::Events),
            polled => polled,
        });
        match opening.await {
            ResponseStart::Answers(answers) => {
                session.forget_stream(stream.number);
                answers_response(&answers, is_batch, accepts)
            }
            ResponseStart::Events => match stream.new_reader(1, true) {
                Some(reader) => events_response(state, session, reader),
                None => unanswered_response(accepts),
            },
        }
    }
}
