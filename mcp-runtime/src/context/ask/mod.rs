//! Questions that a handler can ask the client at any point: elicitation, sampling and roots.
//!
//! A handler awaits an [`Ask`] without knowing how the question reaches the client. In legacy protocol versions, the
//! server sends a request and the handler waits for the response. In modern protocol versions, the call ends by
//! returning its open questions, and the handler runs again once the answers have arrived. The implementation of
//! [`QuestionTransport`] chooses between the two mechanisms.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests"; client/elicitation, client/sampling,
//! client/roots.

mod asking;
mod error;
mod questions;
mod several;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

pub(crate) use asking::{
    CallQuestion, DetachedQuestion, QuestionKey, QuestionProgress, QuestionTransport,
};
pub use error::AskError;
pub use several::Questions;

use crate::context::watching::{self, CallSite, QuestionPoint};
use crate::context::{Context, Elicit};
use crate::types::{Field, InputRequest};

/// A question for the client, which is not sent until it is awaited.
///
/// Awaiting it yields the answer, or an [`AskError`] that explains why there is no answer. If the handler propagates
/// the error with `?`, the model sees this explanation. To handle a declined or dismissed question without treating it
/// as an error, use [`outcome`](Self::outcome).
///
/// In revision 2026-07-28, the handler runs again from the start once the answer has arrived, so code before the
/// question is executed again. See [`Context::once`] and the documentation page on asking questions.
#[must_use = "a question is not asked unless it is awaited"]
pub struct Ask<T> {
    context: Context,
    question: CallQuestion,
    read: fn(&InputRequest, &str) -> Result<Elicited<T>, String>,
    site: CallSite,
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

impl<T> Ask<T> {
    #[track_caller]
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
            site: CallSite::here(),
        }
    }

    /// Sets the key that identifies the question on the wire (2026-07-28 only). Defaults to a digest of the question's
    /// content.
    ///
    /// If a key is reused within a call, a number is appended to the key. If the content of a question has changed when
    /// the handler runs again, the question is asked again, even under the same key.
    pub fn key(mut self, name: &str) -> Self {
        self.question.identity.key = self.context.asking().key(name);
        self.question.identity.named = true;
        self
    }

    /// Changes a field of the form for this question, for example because a bound or the choices depend on data:
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// #[derive(Elicit)]
    /// struct Pick {
    ///     /// Which room?
    ///     room: String,
    ///     #[elicit(range(1..))]
    ///     nights: u32,
    /// }
    ///
    /// # async fn f(ctx: Context, free: Vec<String>, most: u32) -> Result<()> {
    /// let Pick { room, nights } = ctx
    ///     .elicit("Which room would you like?")
    ///     .field("room", |field| field.choices(free))
    ///     .field("nights", |field| field.range(1.0, most.into()))
    ///     .await?;
    /// # let _ = (room, nights); Ok(()) }
    /// ```
    ///
    /// The answer is validated against the changed form. Other properties of the field, such as its title, stay as they
    /// are. In revision 2026-07-28, the question is asked again if the form has changed when the handler runs again.
    ///
    /// # Panics
    ///
    /// Panics if the form has no field with this name.
    #[track_caller]
    pub fn field(mut self, name: &str, change: impl FnOnce(Field) -> Field) -> Self
    where
        T: Elicit,
    {
        let is_changed = match &mut self.question.request {
            InputRequest::Form { form, .. } => form.change_field(name, change),
            _ => false,
        };
        assert!(is_changed, "the form has no field `{name}`");
        let changed = self.context.asking().identify(&self.question.request);
        if self.question.identity.named {
            self.question.identity.digest = changed.digest;
        } else {
            self.question.identity = changed;
        }
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
            let is_new = matches!(self.question.progress, QuestionProgress::Not);
            if is_new && watching::stops_at(&self.question, self.site, QuestionPoint::Asked) {
                return Poll::Pending;
            }
            let answer = match ready!(self.context.asking().poll(&mut self.question, task)) {
                Ok(answer) => answer,
                Err(AskError::Failed { code: REJECTED, .. }) => {
                    return Poll::Ready(Ok(Elicited::Declined));
                }
                Err(error) => return Poll::Ready(Err(error)),
            };
            if watching::stops_at(&self.question, self.site, QuestionPoint::Answered) {
                return Poll::Pending;
            }
            // Without this check, serde would also accept an array in place of a struct.
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
