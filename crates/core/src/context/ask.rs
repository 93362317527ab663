//! Questions that a handler can ask the client at any point: elicitation, sampling and roots.
//!
//! A handler awaits an [`Ask`] without knowing how the question reaches the client. In legacy protocol versions, the
//! server sends a request and the handler waits for the response. In modern protocol versions, the call ends by
//! returning its open questions, and the handler runs again once the answers have arrived. The implementation of
//! [`ClientQuestions`](crate::context::client_questions::ClientQuestions) chooses between the two mechanisms.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests"; client/elicitation, client/sampling,
//! client/roots.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::context::form::check_answer;
use crate::context::watching::{CallSite, QuestionPoint};
use crate::context::{CallId, Context, Elicit, watching};
use crate::handler::background::BackgroundQuestion;
use crate::jsonrpc::read_json;
use crate::types::{
    ClientFeature, CreateMessageResult, Field, Form, InputRequest, Meta, Root, SamplingRequest,
};

pub use crate::context::question::AskError;
pub(crate) use crate::context::question::{
    CallQuestion, QuestionKey, QuestionParts, QuestionProgress,
};

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
    ///     #[arg(range(1..))]
    ///     nights: u32,
    /// }
    ///
    /// # async fn f(ctx: Context, free: Vec<String>, most: u32) -> Result<()> {
    /// let Pick { room, nights } = ctx
    ///     .elicit("Which room would you like?")
    ///     .field("room", |field| field.choices(free))
    ///     .field("nights", |field| field.range(1..=most))
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

// --- Several questions asked at the same time.

/// Several questions that [`Context::ask`](crate::context::Context::ask) can ask at the same time: a tuple of up to six
/// questions, or a `Vec`. This trait is sealed.
pub trait Questions: Send + sealed::Sealed {
    /// The answers, in the order of the questions.
    type Answers;

    #[doc(hidden)]
    fn answers(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send + use<Self>;
}

mod sealed {
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

/// Polls one of several questions. Callers poll every question each time so that all questions are asked in the same
/// round. Returns `true` if the question has been answered or has failed.
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

            async fn answers(self) -> Result<Self::Answers, AskError> {
                let ($(mut $question,)+) = self;
                // If any question is invalid or not supported by the client, none of them are sent.
                $($question.check()?;)+
                $(let mut $answer = None;)+
                poll_fn(|task| {
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
                .await
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

    async fn answers(mut self) -> Result<Vec<T>, AskError> {
        self.iter().try_for_each(Ask::check)?;
        let mut answers: Vec<Option<T>> = self.iter().map(|_| None).collect();
        poll_fn(|task| {
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
        .await
    }
}

impl Context {
    /// Asks the user to fill in a form (elicitation). `T` must derive `Elicit`.
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
    /// Answers are validated before the handler receives them. If an answer is invalid, the question is asked again.
    /// Forms must not ask for secrets; use [`elicit_url`](Self::elicit_url) instead.
    ///
    /// Source: revisions from 2025-06-18, client/elicitation.
    #[track_caller]
    pub fn elicit<T: Elicit>(&self, message: impl Into<String>) -> Ask<T> {
        let request = InputRequest::Form {
            message: message.into(),
            form: T::form(),
        };
        Ask::new(self, request, |request, answer| {
            let content = read_form(request, answer)?;
            map_accepted(content, |content| T::from_answer(&content))
        })
    }

    /// Asks the user to fill in a form that is built at run time (elicitation). Returns the validated content.
    #[track_caller]
    pub fn elicit_form(&self, message: impl Into<String>, form: Form) -> Ask<Meta> {
        let request = InputRequest::Form {
            message: message.into(),
            form,
        };
        Ask::new(self, request, read_form)
    }

    /// Asks the user to open a URL (elicitation), for interactions that must not pass through the client, such as
    /// entering secrets, making payments or giving consent on another site.
    ///
    /// An answer means only that the user agreed to open the URL, not that they have completed the interaction. Check
    /// your own records to find out whether the interaction is complete, and ask again if it is not. The URL must use
    /// `https:` (or `http:` if it points to the local machine). The URL must not contain personal data and must not be
    /// pre-authenticated; the page must verify that the user who opens it is the user who made this call.
    ///
    /// Source: revisions from 2025-11-25, client/elicitation, "URL Mode".
    #[track_caller]
    pub fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> Ask<()> {
        let request = InputRequest::Url {
            message: message.into(),
            url: url.into(),
        };
        Ask::new(self, request, |_, answer| {
            map_accepted(read_elicit_result(answer)?, |_| Ok(()))
        })
    }

    /// Sends a question from a [`BackgroundCall`](crate::extension::BackgroundCall) to the client and returns the
    /// unchecked result. This can be called by tools and, for legacy clients, by extension methods with
    /// [`forwards_questions`](crate::extension::ExtensionMethod::forwards_questions). The question uses the key of the
    /// [`BackgroundQuestion`], unless that key is empty.
    ///
    /// # Errors
    ///
    /// Returns [`AskError::Failed`] with the client's error, or the reason why there is no answer.
    #[doc(hidden)]
    pub async fn forward_question(
        &self,
        question: &BackgroundQuestion,
    ) -> Result<Box<RawValue>, AskError> {
        let request = InputRequest::Forwarded {
            method: question.method,
            params: question.params.clone(),
        };
        let read = |_: &InputRequest, answer: &str| {
            let answer = RawValue::from_string(answer.to_owned());
            answer
                .map(Elicited::Accepted)
                .map_err(|error| error.to_string())
        };
        let mut ask = Ask::new(self, request, read);
        if !question.key.is_empty() {
            ask = ask.key(&question.key);
        }
        match ask.outcome().await? {
            Elicited::Accepted(answer) => Ok(answer),
            Elicited::Declined | Elicited::Cancelled => Err(AskError::Failed {
                code: -1,
                message: "the client declined".to_owned(),
            }),
        }
    }

    /// Asks the client's model to generate a message (sampling).
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn f(ctx: Context) -> Result<String> {
    /// let message = ctx.sample(SamplingRequest::user("Summarise …").max_tokens(200)).await?;
    /// Ok(message.text())
    /// # }
    /// ```
    ///
    /// If the answer is malformed, the question immediately fails with
    /// [`AskError::Unusable`](crate::context::AskError::Unusable), because it would not help to ask a faulty client again.
    ///
    /// Source: every revision, client/sampling. Deprecated in 2026-07-28.
    #[track_caller]
    pub fn sample(&self, question: SamplingRequest) -> Ask<CreateMessageResult> {
        Ask::new(
            self,
            InputRequest::Sample(Box::new(question)),
            |_, answer| {
                let message = read_json(answer);
                message
                    .map(Elicited::Accepted)
                    .map_err(|_| "it must have `role`, and `content` blocks of a model".to_owned())
            },
        )
    }

    /// Asks the client which directories it is working in (roots). The list may be empty. As with
    /// [`sample`](Self::sample), the question immediately fails with [`AskError::Unusable`](crate::context::AskError::Unusable)
    /// if the answer is malformed.
    ///
    /// Source: every revision, client/roots. Deprecated in 2026-07-28.
    #[track_caller]
    pub fn roots(&self) -> Ask<Vec<Root>> {
        #[derive(Deserialize)]
        struct ListRootsResult {
            roots: Vec<Root>,
        }
        Ask::new(self, InputRequest::Roots, |_, answer| {
            let listed: ListRootsResult = read_json(answer)
                .map_err(|_| "`roots` must be a list of objects with a `uri`".to_owned())?;
            Ok(Elicited::Accepted(listed.roots))
        })
    }

    /// Asks several questions, given as a tuple or a `Vec`, at the same time. If a question fails, its error is
    /// returned immediately. If any question is invalid or not supported by the client, none of them are sent.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn f(ctx: Context) -> Result<()> {
    /// let (roots, said) = ctx.ask((ctx.roots(), ctx.sample(SamplingRequest::user("…")))).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// To wait for all answers even if a question fails, use `tokio::join!` instead.
    pub fn ask<Q: Questions>(
        &self,
        questions: Q,
    ) -> impl Future<Output = Result<Q::Answers, AskError>> + Send + use<Q> {
        questions.answers()
    }

    /// Returns `true` if the client supports elicitation with forms.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        self.asking().can_ask(ClientFeature::Elicitation)
    }

    /// Returns `true` if the client supports elicitation with URLs.
    #[must_use]
    pub fn can_elicit_url(&self) -> bool {
        self.asking().can_ask(ClientFeature::ElicitationUrl)
    }

    /// Returns `true` if the client supports sampling.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.asking().can_ask(ClientFeature::Sampling)
    }

    /// Returns `true` if the client supports roots.
    #[must_use]
    pub fn can_list_roots(&self) -> bool {
        self.asking().can_ask(ClientFeature::Roots)
    }

    /// Returns the call's id. The id is unique to the call and remains the same when the handler runs again with
    /// answers.
    ///
    /// Use it for records and counters that are kept for each call.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        self.asking().call_id()
    }
}

/// The result of an elicitation, as sent by the client.
#[derive(Deserialize)]
struct ElicitResult {
    action: ElicitAction,
    /// Has a meaning only if the user accepted, so anything may stand here otherwise.
    #[serde(default)]
    content: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ElicitAction {
    Accept,
    Decline,
    Cancel,
}

/// Reads the user's decision. The content of an accepted form is not read yet.
fn read_elicit_result(answer: &str) -> Result<Elicited<Option<Box<RawValue>>>, String> {
    let result: ElicitResult = serde_json::from_str(answer)
        .map_err(|_| "`action` must be `accept`, `decline` or `cancel`".to_owned())?;
    Ok(match result.action {
        ElicitAction::Accept => Elicited::Accepted(result.content),
        ElicitAction::Decline => Elicited::Declined,
        ElicitAction::Cancel => Elicited::Cancelled,
    })
}

fn read_form(request: &InputRequest, answer: &str) -> Result<Elicited<Meta>, String> {
    map_accepted(read_elicit_result(answer)?, |content| match request {
        InputRequest::Form { form, .. } => {
            let content = content.map_or(Ok(Meta::new()), |content| read_json(content.get()));
            let content =
                content.map_err(|_| "`content` must be an object of fields".to_owned())?;
            check_answer(form, content)
        }
        _ => Err("it is not an answer to a form".to_owned()),
    })
}

fn map_accepted<T, U>(
    outcome: Elicited<T>,
    read: impl FnOnce(T) -> Result<U, String>,
) -> Result<Elicited<U>, String> {
    Ok(match outcome {
        Elicited::Accepted(answer) => Elicited::Accepted(read(answer)?),
        Elicited::Declined => Elicited::Declined,
        Elicited::Cancelled => Elicited::Cancelled,
    })
}
