//! A task's state between runs, as text in its store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ErrorObject;
use crate::extension::{BackgroundQuestion, QuestionAnswer};

/// A task's state between two runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TaskState {
    /// The call's journal.
    pub(super) journal: String,
    /// `true` if the task began with its call's first request. No request can then do the call's work again, because
    /// no client has received a state to resend.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_first: bool,
    /// The unanswered questions, keyed by their wire keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) open: BTreeMap<String, TaskQuestion>,
    /// The answers received since the last run, keyed by their journal keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, StoredAnswer>,
    /// All keys that have been used on the wire; keys are not reused during a task's lifetime.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    used: BTreeSet<String>,
}

/// An unanswered question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TaskQuestion {
    /// The key in the journal.
    key: String,
    pub(super) method: AskedMethod,
    pub(super) params: Value,
}

/// A question's method.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum AskedMethod {
    #[serde(rename = "elicitation/create")]
    Elicit,
    #[serde(rename = "sampling/createMessage")]
    Sample,
    #[serde(rename = "roots/list")]
    Roots,
}

impl AskedMethod {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Elicit => "elicitation/create",
            Self::Sample => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "sampling/createMessage" => Self::Sample,
            "roots/list" => Self::Roots,
            _ => Self::Elicit,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum StoredAnswer {
    #[serde(rename = "r")]
    Result(Box<RawValue>),
    #[serde(rename = "e")]
    Error(i32, String),
}

impl TaskState {
    /// Creates the state for a new task, which the call became in its first request or in a later round.
    pub(super) fn new(journal: &str, is_first: bool) -> Self {
        Self {
            journal: journal.to_owned(),
            is_first,
            ..Self::default()
        }
    }

    /// Reads a state written by [`to_text`](Self::to_text). Returns `None` for any other text.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn to_text(&self) -> Arc<str> {
        // Serialization cannot fail for strings, numbers and JSON that has already been parsed.
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// Replaces the questions with those from the latest run, each under its own key.
    pub(super) fn ask(&mut self, journal: String, questions: Vec<BackgroundQuestion>) {
        self.journal = journal;
        self.answers.clear();
        self.open.clear();
        for question in questions {
            let key = self.unused_key(&question.key);
            self.used.insert(key.clone());
            let open = TaskQuestion {
                key: question.key,
                method: AskedMethod::named(question.method),
                params: question.params,
            };
            self.open.insert(key, open);
        }
    }

    fn unused_key(&self, wanted: &str) -> String {
        let mut key = wanted.to_owned();
        let mut number = 1_usize;
        while self.used.contains(&key) {
            number = number.saturating_add(1);
            key = format!("{wanted}-{number}");
        }
        key
    }

    /// Adds the answer to a question. Returns `false` if no question with this key is open.
    pub(super) fn answer(&mut self, key: &str, answer: QuestionAnswer) -> bool {
        let Some(question) = self.open.remove(key) else {
            return false;
        };
        let answer = match answer {
            Ok(result) => StoredAnswer::Result(result),
            Err(error) => StoredAnswer::Error(error.code, error.message),
        };
        self.answers.insert(question.key, answer);
        true
    }

    /// Takes the answers received since the last run.
    pub(super) fn take_answers(
        &mut self,
    ) -> impl Iterator<Item = (String, QuestionAnswer)> + use<> {
        let answers = std::mem::take(&mut self.answers).into_iter();
        answers.map(|(key, answer)| {
            let answer = match answer {
                StoredAnswer::Result(result) => Ok(result),
                StoredAnswer::Error(code, message) => Err(ErrorObject::new(code, message)),
            };
            (key, answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(key: &str) -> BackgroundQuestion {
        BackgroundQuestion {
            key: key.into(),
            method: "elicitation/create",
            params: Value::Null,
        }
    }

    // Covers: XTASK-06
    #[test]
    fn a_key_is_never_used_twice() {
        let mut state = TaskState::new("{}", true);
        let mut seen = Vec::new();
        for _ in 0..3 {
            state.ask("{}".into(), vec![question("a"), question("a-2")]);
            seen.extend(state.open.keys().cloned());
            state = TaskState::read(&state.to_text()).unwrap();
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 6, "{seen:?}");
    }

    #[test]
    fn an_answer_is_kept_under_the_key_of_the_journal() {
        let mut state = TaskState::new("{}", true);
        state.ask("1".into(), vec![question("a")]);
        state.ask("2".into(), vec![question("a"), question("b")]);
        assert!(!state.answer("a", Ok(RawValue::NULL.to_owned())));
        assert!(state.answer("a-2", Ok(RawValue::NULL.to_owned())));
        assert!(state.answer("b", Err(ErrorObject::new(-1, "no"))));
        let mut state = TaskState::read(&state.to_text()).unwrap();
        assert_eq!((&*state.journal, state.open.len()), ("2", 0));
        let answers: Vec<_> = state.take_answers().collect();
        assert!(matches!(&answers[..], [(a, Ok(_)), (b, Err(_))] if a == "a" && b == "b"));
    }
}
