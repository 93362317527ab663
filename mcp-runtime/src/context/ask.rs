//! Questions to the client, from anywhere in a handler.
//!
//! A handler awaits an [`Ask`]; it cannot see how the question travels. In the legacy era it is a request of the server's
//! own, and the handler waits. In the modern era the call ends with the questions that are open, and the handler runs
//! again when the answers have come. Both are decided by whoever implements [`Asking`].
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests"; client/elicitation, client/sampling, client/roots.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Sleep;

use crate::context::form::{Elicit, check_answer};
use crate::context::{CallId, Context, OnceStore};
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::types::{ClientFeature, CreateMessageResult, Form, InputRequest, Meta, Root, Sample};

/// A question to the client. Nothing is asked before it is awaited.
///
/// Awaiting it gives the answer, or an [`AskError`] that says why there is none; with `?` the model reads that.
/// [`outcome`](Self::outcome) tells declining from dismissing without errors.
///
/// In revision 2026-07-28 the handler is run again from its start when the answer has come, so what it did before is done
/// again: see the page on asking in the documentation, and [`Context::once`].
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<T> {
    asking: Arc<dyn Asking>,
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
    /// The answer, asked for again, still does not fit.
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
    /// Gives a question its place among those of this run.
    fn place(&self, request: &InputRequest) -> Place;
    /// The key on the wire for a name the author gave.
    fn key(&self, name: &str) -> String;
    /// Asks, or looks whether there is an answer: the text of a JSON object.
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
    /// How many answers did not fit.
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
    Sent(u64, Pin<Box<Sleep>>),
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
        let asking = Arc::clone(context.asking());
        let place = asking.place(&request);
        Self {
            asking,
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
        self.question.place.key = self.asking.key(name);
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

    fn poll_outcome(&mut self, task: &mut TaskContext<'_>) -> Poll<Result<Elicited<T>, AskError>> {
        /// What clients answer when a person refuses to let a model be asked.
        const REJECTED: i64 = -1;
        loop {
            let answer = match ready!(self.asking.poll(&mut self.question, task)) {
                Ok(answer) => answer,
                Err(AskError::Failed { code: REJECTED, .. }) => {
                    return Poll::Ready(Ok(Elicited::Declined));
                }
                Err(error) => return Poll::Ready(Err(error)),
            };
            match (self.read)(&self.question.request, &answer) {
                Ok(outcome) => return Poll::Ready(Ok(outcome)),
                Err(problem) => {
                    if let Err(error) = self.asking.reject(&mut self.question, problem) {
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
        self.asking.withdraw(&mut self.question);
    }
}

impl<T> fmt::Debug for Ask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("key", &self.question.place.key)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Asks the person to fill in a form; `T` derives [`Elicit`](macro@crate::Elicit).
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// #[derive(Elicit)]
    /// struct Approval {
    ///     /// Really deploy?
    ///     approve: bool,
    ///     /// Why not, if not
    ///     reason: Option<String>,
    /// }
    ///
    /// /// Deploys a service.
    /// #[tool(destructive)]
    /// async fn deploy(ctx: Context, service: String) -> Result<String> {
    ///     let answer: Approval = ctx.elicit(format!("Deploy {service}?")).await?;
    ///     Ok(if answer.approve { "deployed" } else { "left alone" }.to_owned())
    /// }
    /// ```
    ///
    /// Answers are checked before they are given to the handler; one that does not fit is asked for again. Must not ask for
    /// secrets: use [`elicit_url`](Self::elicit_url) for them.
    ///
    /// Source: revisions from 2025-06-18, client/elicitation.
    pub fn elicit<T: Elicit>(&self, message: impl Into<String>) -> Ask<T> {
        let request = InputRequest::Form {
            message: message.into(),
            form: T::form(),
        };
        Ask::new(self, request, |request, answer| {
            let content = read_form(request, answer)?;
            elicited(content, |content| T::from_answer(&content))
        })
    }

    /// Asks the person to fill in a form that is known at run time only; gives the checked content.
    pub fn elicit_form(&self, message: impl Into<String>, form: Form) -> Ask<Meta> {
        let request = InputRequest::Form {
            message: message.into(),
            form,
        };
        Ask::new(self, request, read_form)
    }

    /// Asks the person to open an address, for what must not pass through the client: secrets, payments, consent elsewhere.
    ///
    /// An answer means that they agreed to open it, not that they are done there. Check with your own records whether they
    /// are, and ask again if not. The address must be `https:` (or `http:` on this machine). It must hold nothing personal
    /// and must not be signed in already; the page behind it must make sure that whoever opens it is the user who made this
    /// call.
    ///
    /// Source: revisions from 2025-11-25, client/elicitation, "URL Mode".
    pub fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> Ask<()> {
        let request = InputRequest::Url {
            message: message.into(),
            url: url.into(),
        };
        Ask::new(self, request, |_, answer| {
            elicited(read_action(answer)?, |_| Ok(()))
        })
    }

    /// Asks the client's model.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn f(ctx: Context) -> Result<String> {
    /// let said = ctx.sample(Sample::user("Summarise …").max_tokens(200)).await?;
    /// Ok(said.text())
    /// # }
    /// ```
    ///
    /// Source: every revision, client/sampling. Deprecated in 2026-07-28.
    pub fn sample(&self, question: Sample) -> Ask<CreateMessageResult> {
        Ask::new(
            self,
            InputRequest::Sample(Box::new(question)),
            |_, answer| {
                let said = serde_json::from_str(answer).map_err(|error| error.to_string())?;
                Ok(Elicited::Accepted(said))
            },
        )
    }

    /// Asks which directories the client works in. May be none.
    ///
    /// Source: every revision, client/roots. Deprecated in 2026-07-28.
    pub fn roots(&self) -> Ask<Vec<Root>> {
        #[derive(Deserialize)]
        struct ListRootsResult {
            roots: Vec<Root>,
        }
        Ask::new(self, InputRequest::Roots, |_, answer| {
            let listed: ListRootsResult =
                serde_json::from_str(answer).map_err(|error| error.to_string())?;
            Ok(Elicited::Accepted(listed.roots))
        })
    }

    /// Asks several things at once: a tuple of questions, or a `Vec` of them. The first one without an answer fails all.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn f(ctx: Context) -> Result<()> {
    /// let (roots, said) = ctx.ask((ctx.roots(), ctx.sample(Sample::user("…")))).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// `tokio::join!` does the same without failing early.
    pub fn ask<Q: Questions>(
        &self,
        questions: Q,
    ) -> impl Future<Output = Result<Q::Answers, AskError>> + Send + use<Q> {
        questions.answers()
    }

    /// Whether the person can be asked with a form.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        self.asking().can(ClientFeature::Elicitation)
    }

    /// Whether the person can be asked to open an address.
    #[must_use]
    pub fn can_elicit_url(&self) -> bool {
        self.asking().can(ClientFeature::ElicitationUrl)
    }

    /// Whether the client's model can be asked.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.asking().can(ClientFeature::Sampling)
    }

    /// Whether the client can be asked for its roots.
    #[must_use]
    pub fn can_list_roots(&self) -> bool {
        self.asking().can(ClientFeature::Roots)
    }

    /// Which call this is: the same when the handler is run again with answers, another for every other call.
    ///
    /// For what must be counted or kept once per call.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.asking().call_id()
    }
}

/// Several questions, asked at once by [`Context::ask`]: tuples of up to six, and `Vec`. Sealed.
pub trait Questions: Send + sealed::Sealed {
    /// Their answers, in the same order.
    type Answers;

    #[doc(hidden)]
    fn answers(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send + use<Self>;
}

mod sealed {
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

/// Polls one of several questions. Every one of them is polled in every round, so that all are asked in the same.
fn poll_one<T>(
    question: &mut Ask<T>,
    answer: &mut Option<T>,
    task: &mut TaskContext<'_>,
    failure: &mut Option<AskError>,
) -> bool {
    if answer.is_some() {
        return true;
    }
    match Pin::new(question).poll(task) {
        Poll::Ready(Ok(value)) => *answer = Some(value),
        Poll::Ready(Err(error)) => {
            failure.get_or_insert(error);
        }
        Poll::Pending => return false,
    }
    true
}

macro_rules! questions {
    ($($T:ident $question:ident $answer:ident),+) => {
        impl<$($T: Send),+> sealed::Sealed for ($(Ask<$T>,)+) {}

        impl<$($T: Send),+> Questions for ($(Ask<$T>,)+) {
            type Answers = ($($T,)+);

            fn answers(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send + use<$($T),+> {
                let ($(mut $question,)+) = self;
                $(let mut $answer = None;)+
                poll_fn(move |task| {
                    let (mut all, mut failure) = (true, None);
                    $(all &= poll_one(&mut $question, &mut $answer, task, &mut failure);)+
                    if let Some(error) = failure {
                        return Poll::Ready(Err(error));
                    }
                    if !all {
                        return Poll::Pending;
                    }
                    match ($($answer.take(),)+) {
                        ($(Some($answer),)+) => Poll::Ready(Ok(($($answer,)+))),
                        _ => Poll::Ready(Err(AskError::Gone)),
                    }
                })
            }
        }
    };
}
questions!(A q1 a1);
questions!(A q1 a1, B q2 a2);
questions!(A q1 a1, B q2 a2, C q3 a3);
questions!(A q1 a1, B q2 a2, C q3 a3, D q4 a4);
questions!(A q1 a1, B q2 a2, C q3 a3, D q4 a4, E q5 a5);
questions!(A q1 a1, B q2 a2, C q3 a3, D q4 a4, E q5 a5, F q6 a6);

impl<T: Send> sealed::Sealed for Vec<Ask<T>> {}

impl<T: Send> Questions for Vec<Ask<T>> {
    type Answers = Vec<T>;

    fn answers(mut self) -> impl Future<Output = Result<Vec<T>, AskError>> + Send + use<T> {
        let mut answers: Vec<Option<T>> = self.iter().map(|_| None).collect();
        poll_fn(move |task| {
            let (mut all, mut failure) = (true, None);
            for (question, answer) in self.iter_mut().zip(&mut answers) {
                all &= poll_one(question, answer, task, &mut failure);
            }
            match failure {
                Some(error) => Poll::Ready(Err(error)),
                None if all => Poll::Ready(Ok(answers.drain(..).flatten().collect())),
                None => Poll::Pending,
            }
        })
    }
}

/// What comes back from an elicitation.
#[derive(Deserialize)]
struct ElicitResult {
    action: Action,
    #[serde(default)]
    content: Option<Meta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

fn read_action(answer: &str) -> Result<Elicited<Option<Meta>>, String> {
    let result: ElicitResult = serde_json::from_str(answer).map_err(|error| error.to_string())?;
    Ok(match result.action {
        Action::Accept => Elicited::Accepted(result.content),
        Action::Decline => Elicited::Declined,
        Action::Cancel => Elicited::Cancelled,
    })
}

fn read_form(request: &InputRequest, answer: &str) -> Result<Elicited<Meta>, String> {
    elicited(read_action(answer)?, |content| match request {
        InputRequest::Form { form, .. } => check_answer(form, content.unwrap_or_default()),
        _ => Err("it is no answer to a form".to_owned()),
    })
}

fn elicited<T, U>(
    outcome: Elicited<T>,
    read: impl FnOnce(T) -> Result<U, String>,
) -> Result<Elicited<U>, String> {
    Ok(match outcome {
        Elicited::Accepted(answer) => Elicited::Accepted(read(answer)?),
        Elicited::Declined => Elicited::Declined,
        Elicited::Cancelled => Elicited::Cancelled,
    })
}
