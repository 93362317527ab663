//! A single round of a modern call. In each round, the handler runs from the beginning with the answers received so far
//! until it needs an answer that has not arrived yet.
//!
//! A round ends when the handler is pending, at least one question is open, and no `once` block is running. Ending the
//! round while a `once` block is running would abort the block and run it again later. All other work in progress is
//! dropped and repeated in the next round.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as TaskContext, Poll, Waker};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::context::OwnSteps;
use crate::context::{
    AskError, CallId, CallQuestion, OnceClaim, OnceStore, OnceWork, QuestionKey, QuestionParts,
    QuestionProgress, StoreFuture,
};
use crate::handler::handler_error::HandlerError;
use crate::jsonrpc::{Scan, unquote, write_string};
use crate::protocol::{ProtocolVersion, input};
use crate::random;
use crate::sync::lock;
use crate::types::InputRequest;

/// A round in progress.
pub(crate) struct Round {
    state: Mutex<RoundState>,
    /// The arguments as received, to which the sealed state is bound.
    arguments: Box<str>,
    /// The call's own store for `once` results, if it has one.
    steps: Option<OwnSteps>,
}

struct RoundState {
    /// `None` until the call asks its first question or uses `once`.
    memory: Option<Box<CallMemory>>,
    open: Vec<OpenQuestion>,
    once_under_way: usize,
    over: bool,
    /// `true` if the client gets the call's state, with which it can continue the call.
    has_ended: bool,
    /// The journal and questions of a run that was separate from the request, with which this round ends.
    adopted: Option<Box<(Journal, Vec<SentQuestion>)>>,
}

/// The state from which a call resumes.
#[derive(Default)]
pub(crate) struct CallMemory {
    /// The record of earlier rounds.
    pub(crate) journal: Journal,
    /// Answers that arrived without a state, which are used if this run asks the matching questions.
    pub(crate) loose: InputResponses,
}

/// An unanswered question.
struct OpenQuestion {
    asked: SentQuestion,
    waker: Waker,
}

/// A question as sent to the client.
pub(crate) struct SentQuestion {
    pub(crate) identity: QuestionKey,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// Returns an id for a question that needs an id in this protocol version.
fn elicitation_id(question: &CallQuestion, version: ProtocolVersion) -> String {
    match question.request {
        InputRequest::Url { .. } if !version.is_modern() => random::random_id::<16>(),
        _ => String::new(),
    }
}

/// The result of a completed round.
pub(crate) struct RoundEnd {
    pub(crate) journal: Journal,
    pub(crate) open: Vec<SentQuestion>,
    pub(crate) arguments: Box<str>,
}

impl RoundEnd {
    /// Fails if a call has asked the client questions in more than `max` rounds.
    pub(crate) fn check_rounds(&self, max: u16) -> Result<(), HandlerError> {
        if self.journal.round <= max {
            return Ok(());
        }
        Err(HandlerError::exposed(format_args!(
            "asked the client {max} times in a row without finishing"
        )))
    }
}

impl RoundState {
    fn memory(&mut self) -> &mut CallMemory {
        self.memory.get_or_insert_default()
    }
}

impl Round {
    pub(crate) fn new(memory: Option<Box<CallMemory>>, arguments: &str) -> Self {
        Self {
            state: Mutex::new(RoundState {
                memory,
                open: Vec::new(),
                once_under_way: 0,
                over: false,
                has_ended: false,
                adopted: None,
            }),
            arguments: arguments.into(),
            steps: None,
        }
    }

    /// Sets the call's own store for `once` results.
    pub(crate) fn with_steps(mut self, steps: Option<OwnSteps>) -> Self {
        self.steps = steps;
        self
    }

    /// Returns the store in which the next `once` result belongs: the call's own, the server's, or both.
    pub(crate) fn once_store(
        &self,
        of_server: Option<&Arc<dyn OnceStore>>,
    ) -> Option<Arc<dyn OnceStore>> {
        match (&self.steps, of_server) {
            (Some(own), Some(of_server)) if !own.suffice() => {
                Some(Arc::new(BothStores::new(&own.store, of_server)))
            }
            (Some(own), _) => Some(Arc::clone(&own.store)),
            (None, of_server) => of_server.cloned(),
        }
    }

    /// Returns the call's journal so far, in case the call continues elsewhere.
    pub(crate) fn journal(&self, call: CallId) -> Journal {
        let state = self.state();
        let memory = state.memory.as_ref();
        let journal = memory.map(|memory| memory.journal.clone());
        journal.unwrap_or_default().with_call(call)
    }

    /// Returns the call's id, or `None` in its first round.
    pub(crate) fn call_id(&self) -> Option<CallId> {
        self.state().memory.as_ref()?.journal.call_id()
    }

    /// Returns the answer to a question, or adds the question to the open questions.
    pub(crate) fn poll(
        &self,
        question: &mut CallQuestion,
        version: ProtocolVersion,
        most: usize,
        task: &TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>> {
        let state = &mut *self.state();
        if state.over {
            return Poll::Ready(Err(AskError::Gone));
        }
        let identity = &question.identity;
        let CallMemory { journal, loose } = state.memory.get_or_insert_default().as_mut();
        if journal.answer(identity).is_none()
            && let Some(answer) = loose.remove(&identity.key)
        {
            journal.add_answer(identity, answer.get());
        }
        if let Some(answer) = journal.answer(identity) {
            question.progress = QuestionProgress::Over;
            return Poll::Ready(Ok(answer.into()));
        }
        if let Some((code, message)) = journal.failure(&identity.key) {
            question.progress = QuestionProgress::Over;
            return Poll::Ready(Err(AskError::Failed { code, message }));
        }
        let waker = task.waker().clone();
        let mut open = state.open.iter_mut();
        if let Some(open) = open.find(|open| open.asked.identity.key == identity.key) {
            if open.asked.identity.digest != identity.digest {
                let text = format!("two questions have the key `{}`", identity.key);
                return Poll::Ready(Err(AskError::Misused(text)));
            }
            open.waker = waker;
        } else if state.open.len() >= most {
            return Poll::Ready(Err(AskError::too_many(most)));
        } else {
            let asked = SentQuestion {
                identity: identity.clone(),
                method: input::method(&question.request),
                params: input::params(
                    &question.request,
                    version,
                    &elicitation_id(question, version),
                ),
            };
            state.open.push(OpenQuestion { asked, waker });
        }
        question.progress = QuestionProgress::Open;
        Poll::Pending
    }

    /// Rejects an invalid answer. Returns `true`, and the question is asked again, until `max` answers have been
    /// rejected.
    pub(crate) fn reject_answer(&self, key: &str, max: u32) -> bool {
        self.state().memory().journal.reject_answer(key, max)
    }

    /// Withdraws a question that this run of the handler no longer asks.
    pub(crate) fn withdraw(&self, key: &str) {
        let mut state = self.state();
        if !state.over {
            state.open.retain(|open| open.asked.identity.key != key);
        }
    }

    /// Returns the result if the `once` block finished in an earlier round. Otherwise, marks the block as running.
    pub(crate) fn begin_once(&self, name: &str) -> Option<Box<str>> {
        let mut state = self.state();
        let done = state.memory().journal.once_result(name).map(Into::into);
        if done.is_none() {
            state.once_under_way = state.once_under_way.saturating_add(1);
        }
        done
    }

    pub(crate) fn end_once(&self, name: &str, result: Option<&str>) {
        let mut state = self.state();
        state.once_under_way = state.once_under_way.saturating_sub(1);
        if let Some(result) = result {
            state.memory().journal.set_once_result(name, result);
        }
    }

    /// Returns `true` if the round has ended with questions, so that its client can continue the call.
    pub(crate) fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Returns `true` while a `once` block is running.
    pub(crate) fn is_once_under_way(&self) -> bool {
        self.state().once_under_way > 0
    }

    /// Lets the round end with the questions and the journal of a run that was separate from the request. Returns
    /// `false` if the journal cannot be read.
    pub(crate) fn adopt(&self, journal: &str, questions: Vec<QuestionParts>) -> bool {
        let Some(journal) = Journal::from_json(journal.as_bytes()) else {
            return false;
        };
        let questions = questions
            .into_iter()
            .map(|(key, method, params)| SentQuestion {
                identity: QuestionKey {
                    key,
                    digest: String::new(),
                    named: false,
                },
                method,
                params,
            });
        self.state().adopted = Some(Box::new((journal, questions.collect())));
        true
    }

    /// Ends the round if possible and returns its result.
    pub(crate) fn try_end(&self, call: impl FnOnce() -> CallId) -> Option<Box<RoundEnd>> {
        let state = &mut *self.state();
        if let Some(adopted) = state.adopted.take() {
            let (journal, open) = *adopted;
            state.over = true;
            state.has_ended = true;
            return Some(Box::new(RoundEnd {
                journal,
                open,
                arguments: self.arguments.clone(),
            }));
        }
        if state.over || state.open.is_empty() || state.once_under_way > 0 {
            return None;
        }
        state.over = true;
        state.has_ended = true;
        let mut journal = std::mem::take(&mut state.memory().journal);
        journal.end_round(call(), state.open.iter().map(|open| &open.asked.identity));
        Some(Box::new(RoundEnd {
            journal,
            // The wakers are kept for futures that are polled elsewhere.
            open: state
                .open
                .iter_mut()
                .map(|open| SentQuestion {
                    identity: open.asked.identity.clone(),
                    method: open.asked.method,
                    params: std::mem::take(&mut open.asked.params),
                })
                .collect(),
            arguments: self.arguments.clone(),
        }))
    }

    /// Closes all questions. No further questions can be asked.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.over = true;
        let open = std::mem::take(&mut state.open);
        drop(state);
        for open in open {
            open.waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, RoundState> {
        lock(&self.state)
    }
}

// Two stores for `once` results: the call's own store lets the call continue where it left off, and the server's store
// prevents another call from doing the same work.

/// Grants work only if both of its stores grant it.
pub(crate) struct BothStores {
    own: Arc<dyn OnceStore>,
    of_server: Arc<dyn OnceStore>,
}

impl BothStores {
    pub(crate) fn new(own: &Arc<dyn OnceStore>, of_server: &Arc<dyn OnceStore>) -> Self {
        let (own, of_server) = (Arc::clone(own), Arc::clone(of_server));
        Self { own, of_server }
    }
}

impl OnceStore for BothStores {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let own = self.own.begin(work).await?;
            if own != OnceClaim::Granted {
                return Ok(own);
            }
            let claim = self.of_server.begin(work).await?;
            match &claim {
                OnceClaim::Granted => {}
                OnceClaim::Done(result) => self.own.complete(work, result).await?,
                OnceClaim::Taken(_) | OnceClaim::CallerFull | OnceClaim::Full => {
                    self.own.abandon(work).await?;
                }
            }
            Ok(claim)
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.own.complete(work, result).await?;
            self.of_server.complete(work, result).await
        })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.of_server.abandon(work).await?;
            self.own.abandon(work).await
        })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        self.of_server.end(call)
    }
}

// --- A modern call's journal, which carries answers, `once` results, and open questions from one round to the next.
//
// The client holds the sealed journal between rounds. Because a journal is written only when a round ends, its
// existence proves that the call was admitted.
//
// Specification: 2026-07-28, basic/patterns, "Multi round-trip requests".

/// Initial capacity for a journal as JSON, which suffices if the call has asked nothing.
const JOURNAL_CAPACITY: usize = 128;

/// The state that a call keeps between rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// The call's id.
    call: Option<[u8; 16]>,
    /// Number of rounds that have ended.
    pub(crate) round: u16,
    /// What is kept for questions and `once` calls, by their keys and names, as JSON.
    kept: BTreeMap<(JournalPart, String), Box<str>>,
}

/// A part of the journal, with the values that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum JournalPart {
    /// An array of the question's digest, or `null` if the key contains it, and the client's answer.
    Answers,
    /// Number of invalid answers to a question.
    Rejected,
    /// The code and the message of the error with which the client answered.
    Failures,
    /// The result of a `once` call.
    Done,
    /// For a question that was open when the last round ended: its digest, or `null` if the key contains it.
    Open,
}

impl JournalPart {
    const ALL: [Self; 5] = [
        Self::Answers,
        Self::Rejected,
        Self::Failures,
        Self::Done,
        Self::Open,
    ];

    /// Returns the name of the part's member.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Answers => "a",
            Self::Rejected => "n",
            Self::Failures => "f",
            Self::Done => "d",
            Self::Open => "o",
        }
    }
}

/// The answers in a request, by the key of their question. Each answer can be any JSON value.
pub(crate) type InputResponses = BTreeMap<String, Box<RawValue>>;

impl Journal {
    /// Creates the journal for a call that has not asked any questions yet.
    pub(crate) fn of_call(call: CallId) -> Self {
        Self::default().with_call(call)
    }

    /// Sets the call's id.
    pub(crate) fn with_call(mut self, call: CallId) -> Self {
        self.call = Some(call.0);
        self
    }

    /// Parses an unsealed journal.
    pub(crate) fn from_json(json: &[u8]) -> Option<Self> {
        let mut journal = Self::default();
        let mut has_round = false;
        let mut scan = Scan::new(std::str::from_utf8(json).ok()?);
        scan.members(|scan, member| {
            match &*member {
                "i" if scan.peek() == Some(b'[') => journal.call = Some(read_call(scan)?),
                "i" => (scan.next_value()? == "null").then_some(())?,
                "r" => {
                    journal.round = scan.next_number()?.parse().ok()?;
                    has_round = true;
                }
                member => {
                    let part = JournalPart::ALL
                        .into_iter()
                        .find(|part| part.as_str() == member);
                    let Some(part) = part else {
                        // A newer build has written it.
                        return scan.next_value().map(|_| ());
                    };
                    scan.members(|scan, key| {
                        journal.keep(part, key.into_owned(), scan.next_value()?);
                        Some(())
                    })?;
                }
            }
            Some(())
        })?;
        (has_round && scan.peek().is_none()).then_some(journal)
    }

    /// Serializes the journal for sealing.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(JOURNAL_CAPACITY);
        out.extend_from_slice(b"{\"i\":");
        // Serialization cannot fail for numbers.
        let _ = serde_json::to_writer(&mut out, &self.call);
        out.extend_from_slice(b",\"r\":");
        let _ = serde_json::to_writer(&mut out, &self.round);
        let mut last = None;
        for ((part, key), value) in &self.kept {
            if last == Some(*part) {
                out.push(b',');
            } else {
                if last.is_some() {
                    out.push(b'}');
                }
                out.push(b',');
                write_string(&mut out, part.as_str());
                out.extend_from_slice(b":{");
                last = Some(*part);
            }
            write_string(&mut out, key);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        if last.is_some() {
            out.push(b'}');
        }
        out.push(b'}');
        out
    }

    /// Serializes the journal to text.
    pub(crate) fn to_text(&self) -> String {
        String::from_utf8(self.to_json()).unwrap_or_default()
    }

    pub(crate) fn call_id(&self) -> Option<CallId> {
        self.call.map(CallId)
    }

    fn keep(&mut self, part: JournalPart, key: String, json: impl Into<Box<str>>) {
        self.kept.insert((part, key), json.into());
    }

    fn kept(&self, part: JournalPart, key: &str) -> Option<&str> {
        let kept = self.kept.get(&(part, key.to_owned()));
        kept.map(|json| &**json)
    }

    fn remove(&mut self, part: JournalPart, key: &str) -> Option<Box<str>> {
        self.kept.remove(&(part, key.to_owned()))
    }

    /// Moves all answers to the last round's questions into the journal, whether or not they are still needed. Other
    /// answers are left in `responses`.
    pub(crate) fn add_answers(&mut self, responses: &mut InputResponses) {
        let open = self
            .kept
            .keys()
            .filter(|(part, _)| *part == JournalPart::Open);
        let open: Vec<String> = open.map(|(_, key)| key.clone()).collect();
        for key in open {
            let digest = self.remove(JournalPart::Open, &key);
            if let Some((digest, response)) = digest.zip(responses.remove(&key)) {
                self.keep_answer(key, &digest, response.get());
            }
        }
    }

    /// Adds an answer, which is JSON, without checking it. It is validated when its question is asked.
    pub(crate) fn add_answer(&mut self, question: &QuestionKey, answer: &str) {
        let digest = question.named.then_some(&*question.digest);
        self.keep_answer(question.key.clone(), &quoted(digest), answer);
    }

    fn keep_answer(&mut self, key: String, digest: &str, answer: &str) {
        self.keep(JournalPart::Answers, key, format!("[{digest},{answer}]"));
    }

    /// Returns the answer to a question, unless the question has changed.
    pub(crate) fn answer(&self, identity: &QuestionKey) -> Option<&str> {
        let [digest, response] = pair(self.kept(JournalPart::Answers, &identity.key)?)?;
        let is_same = unquoted(digest).is_none_or(|digest| *digest == *identity.digest);
        is_same.then_some(response)
    }

    /// Adds an error as the answer to a question that was open when the last round ended.
    pub(crate) fn add_failure(&mut self, key: &str, code: i64, message: &str) {
        if self.remove(JournalPart::Open, key).is_some() {
            let message = quoted(Some(message));
            self.keep(
                JournalPart::Failures,
                key.to_owned(),
                format!("[{code},{message}]"),
            );
        }
    }

    /// Returns the code and the message of the error with which the client answered a question.
    pub(crate) fn failure(&self, key: &str) -> Option<(i64, String)> {
        let [code, message] = pair(self.kept(JournalPart::Failures, key)?)?;
        Some((code.parse().ok()?, unquoted(message)?.into_owned()))
    }

    /// Counts an invalid answer. If fewer than `max` answers have been rejected, removes the answer and returns `true`,
    /// so that the question may be asked again.
    pub(crate) fn reject_answer(&mut self, key: &str, max: u32) -> bool {
        let rejected = self.kept(JournalPart::Rejected, key);
        let rejected: u32 = rejected.and_then(|count| count.parse().ok()).unwrap_or(0);
        let rejected = rejected.saturating_add(1);
        self.keep(JournalPart::Rejected, key.to_owned(), rejected.to_string());
        let again = rejected < max;
        if again {
            self.remove(JournalPart::Answers, key);
        }
        again
    }

    /// Returns the result of the `once` call with this name.
    pub(crate) fn once_result(&self, name: &str) -> Option<&str> {
        self.kept(JournalPart::Done, name)
    }

    /// Stores the result of the `once` call with this name. Does nothing if it is not JSON, because a store has damaged it.
    pub(crate) fn set_once_result(&mut self, name: &str, result: &str) {
        if is_json(result) {
            self.keep(JournalPart::Done, name.to_owned(), result);
        }
    }

    /// Returns the names of all `once` calls that have a result.
    pub(crate) fn once_names(&self) -> BTreeSet<String> {
        let done = self
            .kept
            .keys()
            .filter(|(part, _)| *part == JournalPart::Done);
        done.map(|(_, name)| name.clone()).collect()
    }

    /// Drops the results of all other `once` calls, because a store keeps them.
    pub(crate) fn keep_once_results(&mut self, names: &BTreeSet<String>) {
        self.kept
            .retain(|(part, name), _| *part != JournalPart::Done || names.contains(name));
    }

    /// Ends the round and records its open questions.
    pub(crate) fn end_round<'a>(
        &mut self,
        call: CallId,
        open: impl Iterator<Item = &'a QuestionKey>,
    ) {
        self.call = Some(call.0);
        self.round = self.round.saturating_add(1);
        self.kept.retain(|(part, _), _| *part != JournalPart::Open);
        for identity in open {
            let digest = identity.named.then_some(&*identity.digest);
            self.keep(JournalPart::Open, identity.key.clone(), quoted(digest));
        }
    }
}

/// Returns `true` if the text is one JSON value that can be read again as part of a journal.
fn is_json(text: &str) -> bool {
    let mut scan = Scan::new(text);
    scan.next_value().is_some() && scan.peek().is_none()
}

/// Returns the two items of an array.
fn pair(json: &str) -> Option<[&str; 2]> {
    let mut items = Vec::with_capacity(2);
    Scan::new(json).items(|scan| {
        items.push(scan.next_value()?);
        Some(())
    })?;
    items.try_into().ok()
}

/// Reads the bytes of a call's id.
fn read_call(scan: &mut Scan<'_>) -> Option<[u8; 16]> {
    let (mut bytes, mut read) = ([0; 16], 0);
    scan.items(|scan| {
        *bytes.get_mut(read)? = scan.next_number()?.parse().ok()?;
        read += 1;
        Some(())
    })?;
    (read == bytes.len()).then_some(bytes)
}

/// Returns a string as JSON, or `null`.
fn quoted(text: Option<&str>) -> String {
    let Some(text) = text else {
        return "null".to_owned();
    };
    let mut json = Vec::new();
    write_string(&mut json, text);
    String::from_utf8(json).unwrap_or_default()
}

/// Returns the string that [`quoted`] has written, or `None` for `null`.
fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    unquote(json).ok()
}

#[cfg(test)]
mod tests {
    use crate::context::rounds::*;

    fn identity(key: &str, digest: &str, named: bool) -> QuestionKey {
        QuestionKey {
            key: key.into(),
            digest: digest.into(),
            named,
        }
    }

    fn responses(json: &str) -> InputResponses {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_journal_accepts_only_answers_to_open_requests() {
        let mut journal = Journal::default();
        let asked = [
            identity("a", "1", false),
            identity("b", "2", true),
            identity("c", "3", true),
        ];
        journal.end_round(CallId([7; 16]), asked.iter());
        let mut journal = Journal::from_json(&journal.to_json()).unwrap();
        let mut given = responses(r#"{"a":{"x":1},"b":{"y":2},"c":12345,"other":{}}"#);
        journal.add_answers(&mut given);
        assert_eq!(given.keys().collect::<Vec<_>>(), ["other"]);
        assert_eq!(journal.answer(&asked[0]), Some(r#"{"x":1}"#));
        assert_eq!(journal.answer(&asked[1]), Some(r#"{"y":2}"#));
        assert_eq!(journal.answer(&asked[2]), Some("12345"));
        assert_eq!(journal.answer(&identity("b", "changed", true)), None);
        assert_eq!(
            (journal.round, journal.call_id()),
            (1, Some(CallId([7; 16])))
        );
    }

    #[test]
    fn rejected_answers_are_requested_again_up_to_a_limit_over_all_rounds() {
        let asked = [identity("a", "1", false)];
        let mut journal = Journal::default();
        for again in [true, false] {
            journal.end_round(CallId([7; 16]), asked.iter());
            journal = Journal::from_json(&journal.to_json()).unwrap();
            journal.add_answers(&mut responses(r#"{"a":{}}"#));
            assert_eq!(journal.reject_answer("a", 2), again);
            assert_eq!(journal.answer(&asked[0]).is_none(), again);
        }
        // The next run must have the same outcome.
        let mut journal = Journal::from_json(&journal.to_json()).unwrap();
        assert_eq!(journal.answer(&asked[0]), Some("{}"));
        assert!(!journal.reject_answer("a", 2));
    }

    #[test]
    fn the_journal_round_trips_through_json() {
        let mut journal = Journal::default();
        journal.set_once_result("charge", "[1,2]");
        journal.add_answer(&identity("a", "", false), "{}");
        journal.end_round(CallId([1; 16]), [].iter());
        let journal = Journal::from_json(&journal.to_json()).unwrap();
        assert_eq!(journal.once_result("charge"), Some("[1,2]"));
        assert_eq!(journal.answer(&identity("a", "", false)), Some("{}"));
        assert_eq!(
            Journal::from_json(b"{}x").map(|journal| journal.round),
            None
        );
    }

    /// Tasks keep journals in stores, which other builds read.
    #[test]
    fn the_stored_format_of_a_journal_is_unchanged() {
        let mut journal = Journal::of_call(CallId([7; 16]));
        let [a, b, c] = ["a\n", "b", "c"].map(|key| identity(key, "x\"", key == "b"));
        journal.end_round(CallId([7; 16]), [&a, &b, &c].into_iter());
        journal.add_failure("c", -32603, "\u{e4}\\");
        journal.add_answers(&mut responses(r#"{"a\n":{"x":[1, 2]},"b":"y"}"#));
        assert!(journal.reject_answer("a\n", 3) && journal.reject_answer("z", 3));
        journal.add_answer(&a, "1.50");
        journal.set_once_result("pay", "null");
        journal.end_round(CallId([7; 16]), [&a, &b].into_iter());
        let stored = concat!(
            r#"{"i":[7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7],"r":2,"#,
            r#""a":{"a\n":[null,1.50],"b":["x\"","y"]},"n":{"a\n":1,"z":1},"f":{"c":[-32603,"ä\\"]},"#,
            r#""d":{"pay":null},"o":{"a\n":null,"b":"x\""}}"#
        );
        assert_eq!(journal.to_text(), stored);
        let read = Journal::from_json(stored.as_bytes()).unwrap();
        assert_eq!(read.to_text(), stored);
        assert_eq!(read.failure("c"), Some((-32603, "\u{e4}\\".to_owned())));
        assert_eq!(read.once_names().into_iter().collect::<Vec<_>>(), ["pay"]);
        assert_eq!(Journal::default().to_text(), r#"{"i":null,"r":0}"#);
        let newer = r#"{"x":1,"i":null,"y":{"a":[]},"r":3}"#;
        assert_eq!(Journal::from_json(newer.as_bytes()).unwrap().round, 3);
        let mut journal = Journal::default();
        for damaged in [
            "",
            "{",
            "1 2",
            &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        ] {
            journal.set_once_result("pay", damaged);
            assert_eq!(journal.once_result("pay"), None, "{damaged}");
        }
        for damaged in [
            r#"{"i":null}"#,
            r#"{"i":1,"r":0}"#,
            r#"{"i":[1],"r":0}"#,
            r#"{"r":0,"a":[]}"#,
            r#"{"r":-1}"#,
            "[]",
            "",
        ] {
            assert!(
                Journal::from_json(damaged.as_bytes()).is_none(),
                "{damaged}"
            );
        }
    }
}

#[cfg(test)]
mod both_stores_tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use crate::context::rounds::*;
    use crate::context::{ClaimId, OnceKind};
    use crate::sync::lock;

    /// The results of one call's work, by its name.
    #[derive(Default)]
    struct Results(std::sync::Mutex<HashMap<String, Option<String>>>);

    impl OnceStore for Results {
        fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
            let claim = match lock(&self.0).get(work.name) {
                None => OnceClaim::Granted,
                Some(None) => OnceClaim::Taken(String::new()),
                Some(Some(result)) => OnceClaim::Done(result.clone()),
            };
            lock(&self.0).entry(work.name.to_owned()).or_default();
            Box::pin(async { Ok(claim) })
        }

        fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
            lock(&self.0).insert(work.name.to_owned(), Some(result.to_owned()));
            Box::pin(async { Ok(()) })
        }

        fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
            lock(&self.0).remove(work.name);
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn a_second_run_of_the_same_once_step_is_not_granted() {
        let of_server: Arc<dyn OnceStore> = Arc::new(Results::default());
        let store = || {
            let own: Arc<dyn OnceStore> = Arc::new(Results::default());
            BothStores::new(&own, &of_server)
        };
        let work = |claim, name| OnceWork {
            call: CallId([7; 16]),
            name,
            claim: ClaimId([claim; 16]),
            owner: "",
            kind: OnceKind::STEP,
            note: "",
            kept: Duration::from_hours(24),
        };
        let (first, second) = (store(), store());
        let (pay, again) = (work(1, "pay"), work(2, "pay"));
        assert_eq!(first.begin(pay).await.unwrap(), OnceClaim::Granted);
        let taken = OnceClaim::Taken(String::new());
        assert_eq!(second.begin(again).await.unwrap(), taken);
        first.complete(pay, "1").await.unwrap();
        let done = OnceClaim::Done("1".to_owned());
        // The first result comes from the call's own store, the second from the server's.
        assert_eq!(first.begin(pay).await.unwrap(), done);
        assert_eq!(second.begin(again).await.unwrap(), done);
        let mail = work(1, "mail");
        assert_eq!(first.begin(mail).await.unwrap(), OnceClaim::Granted);
        first.abandon(mail).await.unwrap();
        let mail = second.begin(work(2, "mail")).await.unwrap();
        assert_eq!(mail, OnceClaim::Granted);
    }
}
