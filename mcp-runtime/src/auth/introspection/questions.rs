//! The questions that are being asked: one at a time for each token, whose answer all of its requests share.
//!
//! A question lives as long as a request waits for it, and it waits in those requests: nothing is left of a question
//! whose requests have all gone. The number of questions is therefore bounded by the number of requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::answers::TokenDigest;
use crate::lock::lock;

/// Maximum number of concurrent requests to the authorization server. The number is limited because an anonymous caller
/// can trigger a request with every token that it makes up.
const AT_ONCE: usize = 64;
/// Maximum number of these requests for tokens that have not been active before.
const UNKNOWN_AT_ONCE: usize = 48;

/// The answer, or the reason why there is none.
pub(super) type Answer = Result<Arc<Value>, String>;

type SharedQuestion = Shared<BoxFuture<'static, Answer>>;

/// The questions that are being asked.
#[derive(Default)]
pub(super) struct TokenQuestions(Arc<OpenQuestions>);

struct OpenQuestions {
    permits: Semaphore,
    /// Permits for tokens that have not been active before, which they need in addition.
    unknown_permits: Semaphore,
    table: Mutex<QuestionTable>,
}

#[derive(Default)]
struct QuestionTable {
    last: u64,
    open: HashMap<TokenDigest, OpenQuestion>,
}

struct OpenQuestion {
    number: u64,
    answer: WeakShared<BoxFuture<'static, Answer>>,
}

impl Default for OpenQuestions {
    fn default() -> Self {
        Self {
            permits: Semaphore::new(AT_ONCE),
            unknown_permits: Semaphore::new(UNKNOWN_AT_ONCE),
            table: Mutex::default(),
        }
    }
}

impl OpenQuestions {
    /// Waits until a question may be asked.
    async fn permit(&self, was_active: bool) -> [Option<SemaphorePermit<'_>>; 2] {
        // The semaphores are never closed.
        let unknown = if was_active {
            None
        } else {
            self.unknown_permits.acquire().await.ok()
        };
        [unknown, self.permits.acquire().await.ok()]
    }
}

/// Removes a question when it has been answered, or when nobody waits for it any more.
struct RemoveQuestion {
    questions: Arc<OpenQuestions>,
    token: TokenDigest,
    number: u64,
}

impl Drop for RemoveQuestion {
    fn drop(&mut self) {
        let open = &mut lock(&self.questions.table).open;
        // The token may have another question by now.
        if open
            .get(&self.token)
            .is_some_and(|it| it.number == self.number)
        {
            open.remove(&self.token);
        }
    }
}

impl TokenQuestions {
    /// Asks a question about a token, or waits for the answer to the question that is already being asked about it.
    /// `was_active` is `true` if the token has been active before.
    pub(super) async fn ask<F>(
        &self,
        token: TokenDigest,
        was_active: bool,
        question: impl FnOnce() -> F,
    ) -> Answer
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        self.join(token, was_active, question).await
    }

    fn join<F>(
        &self,
        token: TokenDigest,
        was_active: bool,
        question: impl FnOnce() -> F,
    ) -> SharedQuestion
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let mut table = lock(&self.0.table);
        let open = table.open.get(&token);
        if let Some(open) = open.and_then(|open| open.answer.upgrade()) {
            return open;
        }
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let removal = RemoveQuestion {
            questions: Arc::clone(&self.0),
            token,
            number,
        };
        let question = question();
        let asking = async move {
            let removal = removal;
            let _permit = removal.questions.permit(was_active).await;
            let answer = question.await;
            if let Err(problem) = &answer {
                tracing::warn!(
                    problem,
                    "tokens cannot be validated with the authorization server"
                );
            }
            answer.map(Arc::new)
        };
        let asking = asking.boxed().shared();
        if let Some(answer) = asking.downgrade() {
            table.open.insert(token, OpenQuestion { number, answer });
        }
        asking
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::{join_all, pending};
    use serde_json::json;

    use super::*;

    fn token(number: usize) -> TokenDigest {
        let mut token = [0; 32];
        token[..8].copy_from_slice(&number.to_be_bytes());
        token
    }

    fn open(questions: &TokenQuestions) -> usize {
        lock(&questions.0.table).open.len()
    }

    /// Polls once, as a request does that then waits.
    fn begin<F: Future + Unpin>(future: &mut F) -> bool {
        future.now_or_never().is_some()
    }

    #[tokio::test]
    async fn requests_with_one_token_share_one_question_and_its_answer() {
        let (questions, asked) = (TokenQuestions::default(), AtomicUsize::new(0));
        let question = || {
            asked.fetch_add(1, Ordering::SeqCst);
            async {
                tokio::task::yield_now().await;
                Ok(json!({"active": true}))
            }
        };
        let waiting: Vec<_> = (0..120)
            .map(|_| questions.join(token(1), false, question))
            .collect();
        assert!(join_all(waiting).await.iter().all(Result::is_ok));
        assert_eq!((asked.load(Ordering::SeqCst), open(&questions)), (1, 0));
        // An answer is not shared with later requests.
        questions.ask(token(1), false, question).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_question_goes_on_without_its_first_request_and_ends_with_its_last() {
        let questions = TokenQuestions::default();
        let question = || async {
            tokio::task::yield_now().await;
            Ok(json!(7))
        };
        let mut first = questions.join(token(1), false, question);
        let second = questions.join(token(1), false, || async { Err("asked twice".into()) });
        assert!(!begin(&mut first));
        drop(first);
        assert_eq!(*second.await.unwrap(), json!(7));
        let mut waiting = questions.join(token(2), false, pending);
        assert!(!begin(&mut waiting));
        assert_eq!(open(&questions), 1);
        drop(waiting);
        assert_eq!(open(&questions), 0);
        assert_eq!(questions.0.permits.available_permits(), AT_ONCE);
    }

    #[tokio::test]
    async fn unknown_tokens_leave_room_for_tokens_that_were_active() {
        let questions = TokenQuestions::default();
        let mut waiting = Vec::new();
        for number in 0..2 * AT_ONCE {
            let mut question = questions.join(token(number), false, pending);
            assert!(!begin(&mut question));
            waiting.push(question);
        }
        let left = AT_ONCE - UNKNOWN_AT_ONCE;
        assert_eq!(questions.0.permits.available_permits(), left);
        let answered = || async { Ok(json!(true)) };
        let known = questions.ask(token(1_000), true, answered);
        known.now_or_never().expect("there is room").unwrap();
        let mut unknown = questions.join(token(1_001), false, answered);
        assert!(!begin(&mut unknown));
        // The one that has waited the longest goes first.
        drop(waiting.split_off(UNKNOWN_AT_ONCE));
        assert!(!begin(&mut unknown));
        waiting.pop();
        assert!(begin(&mut unknown));
    }
}
