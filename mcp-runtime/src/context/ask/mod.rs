//! Questions that a handler can ask the client at any point: elicitation, sampling and roots.
//!
//! A handler awaits an [`Ask`] without seeing how the question is transported. In the legacy era, the server sends a
//! request and the handler waits for the response. In the modern era, the call returns its open questions and ends, and
//! the handler runs again once the answers have arrived. The implementation of [`Asking`] chooses between the two.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests"; client/elicitation, client/sampling, client/roots.

mod questions;
mod several;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

pub use several::Questions;

use crate::context::{CallId, Context, OnceStore};
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::types::{ClientFeature, InputRequest};

/// A question to the client. It is not sent until it is awaited.
///
/// Awaiting it returns the answer, or an [`AskError`] that explains why there is none. If the handler propagates the
/// error with `?`, the model sees this explanation. To handle declined and dismissed questions without errors, use
/// [`outcome`](Self::outcome).
///
/// In revision 2026-07-28, the handler runs again from the start once the answer has arrived, so code before the
/// question is executed again. See [`Context::once`] and the page on asking in the documentation.
#[must_use = "a question is not asked unless it is awaited"]
pub struct Ask<T> {
    context: Context,
    question: CallQuestion,
    read: fn(&InputRequest, &str) -> Result<Elicited<T>, String>,
}

/// The user's response to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elicited<T> {
    /// The user answered.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user dismissed the question without making a choice.
    Cancelled,
}

impl<T> Elicited<T> {
    /// Returns the answer, if there is one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The reason why a question was not answered. If propagated with `?`, it becomes the error that the model or client
/// sees.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The user declined, or the client declined for them.
    Declined,
    /// The user dismissed the question without making a choice.
    Cancelled,
    /// The client does not support this kind of question. In the modern era, this is error -32021, which names the
    /// missing capability.
    Unsupported(ErrorObject),
    /// The client answered with an error.
    Failed {
        /// The error code.
        code: i64,
        /// The error message.
        message: String,
    },
    /// The client did not answer in time. See [`limits.elicitation.timeout`](crate::Limits).
    TimedOut(Duration),
    /// The answer is invalid. A form is sent three times before this error is returned; any other question is sent only
    /// once.
    Unusable(String),
    /// The question itself is invalid because of a mistake in the handler.
    Misused(String),
    /// The client has disconnected, or the call has ended.
    Gone,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined => f.write_str("the user declined"),
            Self::Cancelled => f.write_str("the user dismissed the question without an answer"),
            Self::Unsupported(error) => f.write_str(&error.message),
            Self::Failed { code, message } => {
                write!(f, "the client could not answer: {message} ({code})")
            }
            Self::TimedOut(limit) => write!(f, "no answer within {limit:?}"),
            Self::Unusable(problem) => write!(f, "the answer is invalid: {problem}"),
            Self::Misused(problem) => f.write_str(problem),
            Self::Gone => f.write_str("the client can no longer be asked"),
        }
    }
}

impl std::error::Error for AskError {}

impl AskError {
    /// Returns the protocol error to respond with, if this error is one.
    pub(crate) fn protocol(&self) -> Option<&ErrorObject> {
        match self {
            Self::Unsupported(error) if error.code == errors::MISSING_CAPABILITY => Some(error),
            _ => None,
        }
    }
}

/// Transports questions to the client; implemented by `dispatch`.
pub(crate) trait Asking: Send + Sync {
    /// Returns `true` if the client currently supports this kind of question.
    fn can(&self, feature: ClientFeature) -> bool;
    /// Checks that a question is valid and that the client supports it.
    fn check(&self, request: &InputRequest) -> Result<(), AskError>;
    /// Assigns a key that distinguishes a question from the others in this run.
    fn identify(&self, request: &InputRequest) -> QuestionKey;
    /// Returns the key that is sent on the wire for a name chosen by the author.
    fn key(&self, name: &str) -> String;
    /// Sends the question or polls for its answer, which is the text of an arbitrary JSON value.
    fn poll(
        &self,
        question: &mut CallQuestion,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>>;
    /// Rejects an invalid answer. Returns an error if the question must not be asked again.
    fn reject(&self, question: &mut CallQuestion, problem: String) -> Result<(), AskError>;
    /// Withdraws a question whose answer is no longer awaited.
    fn withdraw(&self, question: &mut CallQuestion);

    /// Returns the id of the call, which is the same in all of its rounds.
    fn call_id(&self) -> CallId;
    /// Starts work that must run only once. Returns its result if an earlier round has already done it.
    fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError>;
    /// Finishes such work, with its result if it succeeded.
    fn end_once(&self, name: &str, result: Option<&str>);
    /// Returns the store for work that must run only once, if one is configured and applies to this call.
    fn once_store(&self) -> Option<Arc<dyn OnceStore>>;
}

/// A question asked during one run of a handler.
pub(crate) struct CallQuestion {
    pub(crate) request: InputRequest,
    pub(crate) identity: QuestionKey,
    pub(crate) progress: QuestionProgress,
    /// The number of invalid answers in this run.
    pub(crate) rejected: u32,
}

/// The identity of a question.
#[derive(Clone, Debug)]
pub(crate) struct QuestionKey {
    /// The key on the wire.
    pub(crate) key: String,
    /// The digest of the question's content.
    pub(crate) digest: String,
    /// `true` if the author set the key, in which case it does not depend on the content.
    pub(crate) named: bool,
}

/// The state of a question.
pub(crate) enum QuestionProgress {
    Not,
    /// Waiting for the response to the request with this id, until the timer fires.
    Waiting(u64, Pin<Box<Sleep>>),
    /// To be returned to the client when the round ends.
    Open,
    Over,
}

impl<T> Ask<T> {
    fn new(
        context: &Context,
        request: InputRequest,
        read: fn(&InputRequest, &str) -> Result<Elicited<T>, String>,
    ) -> Self {
        let identity = context.asking().identify(&request);
        Self {
            context: context.clone(),
            question: CallQuestion {
                request,
                identity,
                progress: QuestionProgress::Not,
                rejected: 0,
            },
            read,
        }
    }

    /// Sets the key that identifies the question on the wire (2026-07-28 only). Defaults to a digest of its content.
    ///
    /// If a key is reused within a call, a number is added to it. If the content of a question has changed when the
    /// handler runs again, the question is asked again, even under the same key.
    pub fn key(mut self, name: &str) -> Self {
        self.question.identity.key = self.context.asking().key(name);
        self.question.identity.named = true;
        self
    }

    /// Awaits the user's response without treating a declined or dismissed question as an error.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # #[derive(Elicit)] struct Name { name: String }
    /// # async fn f(ctx: Context) -> Result<()> {
    /// match ctx.elicit::<Name>("Who are you?").outcome().await? {
    ///     Elicited::Accepted(Name { name }) => ctx.info(name),
    ///     Elicited::Declined => {}
    ///     Elicited::Cancelled => {}
    /// }
    /// # Ok(()) }
    /// ```
    pub fn outcome(mut self) -> impl Future<Output = Result<Elicited<T>, AskError>> + Send {
        poll_fn(move |task| self.poll_outcome(task))
    }

    /// Checks that the question may be asked.
    fn check(&self) -> Result<(), AskError> {
        self.context.asking().check(&self.question.request)
    }

    fn poll_outcome(&mut self, task: &mut TaskContext<'_>) -> Poll<Result<Elicited<T>, AskError>> {
        /// The error code that clients return if the user rejects a sampling request.
        const REJECTED: i64 = -1;
        loop {
            let answer = match ready!(self.context.asking().poll(&mut self.question, task)) {
                Ok(answer) => answer,
                Err(AskError::Failed { code: REJECTED, .. }) => {
                    return Poll::Ready(Ok(Elicited::Declined));
                }
                Err(error) => return Poll::Ready(Err(error)),
            };
            // Without this check, serde would also accept an array for a struct.
            let read = if answer.starts_with('{') {
                (self.read)(&self.question.request, &answer)
            } else {
                Err("it is not an object".to_owned())
            };
            match read {
                Ok(outcome) => return Poll::Ready(Ok(outcome)),
                Err(problem) => {
                    if let Err(error) = self.context.asking().reject(&mut self.question, problem) {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
    }
}

impl<T> Future for Ask<T> {
    type Output = Result<T, AskError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(self.poll_outcome(task)) {
            Ok(Elicited::Accepted(answer)) => Ok(answer),
            Ok(Elicited::Declined) => Err(AskError::Declined),
            Ok(Elicited::Cancelled) => Err(AskError::Cancelled),
            Err(error) => Err(error),
        })
    }
}

impl<T> Drop for Ask<T> {
    fn drop(&mut self) {
        self.context.asking().withdraw(&mut self.question);
    }
}

impl<T> fmt::Debug for Ask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("key", &self.question.identity.key)
            .finish_non_exhaustive()
    }
}
