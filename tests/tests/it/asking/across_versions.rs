//! A client with prepared answers that makes a call in several protocol versions and records the questions asked.

use std::collections::VecDeque;

use mcp_runtime::prelude::*;
use serde::Serialize;
use serde_json::Value;
use tests::link::Hub;
use tests::{Answer, Client, Failure, Question, Version};

use super::tamper::spoilt;

/// Makes one call in several protocol versions, with the same answers in each.
#[derive(Debug)]
pub(super) struct AcrossVersions {
    clients: Vec<Client>,
    answers: VecDeque<Answer>,
    /// The tool that a hostile client calls to get the state of another call.
    decoy: Option<String>,
}

impl AcrossVersions {
    /// Creates in-memory clients with the newest protocol version of each era. They support all questions.
    pub(super) fn both(server: Server) -> Self {
        let hub = Hub::serve(server);
        Self::of(Version::ERAS.map(|version| hub.client(version)))
    }

    /// Uses these clients, which have not sent anything yet. Each supports all questions.
    pub(super) fn of(clients: impl IntoIterator<Item = Client>) -> Self {
        Self {
            clients: clients.into_iter().collect(),
            answers: VecDeque::new(),
            decoy: None,
        }
    }

    /// Answers the next question with a form that has these contents; null members are omitted.
    pub(super) fn answer(self, content: impl Serialize) -> Self {
        let mut content = serde_json::to_value(content).expect("a form is JSON");
        if let Some(members) = content.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        self.reply(Answer::accept(content))
    }

    /// Answers the next question with this answer.
    pub(super) fn reply(mut self, answer: Answer) -> Self {
        self.answers.push_back(answer);
        self
    }

    /// Before a call continues with its state, tries to continue with states that do not belong to it, one of them from
    /// a call of `decoy`; all must be refused. Each round is sent twice.
    pub(super) fn hostile(mut self, decoy: &str) -> Self {
        self.decoy = Some(decoy.to_owned());
        self
    }

    /// Calls a tool.
    pub(super) async fn call(self, tool: &str, arguments: Value) -> Outcomes {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    /// Calls a method.
    pub(super) async fn request(self, method: &str, params: Value) -> Outcomes {
        let mut outcomes = Vec::new();
        for mut client in self.clients {
            client.capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}});
            let mut client = client.connect().await;
            let mut answers = self.answers.clone();
            client.answer(move |question| match answers.pop_front() {
                Some(answer) => answer,
                None => panic!("no answer is left for {question:?}"),
            });
            let result = play(&mut client, method, &params, self.decoy.as_deref()).await;
            outcomes.push(Outcome {
                result,
                version: client.version(),
                questions: std::mem::take(&mut client.asked),
                rounds: client.rounds,
            });
        }
        Outcomes(outcomes)
    }
}

/// Calls a method, round by round.
async fn play(
    client: &mut Client,
    method: &str,
    params: &Value,
    decoy: Option<&str>,
) -> std::result::Result<Value, Failure> {
    let Some(decoy) = decoy.filter(|_| client.version().is_modern()) else {
        return client.ask(method, params.clone()).await;
    };
    let state = |result: &Value| result["requestState"].as_str().map(str::to_owned);
    let foreign = client.tool(decoy, json!({})).await;
    let foreign = state(&foreign).expect("a decoy asks");
    let mut other = foreign.clone();
    let mut result = client.request(method, params.clone()).await?;
    while result["resultType"] == "input_required" {
        let next = client.retry(params, &result);
        let own = state(&next).expect("who asks gives a state");
        for (what, state) in spoilt(&own, &other, &foreign) {
            let mut spoilt = next.clone();
            spoilt["requestState"] = json!(state);
            match client.request(method, spoilt).await {
                Err(failure) => assert_eq!(failure.code, -32602, "{what}: {failure:?}"),
                Ok(result) => panic!("a state that is {what} was taken: {result}"),
            }
        }
        // Sent twice, as if the first response had been lost.
        let lost = client.request(method, next.clone()).await;
        result = client.request(method, next).await?;
        let lost = lost?;
        assert_eq!(lost["resultType"], result["resultType"], "{lost} {result}");
        assert_eq!(lost["inputRequests"], result["inputRequests"]);
        other = state(&lost).unwrap_or(other);
    }
    Ok(result)
}

/// The outcome of a call in one protocol version.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The result of the call.
    pub(super) result: std::result::Result<Value, Failure>,
    /// The protocol version.
    pub(super) version: Version,
    /// The questions that the server asked.
    pub(super) questions: Vec<Question>,
    /// Number of results that asked for input.
    pub(super) rounds: usize,
}

impl Outcome {
    /// Returns the text of the outcome, and `true` if it is an error: the text of a tool, a prompt or a resource, or
    /// the message of an error.
    pub(super) fn text(&self) -> (String, bool) {
        match &self.result {
            Err(failure) => (failure.message.clone(), true),
            Ok(result) => {
                let places = [
                    "/content/0/text",
                    "/messages/0/content/text",
                    "/contents/0/text",
                ];
                let text = places.iter().find_map(|place| result.pointer(place));
                let text = text.and_then(Value::as_str).unwrap_or_default();
                (text.to_owned(), result["isError"] == true)
            }
        }
    }
}

/// The outcome of a call in each protocol version.
#[derive(Debug)]
pub(super) struct Outcomes(pub(super) Vec<Outcome>);

impl Outcomes {
    /// Asserts that the call succeeded with this text.
    pub(super) fn says(self, expected: &str) -> Self {
        self.each(|outcome| assert_eq!(outcome.text(), (expected.to_owned(), false), "{outcome:?}"))
    }

    /// Asserts that the call failed with a text that starts with this.
    pub(super) fn refuses(self, expected: &str) -> Self {
        self.each(|outcome| {
            let (text, is_error) = outcome.text();
            assert!(is_error && text.starts_with(expected), "{outcome:?}");
        })
    }

    /// Asserts the number of questions asked.
    pub(super) fn asked(self, questions: usize) -> Self {
        self.each(|outcome| assert_eq!(outcome.questions.len(), questions, "{outcome:?}"))
    }

    /// Asserts the number of results that asked for input, in the modern era.
    pub(super) fn rounds(self, rounds: usize) -> Self {
        self.each(|outcome| {
            let rounds = if outcome.version.is_modern() {
                rounds
            } else {
                0
            };
            assert_eq!(outcome.rounds, rounds, "{outcome:?}");
        })
    }

    fn each(self, check: impl Fn(&Outcome)) -> Self {
        self.0.iter().for_each(check);
        self
    }
}

/// An approval.
#[derive(Elicit, serde::Serialize)]
struct Approval {
    approve: bool,
}

/// Deploys a service.
#[tool(tags("across-versions"))]
async fn deploy(ctx: Context, service: String) -> Result<String> {
    let Approval { approve } = ctx.elicit(format!("Deploy {service}?")).await?;
    Ok(format!("{service}: {approve}"))
}

#[tokio::test]
async fn a_call_is_made_in_both_eras_with_the_same_answers() {
    AcrossVersions::both(Server::new("deploy", "1").only([tool(deploy)]))
        .answer(Approval { approve: true })
        .call("deploy", json!({"service": "shop"}))
        .await
        .says("shop: true")
        .asked(1)
        .rounds(1);
}
