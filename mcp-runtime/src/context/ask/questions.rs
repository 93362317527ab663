//! What a handler can ask, and how each answer is read.
//!
//! How a question travels is not decided here.

use std::future::Future;

use serde::Deserialize;

use crate::context::ask::{Ask, AskError, Elicited, Questions};
use crate::context::form::{Elicit, check_answer};
use crate::context::{CallId, Context};
use crate::types::{ClientFeature, CreateMessageResult, Form, InputRequest, Meta, Root, Sample};

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
    /// A malformed answer is [`AskError::Unusable`](crate::AskError::Unusable) at once: asking again would not mend the client.
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

    /// Asks which directories the client works in. May be none. A malformed answer is
    /// [`AskError::Unusable`](crate::AskError::Unusable) at once, as for [`sample`](Self::sample).
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
    /// If one of them may not be asked, none is.
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
