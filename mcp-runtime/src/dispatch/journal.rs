//! A modern call's journal, which carries answers, `once` results, and open questions from one round to the next.
//!
//! The client holds the sealed journal between rounds. Because a journal is written only when a round ends, its
//! existence proves that the call was admitted.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests".

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::context::{CallId, QuestionKey};
use crate::jsonrpc::{Scan, unquote, write_string};

/// Initial capacity for a journal as JSON, which suffices if the call has asked nothing.
const CAPACITY: usize = 128;

/// The state that a call keeps between rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// The call's id.
    call: Option<[u8; 16]>,
    /// Number of rounds that have ended.
    pub(super) round: u16,
    /// What is kept for questions and `once` calls, by their keys and names, as JSON.
    kept: BTreeMap<(Part, String), Box<str>>,
}

/// A part of the journal, with the values that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
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

impl Part {
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
                    let part = Part::ALL.into_iter().find(|part| part.as_str() == member);
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
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(CAPACITY);
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
    pub(super) fn to_text(&self) -> String {
        String::from_utf8(self.to_json()).unwrap_or_default()
    }

    pub(super) fn call_id(&self) -> Option<CallId> {
        self.call.map(CallId)
    }

    fn keep(&mut self, part: Part, key: String, json: impl Into<Box<str>>) {
        self.kept.insert((part, key), json.into());
    }

    fn kept(&self, part: Part, key: &str) -> Option<&str> {
        let kept = self.kept.get(&(part, key.to_owned()));
        kept.map(|json| &**json)
    }

    fn remove(&mut self, part: Part, key: &str) -> Option<Box<str>> {
        self.kept.remove(&(part, key.to_owned()))
    }

    /// Moves all answers to the last round's questions into the journal, whether or not they are still needed. Other
    /// answers are left in `responses`.
    pub(super) fn add_answers(&mut self, responses: &mut InputResponses) {
        let open = self.kept.keys().filter(|(part, _)| *part == Part::Open);
        let open: Vec<String> = open.map(|(_, key)| key.clone()).collect();
        for key in open {
            let digest = self.remove(Part::Open, &key);
            if let Some((digest, response)) = digest.zip(responses.remove(&key)) {
                self.keep_answer(key, &digest, response.get());
            }
        }
    }

    /// Adds an answer, which is JSON, without checking it. It is validated when its question is asked.
    pub(super) fn add_answer(&mut self, question: &QuestionKey, answer: &str) {
        let digest = question.named.then_some(&*question.digest);
        self.keep_answer(question.key.clone(), &quoted(digest), answer);
    }

    fn keep_answer(&mut self, key: String, digest: &str, answer: &str) {
        self.keep(Part::Answers, key, format!("[{digest},{answer}]"));
    }

    /// Returns the answer to a question, unless the question has changed.
    pub(super) fn answer(&self, identity: &QuestionKey) -> Option<&str> {
        let [digest, response] = pair(self.kept(Part::Answers, &identity.key)?)?;
        let is_same = unquoted(digest).is_none_or(|digest| *digest == *identity.digest);
        is_same.then_some(response)
    }

    /// Adds an error as the answer to a question that was open when the last round ended.
    pub(super) fn add_failure(&mut self, key: &str, code: i64, message: &str) {
        if self.remove(Part::Open, key).is_some() {
            let message = quoted(Some(message));
            self.keep(
                Part::Failures,
                key.to_owned(),
                format!("[{code},{message}]"),
            );
        }
    }

    /// Returns the code and the message of the error with which the client answered a question.
    pub(super) fn failure(&self, key: &str) -> Option<(i64, String)> {
        let [code, message] = pair(self.kept(Part::Failures, key)?)?;
        Some((code.parse().ok()?, unquoted(message)?.into_owned()))
    }

    /// Counts an invalid answer. If fewer than `max` answers have been rejected, removes the answer and returns `true`,
    /// so that the question may be asked again.
    pub(super) fn reject_answer(&mut self, key: &str, max: u32) -> bool {
        let rejected = self.kept(Part::Rejected, key);
        let rejected: u32 = rejected.and_then(|count| count.parse().ok()).unwrap_or(0);
        let rejected = rejected.saturating_add(1);
        self.keep(Part::Rejected, key.to_owned(), rejected.to_string());
        let again = rejected < max;
        if again {
            self.remove(Part::Answers, key);
        }
        again
    }

    /// Returns the result of the `once` call with this name.
    pub(super) fn once_result(&self, name: &str) -> Option<&str> {
        self.kept(Part::Done, name)
    }

    /// Stores the result of the `once` call with this name. Does nothing if it is not JSON, because a store has damaged it.
    pub(super) fn set_once_result(&mut self, name: &str, result: &str) {
        if is_json(result) {
            self.keep(Part::Done, name.to_owned(), result);
        }
    }

    /// Returns the names of all `once` calls that have a result.
    pub(super) fn once_names(&self) -> BTreeSet<String> {
        let done = self.kept.keys().filter(|(part, _)| *part == Part::Done);
        done.map(|(_, name)| name.clone()).collect()
    }

    /// Drops the results of all other `once` calls, because a store keeps them.
    pub(super) fn keep_once_results(&mut self, names: &BTreeSet<String>) {
        self.kept
            .retain(|(part, name), _| *part != Part::Done || names.contains(name));
    }

    /// Ends the round and records its open questions.
    pub(super) fn end_round<'a>(
        &mut self,
        call: CallId,
        open: impl Iterator<Item = &'a QuestionKey>,
    ) {
        self.call = Some(call.0);
        self.round = self.round.saturating_add(1);
        self.kept.retain(|(part, _), _| *part != Part::Open);
        for identity in open {
            let digest = identity.named.then_some(&*identity.digest);
            self.keep(Part::Open, identity.key.clone(), quoted(digest));
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
    fn the_stored_form_stays_as_it_is() {
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
