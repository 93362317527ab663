//! Requests in several steps: lists of several pages, calls of several rounds.

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::client::message::{Failure, Question};
use crate::protocol::ProtocolVersion;

/// Most pages of a list, and most rounds of a call: more than a server gives that ever ends.
const MOST_STEPS: usize = 10_000;

/// A list of what a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl Listed {
    pub(crate) const ALL: [Self; 4] =
        [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The member of a page that holds the items.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of an item by which it is known.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The capability a server has that offers it.
    const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

impl Client {
    /// Whether the server says that it has such things.
    pub(crate) fn offers(&self, list: Listed) -> bool {
        self.offered.get(list.capability()).is_some()
    }

    /// All of a list; empty if the server does not offer it.
    pub(crate) async fn list(&self, list: Listed) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        if !self.offers(list) {
            return Ok(items);
        }
        let mut params = json!({});
        for _ in 0..MOST_STEPS {
            let mut page = self.request(list.method(), params).await?;
            if let Value::Array(more) = page[list.member()].take() {
                items.extend(more);
            }
            match page["nextCursor"].take() {
                Value::Null => return Ok(items),
                cursor => params = json!({"cursor": cursor}),
            }
        }
        Err(Failure::Broken("the list does not end"))
    }

    /// Calls a method, answers what is asked on the way, and gives what it comes to.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let mut next = params.clone();
        for _ in 0..MOST_STEPS {
            let mut result = self.request(method, next).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            self.host().round();
            let mut responses = Map::new();
            if let Value::Object(questions) = result["inputRequests"].take() {
                for (key, mut question) in questions {
                    let question = Question {
                        method: question["method"].as_str().unwrap_or_default().to_owned(),
                        params: question["params"].take(),
                    };
                    let answer = self.host().answer(&question);
                    responses.insert(key, answer.map_err(Failure::Unanswered)?);
                }
            }
            next = params.clone();
            next["inputResponses"] = Value::Object(responses);
            if let Some(state) = result.get_mut("requestState") {
                next["requestState"] = state.take();
            }
        }
        Err(Failure::Broken("the call does not end"))
    }

    /// Completes an argument of a prompt, or a variable of a template, given earlier ones.
    pub(crate) async fn complete(
        &self,
        reference: Value,
        argument: &str,
        partial: &str,
        earlier: Value,
    ) -> Result<Value, Failure> {
        let mut params =
            json!({"ref": reference, "argument": {"name": argument, "value": partial}});
        // Older revisions have no context.
        if self.version() >= ProtocolVersion::V2025_06_18
            && earlier
                .as_object()
                .is_some_and(|earlier| !earlier.is_empty())
        {
            params["context"] = json!({"arguments": earlier});
        }
        self.request("completion/complete", params).await
    }
}
