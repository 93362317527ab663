//! A modern call's journal, which carries answers, `once` results, and open questions from one round to the next.
//!
//! The client holds the sealed journal between rounds. Because a journal is written only when a round ends, its
//! existence proves that the call was admitted.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests".

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::{CallId, QuestionKey};

/// The state that a call keeps between rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// The call's id.
    #[serde(rename = "i")]
    call: Option<[u8; 16]>,
    /// Number of rounds that have ended.
    #[serde(rename = "r")]
    pub(super) round: u16,
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, RecordedAnswer>,
    /// Number of invalid answers to each question, by the question's key.
    #[serde(rename = "n", default, skip_serializing_if = "BTreeMap::is_empty")]
    rejected: BTreeMap<String, u32>,
    /// Errors with which the client answered, by the question's key.
    #[serde(rename = "f", default, skip_serializing_if = "BTreeMap::is_empty")]
    failures: BTreeMap<String, (i64, String)>,
    #[serde(rename = "d", default, skip_serializing_if = "BTreeMap::is_empty")]
    done: BTreeMap<String, Box<RawValue>>,
    /// The questions that were open when the last round ended. If a question's key does not contain its digest, the
    /// digest is stored as well.
    #[serde(rename = "o", default, skip_serializing_if = "BTreeMap::is_empty")]
    open: BTreeMap<String, Option<String>>,
}

/// An answer, along with its question's digest if the key does not contain the digest.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecordedAnswer(Option<String>, Box<RawValue>);

/// The answers in a request, by the key of their question. Each answer can be any JSON value.
pub(super) type InputResponses = BTreeMap<String, Box<RawValue>>;

impl Journal {
    /// Creates the journal for a call that has not asked any questions yet.
    pub(super) fn of_call(call: CallId) -> Self {
        Self::default().with_call(call)
    }

    /// Sets the call's id.
    pub(super) fn with_call(mut self, call: CallId) -> Self {
        self.call = Some(call.0);
        self
    }

    /// Parses an unsealed journal.
    pub(super) fn from_json(json: &[u8]) -> Option<Self> {
        serde_json::from_str(std::str::from_utf8(json).ok()?).ok()
    }

    /// Serializes the journal for sealing.
    pub(super) fn to_json(&self) -> Vec<u8> {
        // Serialization cannot fail for strings, numbers and JSON that has already been parsed.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Serializes the journal to text.
    pub(super) fn to_text(&self) -> String {
        String::from_utf8(self.to_json()).unwrap_or_default()
    }

    pub(super) fn call_id(&self) -> Option<CallId> {
        self.call.map(CallId)
    }

    /// Moves all answers to the last round's questions into the journal, whether or not they are still needed. Other
    /// answers are left in `responses`.
    pub(super) fn add_answers(&mut self, responses: &mut InputResponses) {
        for (key, digest) in std::mem::take(&mut self.open) {
            if let Some(response) = responses.remove(&key) {
                self.add_answer(key, digest, response);
            }
        }
    }

    /// Adds an answer without checking it. The answer is validated when its question is asked.
    pub(super) fn add_answer(
        &mut self,
        key: String,
        digest: Option<String>,
        response: Box<RawValue>,
    ) {
        self.answers.insert(key, RecordedAnswer(digest, response));
    }

    /// Returns the answer to a question, unless the question has changed.
    pub(super) fn answer(&self, identity: &QuestionKey) -> Option<&str> {
        let RecordedAnswer(digest, response) = self.answers.get(&identity.key)?;
        let is_same = digest
            .as_ref()
            .is_none_or(|digest| *digest == identity.digest);
        is_same.then(|| response.get())
    }

    /// Adds an error as the answer to a question that was open when the last round ended.
    pub(super) fn add_failure(&mut self, key: &str, code: i64, message: String) {
        if self.open.remove(key).is_some() {
            self.failures.insert(key.to_owned(), (code, message));
        }
    }

    /// Returns the error with which the client answered a question.
    pub(super) fn failure(&self, key: &str) -> Option<&(i64, String)> {
        self.failures.get(key)
    }

    /// Counts an invalid answer. If fewer than `max` answers have been rejected, removes the answer and returns `true`,
    /// so that the question may be asked again.
    pub(super) fn reject_answer(&mut self, key: &str, max: u32) -> bool {
        let rejected = self.rejected.entry(key.to_owned()).or_default();
        *rejected = rejected.saturating_add(1);
        let again = *rejected < max;
        if again {
            self.answers.remove(key);
        }
        again
    }

    /// Returns the result of the `once` call with this name.
    pub(super) fn once_result(&self, name: &str) -> Option<&str> {
        self.done.get(name).map(|result| result.get())
    }

    /// Stores the result of the `once` call with this name as JSON.
    pub(super) fn set_once_result(&mut self, name: &str, result: &str) {
        if let Ok(result) = RawValue::from_string(result.to_owned()) {
            self.done.insert(name.to_owned(), result);
        }
    }

    /// Returns the names of all `once` calls that have a result.
    pub(super) fn once_names(&self) -> BTreeSet<String> {
        self.done.keys().cloned().collect()
    }

    /// Drops the results of all other `once` calls, because a store keeps them.
    pub(super) fn keep_once_results(&mut self, names: &BTreeSet<String>) {
        self.done.retain(|name, _| names.contains(name));
    }

    /// Ends the round and records its open questions.
    pub(super) fn end_round<'a>(
        &mut self,
        call: CallId,
        open: impl Iterator<Item = &'a QuestionKey>,
    ) {
        self.call = Some(call.0);
        self.round = self.round.saturating_add(1);
        self.open.clear();
        for identity in open {
            let digest = identity.named.then(|| identity.digest.clone());
            self.open.insert(identity.key.clone(), digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn answers_to_open_questions_enter_and_nothing_else() {
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
    fn what_does_not_fit_is_asked_for_again_a_few_times_over_all_rounds() {
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
    fn what_is_remembered_survives_the_journey() {
        let mut journal = Journal::default();
        journal.set_once_result("charge", "[1,2]");
        journal.add_answer(
            "a".into(),
            None,
            RawValue::from_string("{}".into()).unwrap(),
        );
        journal.end_round(CallId([1; 16]), [].iter());
        let journal = Journal::from_json(&journal.to_json()).unwrap();
        assert_eq!(journal.once_result("charge"), Some("[1,2]"));
        assert_eq!(journal.answer(&identity("a", "", false)), Some("{}"));
        assert_eq!(
            Journal::from_json(b"{}x").map(|journal| journal.round),
            None
        );
    }
}
