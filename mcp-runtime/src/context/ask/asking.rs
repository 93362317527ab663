//! The interface through which a call's context sends questions to the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use serde_json::Value;
use tokio::time::Sleep;

use super::error::AskError;
use crate::context::{CallId, OnceStore};
use crate::types::{ClientFeature, InputRequest};

/// Sends questions to the client. Implemented by `dispatch`.
pub(crate) trait QuestionTransport: Send + Sync {
    /// Returns `true` if the client currently supports this kind of question.
    fn can_ask(&self, feature: ClientFeature) -> bool;
    /// Checks that a question is valid and that the client supports it.
    fn check(&self, request: &InputRequest) -> Result<(), AskError>;
    /// Assigns a key that distinguishes this question from other questions in the same run.
    fn identify(&self, request: &InputRequest) -> QuestionKey;
    /// Returns the key used on the wire for a name chosen by the author.
    fn key(&self, name: &str) -> String;
    /// Sends the question or polls for its answer. The answer is JSON text and can contain any value.
    fn poll(
        &self,
        question: &mut CallQuestion,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>>;
    /// Rejects an invalid answer. Returns an error if the question must not be asked again.
    fn reject(&self, question: &mut CallQuestion, problem: String) -> Result<(), AskError>;
    /// Withdraws a question whose answer is no longer awaited.
    fn withdraw(&self, question: &mut CallQuestion);

    /// Begins a run of the handler. Middleware may run the handler several times.
    fn begin_run(&self);
    /// Ends a run.
    fn end_run(&self);
    /// Returns the call's id, which is the same in all of its rounds.
    fn call_id(&self) -> CallId;
    /// Returns `true` if the request continues an earlier round. Its client can send such a request again.
    fn is_continued(&self) -> bool;
    /// Returns the call's journal so far, in case the call continues elsewhere.
    fn journal(&self) -> String;
    /// Ends the call's round, once the handler is pending, with the questions and the journal of a run that is separate
    /// from the request. Returns `false` if the call has no rounds.
    fn end_round_with(&self, _journal: &str, _questions: Vec<DetachedQuestion>) -> bool {
        false
    }
    /// Starts work that must run only once. Returns its result if an earlier round has already completed it.
    fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError>;
    /// Ends work started by `begin_once` and records its result if it succeeded.
    fn end_once(&self, name: &str, result: Option<&str>);
    /// Returns `true` while work that must run only once is running.
    fn is_once_under_way(&self) -> bool;
    /// Returns the store for work that must run only once, if a store is configured and applies to this call.
    fn once_store(&self) -> Option<Arc<dyn OnceStore>>;
}

/// A question from a run that is separate from the request: its key, method and parameters.
pub(crate) type DetachedQuestion = (String, &'static str, Value);

/// A question asked during one run of a handler.
pub(crate) struct CallQuestion {
    pub(crate) request: InputRequest,
    pub(crate) identity: QuestionKey,
    pub(crate) progress: QuestionProgress,
    /// The number of invalid answers in this run.
    pub(crate) rejected: u32,
}

/// Identifies a question.
#[derive(Clone, Debug)]
pub(crate) struct QuestionKey {
    /// The key on the wire.
    pub(crate) key: String,
    /// A digest of the question's content.
    pub(crate) digest: String,
    /// `true` if the author set the key, in which case it does not depend on the content.
    pub(crate) named: bool,
}

/// A question's state.
pub(crate) enum QuestionProgress {
    Not,
    /// Waiting for the response to the request with this id, until the timer fires.
    Waiting(u64, Pin<Box<Sleep>>),
    /// The question will be returned to the client when the round ends.
    Open,
    Over,
}
