//! What a modern call remembers from round to round: answers, results of what is done once, questions that are open.
//!
//! It travels sealed, with the client. That there is one proves that the call was let in: it is made when a round ends.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::{CallId, Place};

/// What a call remembers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Which call it is.
    #[serde(rename = "i")]
    call: Option<[u8; 16]>,
    /// How many rounds have ended.
    #[serde(rename = "r")]
    pub(super) round: u16,
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, Answer>,
    /// How many answers did not fit, by key.
    #[serde(rename = "n", default, skip_serializing_if = "BTreeMap::is_empty")]
    rejected: BTreeMap<String, u32>,
    #[serde(rename = "d", default, skip_serializing_if = "BTreeMap::is_empty")]
    done: BTreeMap<String, Box<RawValue>>,
    /// The questions the last round ended with, and a digest of what was asked if the key does not tell.
    #[serde(rename = "o", default, skip_serializing_if = "BTreeMap::is_empty")]
    open: BTreeMap<String, Option<String>>,
}

/// An answer, and a digest of what was asked if the key does not tell.
#[derive(Debug, Serialize, Deserialize)]
struct Answer(Option<String>, Box<RawValue>);

/// The answers of a request, by key, each the text of any JSON.
pub(super) type Responses = BTreeMap<String, Box<RawValue>>;

impl Journal {
    /// From what was sealed.
    pub(super) fn read(sealed: &[u8]) -> Option<Self> {
        serde_json::from_str(std::str::from_utf8(sealed).ok()?).ok()
    }

    /// To be sealed.
    pub(super) fn write(&self) -> Vec<u8> {
        // Strings, numbers and JSON that was read before always can be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn call(&self) -> Option<CallId> {
        self.call.map(CallId)
    }

    /// The answers to what the last round asked, all of them, whether or not they are needed in the next; others are left.
    pub(super) fn enter(&mut self, responses: &mut Responses) {
        for (key, digest) in std::mem::take(&mut self.open) {
            if let Some(response) = responses.remove(&key) {
                self.take(key, digest, response);
            }
        }
    }

    /// Enters one answer, of any form: the question's reader finds out if it fits.
    pub(super) fn take(&mut self, key: String, digest: Option<String>, response: Box<RawValue>) {
        self.answers.insert(key, Answer(digest, response));
    }

    /// The answer to a question, unless it now asks something else.
    pub(super) fn answer(&self, place: &Place) -> Option<&str> {
        let Answer(digest, response) = self.answers.get(&place.key)?;
        let is_same = digest.as_ref().is_none_or(|digest| *digest == place.digest);
        is_same.then(|| response.get())
    }

    /// An answer does not fit. It is forgotten, and so asked for again, unless that many did not; says whether it is.
    pub(super) fn reject(&mut self, key: &str, most: u32) -> bool {
        let rejected = self.rejected.entry(key.to_owned()).or_default();
        *rejected = rejected.saturating_add(1);
        let again = *rejected < most;
        if again {
            self.answers.remove(key);
        }
        again
    }

    /// What something that is done once came to.
    pub(super) fn done(&self, name: &str) -> Option<&str> {
        self.done.get(name).map(|result| result.get())
    }

    /// Something was done once, and came to this JSON.
    pub(super) fn set_done(&mut self, name: &str, result: &str) {
        if let Ok(result) = RawValue::from_string(result.to_owned()) {
            self.done.insert(name.to_owned(), result);
        }
    }

    /// The round ends with these questions.
    pub(super) fn end_round<'a>(&mut self, call: CallId, open: impl Iterator<Item = &'a Place>) {
        self.call = Some(call.0);
        self.round = self.round.saturating_add(1);
        self.open.clear();
        for place in open {
            let digest = place.named.then(|| place.digest.clone());
            self.open.insert(place.key.clone(), digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(key: &str, digest: &str, named: bool) -> Place {
        Place {
            key: key.into(),
            digest: digest.into(),
            named,
        }
    }

    fn responses(json: &str) -> Responses {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn answers_to_open_questions_enter_and_nothing_else() {
        let mut journal = Journal::default();
        let asked = [
            place("a", "1", false),
            place("b", "2", true),
            place("c", "3", true),
        ];
        journal.end_round(CallId([7; 16]), asked.iter());
        let mut journal = Journal::read(&journal.write()).unwrap();
        let mut given = responses(r#"{"a":{"x":1},"b":{"y":2},"c":12345,"other":{}}"#);
        journal.enter(&mut given);
        assert_eq!(given.keys().collect::<Vec<_>>(), ["other"]);
        assert_eq!(journal.answer(&asked[0]), Some(r#"{"x":1}"#));
        assert_eq!(journal.answer(&asked[1]), Some(r#"{"y":2}"#));
        assert_eq!(journal.answer(&asked[2]), Some("12345"));
        assert_eq!(journal.answer(&place("b", "changed", true)), None);
        assert_eq!((journal.round, journal.call()), (1, Some(CallId([7; 16]))));
    }

    #[test]
    fn what_does_not_fit_is_asked_for_again_a_few_times_over_all_rounds() {
        let asked = [place("a", "1", false)];
        let mut journal = Journal::default();
        for again in [true, false] {
            journal.end_round(CallId([7; 16]), asked.iter());
            journal = Journal::read(&journal.write()).unwrap();
            journal.enter(&mut responses(r#"{"a":{}}"#));
            assert_eq!(journal.reject("a", 2), again);
            assert_eq!(journal.answer(&asked[0]).is_none(), again);
        }
        // The next run comes to the same end.
        let mut journal = Journal::read(&journal.write()).unwrap();
        assert_eq!(journal.answer(&asked[0]), Some("{}"));
        assert!(!journal.reject("a", 2));
    }

    #[test]
    fn what_is_remembered_survives_the_journey() {
        let mut journal = Journal::default();
        journal.set_done("charge", "[1,2]");
        journal.take(
            "a".into(),
            None,
            RawValue::from_string("{}".into()).unwrap(),
        );
        journal.end_round(CallId([1; 16]), [].iter());
        let journal = Journal::read(&journal.write()).unwrap();
        assert_eq!(journal.done("charge"), Some("[1,2]"));
        assert_eq!(journal.answer(&place("a", "", false)), Some("{}"));
        assert_eq!(Journal::read(b"{}x").map(|journal| journal.round), None);
    }
}
