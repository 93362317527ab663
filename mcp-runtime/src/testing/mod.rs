//! A client for tests of servers, in memory, in both eras at once. With feature `testing`, for dev-dependencies.
//!
//! ```standalone_crate
//! use mcp_runtime::prelude::*;
//! use mcp_runtime::testing::TestClient;
//!
//! /// Adds two integers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # async fn test() {
//! let client = TestClient::both(new_server!()).await;
//! assert_eq!(client.call("add", json!({"a": 1, "b": 2})).await.unwrap().text(), "3");
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
//! ```

mod agree;
mod answer;
mod connect;
mod results;
mod script;
mod surface;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Failure, Listed};
pub use crate::client::{Notice, Question};
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::types::{
    Completion, CompletionReference, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, Tool,
};
use agree::Settled;
pub use answer::Answer;
pub use connect::Connect;
pub use results::{CallResult, PromptResult, ReadResult};
use script::Side;

/// A client of a server in this process, over the full protocol.
///
/// [`both`](Self::both) is two clients of one server, one of each era. Every request is made by both, first in the legacy
/// era, and what it comes to must be the same; the result of the modern era is given. So a call is made *twice*: where the
/// second one comes to something else because there was a first, [`each`](Self::each) has a server for each client, and
/// [`legacy`](Self::legacy) and [`modern`](Self::modern) have one client only.
///
/// Log messages of every level are asked for. There are no time limits, so that paused time
/// (`#[tokio::test(start_paused = true)]`) runs no further than the handlers take. A request whose future is dropped is
/// cancelled. The server ends when the client is dropped.
///
/// # Panics
///
/// All methods panic where there is nothing to compare with an expectation: the eras disagree, a question has no answer, the
/// server has ended.
#[derive(Debug)]
pub struct TestClient {
    /// One for each era under test, the modern one last.
    sides: Vec<Side>,
}

impl TestClient {
    /// Clients of both eras, 2025-11-25 and 2026-07-28, of one server.
    pub fn both(server: crate::Server) -> Connect {
        Connect::new(vec![server], &["2025-11-25", "2026-07-28"])
    }

    /// Clients of both eras, each with a server of its own, which this makes.
    pub fn each(server: impl Fn() -> crate::Server) -> Connect {
        Connect::new(vec![server(), server()], &["2025-11-25", "2026-07-28"])
    }

    /// A client of 2025-11-25.
    pub fn legacy(server: crate::Server) -> Connect {
        Self::new(server, "2025-11-25")
    }

    /// A client of 2026-07-28.
    pub fn modern(server: crate::Server) -> Connect {
        Self::new(server, "2026-07-28")
    }

    /// A client of this revision: `2024-11-05`, `2025-03-26`, `2025-06-18`, `2025-11-25` or `2026-07-28`.
    #[expect(
        clippy::new_ret_no_self,
        reason = "what it gives becomes one when it is awaited"
    )]
    pub fn new(server: crate::Server, revision: &'static str) -> Connect {
        Connect::new(vec![server], &[revision])
    }

    /// Calls a tool. Arguments are an object.
    ///
    /// # Errors
    ///
    /// The error of the protocol, such as that there is no such tool. What a tool says went wrong is a result:
    /// [`CallResult::error_text`]. That the client lacks a capability is an error in the modern era only.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, ErrorObject> {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.settle("tools/call", params).await?;
        let result = read("tools/call", result);
        let version = self.sides.last().map(|side| side.client.version());
        Ok(CallResult::new(
            tool,
            version.unwrap_or(ProtocolVersion::LATEST),
            result,
        ))
    }

    /// Gets a prompt. Arguments are an object of texts.
    ///
    /// # Errors
    ///
    /// What the server says is wrong.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<PromptResult, ErrorObject> {
        let params = json!({"name": name, "arguments": arguments});
        let result = self.settle("prompts/get", params).await?;
        Ok(PromptResult(read::<GetPromptResult>("prompts/get", result)))
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// What the server says is wrong.
    pub async fn read(&self, uri: &str) -> Result<ReadResult, ErrorObject> {
        let result = self.settle("resources/read", json!({"uri": uri})).await?;
        Ok(ReadResult(read::<ReadResourceResult>(
            "resources/read",
            result,
        )))
    }

    /// Completes an argument of a prompt, given earlier ones: an object of texts, perhaps empty.
    ///
    /// # Errors
    ///
    /// What the server says is wrong.
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        partial: &str,
        earlier: Value,
    ) -> Result<Completion, ErrorObject> {
        let name = prompt.to_owned();
        let reference = CompletionReference::Prompt { name };
        self.complete(&reference, argument, partial, &earlier).await
    }

    /// Completes a variable of a resource template, given earlier ones: an object of texts, perhaps empty.
    ///
    /// # Errors
    ///
    /// What the server says is wrong.
    pub async fn complete_template(
        &self,
        uri_template: &str,
        variable: &str,
        partial: &str,
        earlier: Value,
    ) -> Result<Completion, ErrorObject> {
        let uri = uri_template.to_owned();
        let reference = CompletionReference::Resource { uri };
        self.complete(&reference, variable, partial, &earlier).await
    }

    async fn complete(
        &self,
        reference: &CompletionReference,
        argument: &str,
        partial: &str,
        earlier: &Value,
    ) -> Result<Completion, ErrorObject> {
        let mut settled = Settled::new("completion/complete");
        for side in &self.sides {
            let completed =
                side.client
                    .complete(json!(reference), argument, partial, earlier.clone());
            settled.add(side, refused(side, completed.await));
        }
        let mut result = settled.outcome()?;
        Ok(read("completion/complete", result["completion"].take()))
    }

    /// All tools.
    pub async fn tools(&self) -> Vec<Tool> {
        self.list(Listed::Tools).await
    }

    /// All prompts.
    pub async fn prompts(&self) -> Vec<Prompt> {
        self.list(Listed::Prompts).await
    }

    /// All resources with an address of their own, and those that templates list.
    pub async fn resources(&self) -> Vec<Resource> {
        self.list(Listed::Resources).await
    }

    /// All resource templates.
    pub async fn resource_templates(&self) -> Vec<ResourceTemplate> {
        self.list(Listed::Templates).await
    }

    /// All pages of a list. The names must agree: what else is said depends on the revision.
    async fn list<T: DeserializeOwned>(&self, list: Listed) -> Vec<T> {
        let mut settled = Settled::new(list.member());
        let mut all = Vec::new();
        for side in &self.sides {
            all = match side.client.list(list).await {
                Ok(items) => items,
                Err(failure) => panic!("{} in {}: {failure}", list.member(), side.revision()),
            };
            let names = all.iter().map(|item| item[list.key()].clone());
            settled.add(side, Ok(names.collect()));
        }
        // What is in a list cannot be refused.
        drop(settled.outcome());
        let items = all.into_iter();
        items.map(|item| read(list.member(), item)).collect()
    }

    /// Is told from now on when the resource at this address changes: [`Notice::ResourceUpdated`].
    ///
    /// # Errors
    ///
    /// What the server says is wrong.
    pub async fn follow(&self, uri: &str) -> Result<(), ErrorObject> {
        let mut settled = Settled::new("following");
        for side in &self.sides {
            let followed = side.client.follow(uri).await.map(|()| Value::Null);
            settled.add(side, refused(side, followed));
        }
        settled.outcome().map(drop)
    }

    /// How often the last call ended with questions before it came to its result. Modern era only: zero in the other.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.sides.last().map_or(0, |side| side.script.rounds())
    }

    /// Everything the server said that nobody asked for, since this was called last: progress, log messages, changes.
    ///
    /// Every report of progress is there; a client that is not in a test gets fewer of a burst ([`Limits::progress`](crate::Limits::progress)).
    pub async fn notices(&self) -> Vec<Notice> {
        let mut settled = Settled::new("notices");
        let mut last = Vec::new();
        for side in &self.sides {
            // What was said before the answer to this has arrived then.
            let passed = side.client.request(side.harmless_method(), json!({}));
            drop(refused(side, passed.await));
            last = side.script.take_notices();
            settled.add(side, Ok(json!(format!("{last:#?}"))));
        }
        drop(settled.outcome());
        last
    }

    /// Waits for the next thing the server says that nobody asked for.
    ///
    /// # Panics
    ///
    /// If the eras are told different things.
    pub async fn notice(&self) -> Notice {
        let mut settled = Settled::new("the next notice");
        let mut last = None;
        for side in &self.sides {
            let notice = side.script.next_notice().await;
            settled.add(side, Ok(json!(format!("{notice:#?}"))));
            last = Some(notice);
        }
        drop(settled.outcome());
        last.expect("a client has a side")
    }

    /// Calls a method by its name on the wire, answers what is asked, and gives the raw result.
    ///
    /// # Errors
    ///
    /// What the server says is wrong.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ErrorObject> {
        self.settle(method, params).await
    }

    async fn settle(&self, method: &str, params: Value) -> Result<Value, ErrorObject> {
        let mut settled = Settled::new(method);
        for side in &self.sides {
            side.script.begin_call();
            let outcome = side.client.call(method, params.clone()).await;
            settled.add(side, refused(side, outcome));
        }
        settled.outcome()
    }
}

/// What the server refuses is for the test to judge; anything else is not.
fn refused(side: &Side, outcome: Result<Value, Failure>) -> Result<Value, ErrorObject> {
    match outcome {
        Ok(result) => Ok(result),
        Err(Failure::Refused(error)) => Err(error),
        Err(failure) => panic!("in {}: {failure}", side.revision()),
    }
}

fn read<T: DeserializeOwned>(what: &str, value: Value) -> T {
    match serde_json::from_value(value) {
        Ok(value) => value,
        Err(error) => panic!("what {what} gives cannot be read: {error}"),
    }
}
