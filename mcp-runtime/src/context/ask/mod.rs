//! Questions to the client, from anywhere in a handler: elicitation, sampling and roots.
//!
//! A handler awaits an [`Ask`] and cannot see how the question travels. In the legacy era it is a request from the server,
//! and the handler waits. In the modern era the call ends with its open questions, and the handler runs again once the
//! answers have arrived. The implementation of [`Asking`] decides between the two.
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
/// Awaiting it returns the answer, or an [`AskError`] with the reason that there is none; with `?` the model reads the
/// reason. [`outcome`](Self::outcome) distinguishes declining from dismissing without errors.
///
/// In revision 2026-07-28 the handler runs again from its start once the answer has arrived, so code before the question
/// runs again: see the page on asking in the documentation, and [`Context::once`].
#[must_use = "a question is asked when it is awaited"]
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
    /// The user dismissed the question without a choice.
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

/// The reason that a question has no answer. With `?` it becomes the error that the model or the client reads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The user declined, or the client declined for them.
    Declined,
    /// The user dismissed the question without a choice.
    Cancelled,
    /// The client does not support the question. In the modern era this is error -32021, with the missing capability.
    Unsupported(ErrorObject),
    /// The client answered with an error.
    Failed {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// The client did not answer in time. See [`limits.elicitation.timeout`](crate::Limits).
    TimedOut(Duration),
    /// The answer is invalid. A form is sent three times before this error is returned, any other question only once.
    Unusable(String),
    /// The question itself is invalid: a mistake of the author.
    Misused(String),
    /// The client has gone, or the call is over.
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
    /// Returns the protocol error to answer with, if this is one.
    pub(crate) fn protocol(&self) -> Option<&ErrorObject> {
        match self {
            Self::Unsupported(error) if error.code == errors::MISSING_CAPABILITY => Some(error),
            _ => None,
        }
    }
}

/// The transport of questions; implemented by `dispatch`.
pub(crate) trait Asking: Send + Sync {
    /// Returns `true` if the client currently supports this kind of question.
    fn can(&self, feature: ClientFeature) -> bool;
    /// Checks that a question is valid and that the client supports it.
    fn check(&self, request: &InputRequest) -> Result<(), AskError>;
    /// Assigns a question its key among the questions of this run.
    fn identify(&self, request: &InputRequest) -> QuestionKey;
    /// Returns the key on the wire for a name from the author.
    fn key(&self, name: &str) -> String;
    /// Sends the question, or polls for its answer: the text of any JSON value.
    fn poll(
        &self,
        question: &mut CallQuestion,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>>;
    /// Rejects an invalid answer. Returns an error if the question must not be asked again.
    fn reject(&self, question: &mut CallQuestion, problem: String) -> Result<(), AskError>;
    /// Withdraws a question whose answer is no longer awaited.
    fn withdraw(&self, question: &mut CallQuestion);

    /// Returns the id of the call, the same in all of its rounds.
    fn call_id(&self) -> CallId;
    /// Begins work that is to run once. Returns its result if an earlier round did it.
    fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError>;
    /// Ends that work, with its result if it succeeded.
    fn end_once(&self, name: &str, result: Option<&str>);
    /// Returns the store for work done once, if there is one and it applies to this call.
    fn once_store(&self) -> Option<Arc<dyn OnceStore>>;
}

/// One question of one run.
pub(crate) struct CallQuestion {
    pub(crate) request: InputRequest,
    pub(crate) identity: QuestionKey,
    pub(crate) progress: QuestionProgress,
    /// Number of invalid answers in this run.
    pub(crate) rejected: u32,
}

/// Identity of a question.
#[derive(Clone, Debug)]
pub(crate) struct QuestionKey {
    /// The key on the wire.
    pub(crate) key: String,
    /// The digest of its content.
    pub(crate) digest: String,
    /// `true` if the author set the key, which then does not depend on the content.
    pub(crate) named: bool,
}

/// State of a question.
pub(crate) enum QuestionProgress {
    Not,
    /// Waiting for the response to the request with this id, until the timer fires.
    Waiting(u64, Pin<Box<Sleep>>),
    /// One of the questions that the round will end with.
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

    /// Sets the key of the question on the wire (2026-07-28 only). Default: a digest of its content.
    ///
    /// A key that is reused within a call gets a number. A question whose content has changed when the handler runs again is
    /// asked again, even with the same key.
    pub fn key(mut self, name: &str) -> Self {
        self.question.identity.key = self.context.asking().key(name);
        self.question.identity.named = true;
        self
    }

    /// Awaits the user's response, without turning declining or dismissing into an error.
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
        /// The code with which clients answer if the user rejects a sampling request.
        const REJECTED: i64 = -1;
        loop {
            let answer = match ready!(self.context.asking().poll(&mut self.question, task)) {
                Ok(answer) => answer,
                Err(AskError::Failed { code: REJECTED, .. }) => {
                    return Poll::Ready(Ok(Elicited::Declined));
                }
                Err(error) => return Poll::Ready(Err(error)),
            };
            // Structs would be read from arrays, too.
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
