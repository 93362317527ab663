//! The questions that a handler can ask, and the parsing of their answers.
//!
//! `dispatch` delivers the questions to the client.

use std::future::Future;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::context::ask::{Ask, AskError, Elicited, Questions};
use crate::context::form::{Elicit, check_answer};
use crate::context::{CallId, Context};
use crate::handler::background::BackgroundQuestion;
use crate::jsonrpc::read_json;
use crate::types::{
    ClientFeature, CreateMessageResult, Form, InputRequest, Meta, Root, SamplingRequest,
};

impl Context {
    /// Asks the user to fill in a form (elicitation). `T` must derive [`Elicit`](macro@crate::Elicit).
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
    /// [`AskError::Unusable`](crate::AskError::Unusable), because it would not help to ask a faulty client again.
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
    /// [`sample`](Self::sample), the question immediately fails with [`AskError::Unusable`](crate::AskError::Unusable)
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
