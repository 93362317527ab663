//! Questions to the client, from anywhere in a handler.
//!
//! A handler awaits an [`Ask`]; it cannot see how the question travels. In the legacy era it is a request of the server's
//! own, and the handler waits. In the modern era the call ends with the questions that are open, and the handler runs
//! again when the answers have come. Both are decided by whoever implements [`Asking`].
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

/// A question to the client. Nothing is asked before it is awaited.
///
/// Awaiting it gives the answer, or an [`AskError`] that says why there is none; with `?` the model reads that.
/// [`outcome`](Self::outcome) tells declining from dismissing without errors.
///
/// In revision 2026-07-28 the handler is run again from its start when the answer has come, so what it did before is done
/// again: see the page on asking in the documentation, and [`Context::once`].
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<T> {
    context: Context,
    question: Question,
    read: fn(&InputRequest, &str) -> Result<Elicited<T>, String>,
}

/// What a person did with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elicited<T> {
    /// They answered.
    Accepted(T),
    /// They said no.
    Declined,
    /// They dismissed it without a choice.
    Cancelled,
}

impl<T> Elicited<T> {
    /// The answer, if there is one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// Why a question has no answer. With `?` it becomes what the model, or the client, is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The person, or the client for them, said no.
    Declined,
    /// The person dismissed the question without a choice.
    Cancelled,
    /// The client cannot be asked this. In the modern era this is error -32021, with what is missing.
    Unsupported(ErrorObject),
    /// The client answered with an error.
    Failed {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// The client did not answer in time. See [`Limits::question_time`](crate::Limits::question_time).
    TimedOut(Duration),
    /// The answer does not fit: that to a form after it was asked for three times, any other at once.
    Unusable(String),
    /// The question itself is wrong; the author's fault.
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
            Self::TimedOut(limit) => write!(f, "nobody answered within {limit:?}"),
            Self::Unusable(problem) => write!(f, "the answer does not fit: {problem}"),
            Self::Misused(problem) => f.write_str(problem),
            Self::Gone => f.write_str("the client can be asked no longer"),
        }
    }
}

impl std::error::Error for AskError {}

impl AskError {
    /// The protocol error it is, if it is one.
    pub(crate) fn protocol(&self) -> Option<&ErrorObject> {
        match self {
            Self::Unsupported(error) if error.code == errors::MISSING_CAPABILITY => Some(error),
            _ => None,
        }
    }
}

/// How questions travel; implemented by `dispatch`.
pub(crate) trait Asking: Send + Sync {
    /// Whether the client can be asked such a thing, here and now.
    fn can(&self, feature: ClientFeature) -> bool;
    /// Whether this may be asked: it is right in itself, and the client can be asked it.
    fn check(&self, request: &InputRequest) -> Result<(), AskError>;
    /// Gives a question its place among those of this run.
    fn place(&self, request: &InputRequest) -> Place;
    /// The key on the wire for a name the author gave.
    fn key(&self, name: &str) -> String;
    /// Asks, or looks whether there is an answer: the text of any JSON.
    fn poll(
        &self,
        question: &mut Question,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>>;
    /// The answer does not fit; an error if it is not to be asked again.
    fn reject(&self, question: &mut Question, problem: String) -> Result<(), AskError>;
    /// Nobody waits for the answer any more.
    fn withdraw(&self, question: &mut Question);

    /// Which call this is, the same in all of its rounds.
    fn call_id(&self) -> CallId;
    /// Begins something that is to be done once; gives its result if it was done in an earlier round.
    fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError>;
    /// Ends it, with its result if there is one.
    fn end_once(&self, name: &str, result: Option<&str>);
    /// Who remembers what was done once, if somebody does and it matters here.
    fn once_store(&self) -> Option<Arc<dyn OnceStore>>;
}

/// One question of one run.
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) place: Place,
    pub(crate) progress: Asked,
    /// How many answers of this run did not fit.
    pub(crate) rejected: u32,
}

/// What a question is known by.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// On the wire.
    pub(crate) key: String,
    /// Of what is asked.
    pub(crate) digest: String,
    /// Whether the author gave the key, so that it says nothing about what is asked.
    pub(crate) named: bool,
}

/// How far a question has come.
pub(crate) enum Asked {
    Not,
    /// With a request of this id, until then.
    Waiting(u64, Pin<Box<Sleep>>),
    /// It is one of those the round will end with.
    Open,
    Over,
}

impl<T> Ask<T> {
    fn new(
        context: &Context,
        request: InputRequest,
        read: fn(&InputRequest, &str) -> Result<Elicited<T>, String>,
    ) -> Self {
        let place = context.asking().place(&request);
        Self {
            context: context.clone(),
            question: Question {
                request,
                place,
                progress: Asked::Not,
                rejected: 0,
            },
            read,
        }
    }

    /// The key of the question on the wire (2026-07-28 only), instead of a digest of what is asked.
    ///
    /// Used again within a call, it gets a number. A question that reads differently when the handler is run again is asked
    /// again, whatever its key.
    pub fn key(mut self, name: &str) -> Self {
        self.question.place.key = self.context.asking().key(name);
        self.question.place.named = true;
        self
    }

    /// Awaits what the person did, without making declining or dismissing an error.
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

    /// Whether it may be asked.
    fn check(&self) -> Result<(), AskError> {
        self.context.asking().check(&self.question.request)
    }

    fn poll_outcome(&mut self, task: &mut TaskContext<'_>) -> Poll<Result<Elicited<T>, AskError>> {
        /// What clients answer when a person refuses to let a model be asked.
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
            .field("key", &self.question.place.key)
            .finish_non_exhaustive()
    }
}
