//! The server's questions and the client's answers, in both eras.

use serde_json::{Map, Value, json};

use crate::client::{Client, Failure};

/// A question from the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The key of the question in the modern era; the request id in the legacy era.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters, or null.
    pub params: Value,
}

/// The client's answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Sends a result.
    Result(Value),
    /// Sends an error. In the modern era, questions cannot be answered with errors, so nothing is sent.
    Error(i64, String),
    /// Sends two results for the same question. In the modern era, a request can answer each question only once, so
    /// only the first result is sent.
    Twice(Value, Value),
    /// Sends no answer.
    Silence,
}

impl Answer {
    /// Creates the answer that submits a form with the given contents.
    #[must_use]
    pub fn accept(content: Value) -> Self {
        let mut accepted = json!({"action": "accept"});
        accepted["content"] = content;
        Self::Result(accepted)
    }

    /// Creates the answer that declines the question.
    #[must_use]
    pub fn decline() -> Self {
        Self::Result(json!({"action": "decline"}))
    }

    /// Creates the answer that dismisses the question.
    #[must_use]
    pub fn cancel() -> Self {
        Self::Result(json!({"action": "cancel"}))
    }

    /// Creates a model's answer with the given text.
    #[must_use]
    pub fn said(text: &str) -> Self {
        let content = json!({"type": "text", "text": text});
        Self::Result(json!({"role": "assistant", "content": content, "model": "m"}))
    }
}

/// A function that answers questions.
pub(super) type Answerer = Box<dyn FnMut(&Question) -> Answer + Send>;

impl Client {
    /// Sets the function that answers the server's questions from now on.
    pub fn answer(&mut self, answerer: impl FnMut(&Question) -> Answer + Send + 'static) {
        self.answerer = Some(Box::new(answerer));
    }

    /// Calls a method, answers all questions that it asks, and waits for the final result.
    ///
    /// # Errors
    ///
    /// Returns the error that the server answered with.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let mut next = params.clone();
        for _ in 0..100 {
            let result = self.request(method, next).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            next = self.retry(&params, &result);
        }
        panic!("{method} asks for ever");
    }

    /// Answers the questions in a result that asks for input, and returns the parameters that continue the call.
    pub fn retry(&mut self, params: &Value, result: &Value) -> Value {
        self.rounds += 1;
        let mut responses = Map::new();
        for (key, request) in result["inputRequests"].as_object().into_iter().flatten() {
            let question = Question {
                key: key.clone(),
                method: request["method"].as_str().unwrap_or_default().to_owned(),
                params: request["params"].clone(),
            };
            if let Answer::Result(answer) | Answer::Twice(answer, _) = self.say(question) {
                responses.insert(key.clone(), answer);
            }
        }
        let mut next = params.clone();
        next["inputResponses"] = Value::Object(responses);
        if let Some(state) = result.get("requestState") {
            next["requestState"] = state.clone();
        }
        next
    }

    fn say(&mut self, question: Question) -> Answer {
        let answer = match &mut self.answerer {
            Some(answerer) => answerer(&question),
            None => Answer::Silence,
        };
        self.asked.push(question);
        answer
    }

    /// Waits until the server has asked the given number of questions. Works only in the legacy era.
    pub async fn until_asked(&mut self, questions: usize) {
        while self.asked.len() < questions {
            self.take().await;
        }
    }

    pub(super) async fn asked_by_request(&mut self, message: &Value) {
        let question = Question {
            key: message["id"].to_string(),
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            params: message["params"].clone(),
        };
        let (id, result) = (&message["id"], "result");
        let respond = |member: &str, said: Value| json!({"jsonrpc": "2.0", "id": id, member: said});
        let responses = match self.say(question) {
            Answer::Result(said) => vec![respond(result, said)],
            Answer::Twice(said, again) => vec![respond(result, said), respond(result, again)],
            Answer::Error(code, text) => {
                vec![respond("error", json!({"code": code, "message": text}))]
            }
            Answer::Silence => Vec::new(),
        };
        for response in responses {
            self.line(&response.to_string()).await;
        }
    }
}
