//! Several questions asked at the same time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use crate::context::ask::{Ask, AskError};

/// Several questions that [`Context::ask`](crate::Context::ask) can ask at the same time: a tuple of up to six
/// questions, or a `Vec`. This trait is sealed.
pub trait Questions: Send + sealed::Sealed {
    /// The answers, in the order of the questions.
    type Answers;

    #[doc(hidden)]
    fn answers(self) -> impl Future<Output = Result<Self::Answers, AskError>> + Send + use<Self>;
}

mod sealed {
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

/// Polls one of several questions. Callers poll every question each time so that all questions are asked in the same
/// round. Returns `true` if the question has been answered or has failed.
fn poll_one<T>(
    question: &mut Ask<T>,
    answer: &mut Option<T>,
    task: &mut TaskContext<'_>,
    failure: &mut Option<AskError>,
) -> bool {
    if answer.is_some() {
        return true;
    }
    match Pin::new(question).poll(task) {
        Poll::Ready(Ok(value)) => *answer = Some(value),
        Poll::Ready(Err(error)) => {
            failure.get_or_insert(error);
        }
        Poll::Pending => return false,
    }
    true
}

macro_rules! questions {
    ($($T:ident $question:ident $answer:ident),+) => {
        impl<$($T: Send),+> sealed::Sealed for ($(Ask<$T>,)+) {}

        impl<$($T: Send),+> Questions for ($(Ask<$T>,)+) {
            type Answers = ($($T,)+);

            async fn answers(self) -> Result<Self::Answers, AskError> {
                let ($(mut $question,)+) = self;
                // If any question is invalid or not supported by the client, none of them are sent.
                $($question.check()?;)+
                $(let mut $answer = None;)+
                poll_fn(|task| {
                    let (mut all, mut failure) = (true, None);
                    $(all &= poll_one(&mut $question, &mut $answer, task, &mut failure);)+
                    if let Some(error) = failure {
                        return Poll::Ready(Err(error));
                    }
                    if !all {
                        return Poll::Pending;
                    }
                    match ($($answer.take(),)+) {
                        ($(Some($answer),)+) => Poll::Ready(Ok(($($answer,)+))),
                        _ => Poll::Ready(Err(AskError::Gone)),
                    }
                })
                .await
            }
        }
    };
}
questions!(A q1 a1);
questions!(A q1 a1, B q2 a2);
questions!(A q1 a1, B q2 a2, C q3 a3);
questions!(A q1 a1, B q2 a2, C q3 a3, D q4 a4);
questions!(A q1 a1, B q2 a2, C q3 a3, D q4 a4, E q5 a5);
questions!(A q1 a1, B q2 a2, C q3 a3, D q4 a4, E q5 a5, F q6 a6);

impl<T: Send> sealed::Sealed for Vec<Ask<T>> {}

impl<T: Send> Questions for Vec<Ask<T>> {
    type Answers = Vec<T>;

    async fn answers(mut self) -> Result<Vec<T>, AskError> {
        self.iter().try_for_each(Ask::check)?;
        let mut answers: Vec<Option<T>> = self.iter().map(|_| None).collect();
        poll_fn(|task| {
            let (mut all, mut failure) = (true, None);
            for (question, answer) in self.iter_mut().zip(&mut answers) {
                all &= poll_one(question, answer, task, &mut failure);
            }
            match failure {
                Some(error) => Poll::Ready(Err(error)),
                None if all => Poll::Ready(Ok(answers.drain(..).flatten().collect())),
                None => Poll::Pending,
            }
        })
        .await
    }
}
