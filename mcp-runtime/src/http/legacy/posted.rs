//! The result of a legacy POST request, including any part that must be awaited.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Response;

use crate::http::legacy::replies::{answers_response, unanswered_response};
use crate::http::legacy::session_events::events_response;
use crate::http::legacy::unsaved_session::UnsavedSession;
use crate::http::request::accepts::AcceptedContentTypes;
use crate::http::response::body::HttpBody;
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::http_session::HttpSession;
use crate::http::sessions::other_instances::OutgoingMessage;
use crate::http::sessions::session_lookup::PendingSave;
use crate::http::state::ServiceState;
use crate::http::streams::session_stream::{ResponseStart, SessionStream};
use crate::http::timers::silence_timeout::SilenceTimeout;
use crate::jsonrpc::RequestId;

/// The part of a POST request's result that is known without waiting.
pub(in crate::http) struct PostOutcome {
    /// A change to the session that must be saved before answering.
    pub(super) save: Option<PendingSave>,
    /// Messages that must be passed to other instances before answering.
    pub(super) outgoing: Vec<OutgoingMessage>,
    pub(super) answer: PostResponse,
}

/// The state of the answer to a POST request.
pub(super) enum PostResponse {
    /// Available.
    Over(Response<HttpBody>),
    /// Available once the session is stored.
    Opening(UnsavedSession),
    /// Available later, on a stream.
    Waiting(AwaitedAnswers),
}

/// Answers to a POST request that are sent on a stream.
pub(super) struct AwaitedAnswers {
    pub(in crate::http) session: Arc<HttpSession>,
    pub(in crate::http) stream: Arc<SessionStream>,
    pub(super) is_batch: bool,
    pub(in crate::http) accepts: AcceptedContentTypes,
}

impl From<PostResponse> for PostOutcome {
    fn from(answer: PostResponse) -> Self {
        Self {
            save: None,
            outgoing: Vec::new(),
            answer,
        }
    }
}

impl From<HttpRefusal> for PostOutcome {
    fn from(refusal: HttpRefusal) -> Self {
        refusal.into_response().into()
    }
}

impl From<Response<HttpBody>> for PostOutcome {
    fn from(response: Response<HttpBody>) -> Self {
        PostResponse::Over(response).into()
    }
}

impl PostOutcome {
    /// Returns the response, which is available immediately unless something must be stored, passed on or awaited. `id`
    /// returns the id of the request.
    pub(in crate::http) fn into_pending(
        self,
        state: &ServiceState,
        id: impl FnOnce() -> Option<RequestId>,
    ) -> PendingResponse<'_> {
        match self {
            Self {
                save: None,
                outgoing,
                answer: PostResponse::Over(response),
            } if outgoing.is_empty() => PendingResponse::Over(response),
            posted => PendingResponse::from_future(posted.wait_for_response(state), id()),
        }
    }

    /// Completes the part that must be awaited. Calls continue to run if the future is dropped.
    async fn wait_for_response(self, state: &ServiceState) -> Response<HttpBody> {
        if let Some(save) = self.save
            && let Err(refusal) = state.sessions.save(save).await
        {
            return refusal.into_response();
        }
        if let Err(refusal) = state.sessions.forward(&self.outgoing).await {
            return refusal.into_response();
        }
        match self.answer {
            PostResponse::Over(response) => response,
            PostResponse::Opening(opening) => opening.store_and_respond(state).await,
            PostResponse::Waiting(answers) => answers.wait_for_answers(state).await,
        }
    }
}

impl AwaitedAnswers {
    /// Returns the response once it is clear whether it is JSON or an event stream.
    async fn wait_for_answers(self, state: &ServiceState) -> Response<HttpBody> {
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
