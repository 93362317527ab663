//! The questions that the server asks the client of a test, and the answers to them.

use std::sync::Arc;

use crate::client::Question;
use crate::testing::TestClient;
use crate::testing::answer::Response;
use crate::testing::script::Answerer;

impl TestClient {
    /// Adds an answer to a question in a later call. To answer a form, pass a value of the form's type; to answer any
    /// other question, pass a [`Response`]. Answers are considered in the order in which they were added, and each
    /// answer is used for the first question that it can answer. With clients for both eras, each client uses every
    /// answer.
    pub fn answer(&self, answer: impl Into<Response>) {
        let answer = answer.into();
        for side in &self.sides {
            side.script.add_answer(answer.clone());
        }
    }

    /// Sets a function that answers all questions for which no [`answer`](Self::answer) is left. If the function
    /// returns `None`, the test fails.
    pub fn answer_with(
        &self,
        answerer: impl Fn(&Question) -> Option<Response> + Send + Sync + 'static,
    ) {
        let answerer: Answerer = Arc::new(answerer);
        for side in &self.sides {
            side.script.set_answerer(Arc::clone(&answerer));
        }
    }

    /// Returns the questions asked since the last call to this method, in order. With clients for both eras, returns
    /// the modern client's questions.
    ///
    /// # Panics
    ///
    /// Panics if the clients for the two eras received different questions.
    #[must_use]
    #[track_caller]
    pub fn asked(&self) -> Vec<Question> {
        let mut all = self.sides.iter().map(|side| side.script.take_asked());
        let mut last = all.next().unwrap_or_default();
        for next in all {
            let texts = |questions: &[Question]| -> Vec<_> {
                let questions = questions.iter();
                questions
                    .map(|question| (question.method.clone(), question.message().to_owned()))
                    .collect()
            };
            assert_eq!(
                texts(&last),
                texts(&next),
                "the server asked different questions in the two eras"
            );
            last = next;
        }
        last
    }
}
