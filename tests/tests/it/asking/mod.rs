//! Questions to the client.
//!
//! Behaviour that is the same over every link and in every protocol version is a row of the table in `matrix`; that
//! of a single era is in `legacy` and `rounds`.

mod able;
mod across_versions;
mod early;
mod forms;
mod gone;
mod legacy;
mod limits;
mod matrix;
mod misuse;
mod once;
mod rounds;
mod tamper;
mod unusable;

use mcp_runtime::Server;
use serde_json::{Value, json};
use tests::asking::{Ledger, Setup};
use tests::{Answer, Client, Question, Version};

pub(crate) use tests::asking::able;

/// The server, with a ledger that no test reads.
pub(crate) fn server() -> Server {
    tests::asking::server(&Setup::default())
}

async fn client(version: Version) -> (Client, Ledger) {
    let setup = Setup::default();
    let server = tests::asking::server(&setup);
    (client_of(server, version, able()).await, setup.ledger)
}

async fn client_of(server: Server, version: Version, capabilities: Value) -> Client {
    let mut client = crate::support::raw(server, version);
    client.capabilities = capabilities;
    let mut client = client.connect().await;
    client.answer(usual);
    client
}

/// Returns the answers that most tests use.
fn usual(question: &Question) -> Answer {
    match question.method.as_str() {
        "sampling/createMessage" => Answer::said("Paris"),
        "roots/list" => Answer::Result(json!({"roots": [{"uri": "file:///r", "name": "R"}]})),
        _ if question.params["requestedSchema"]["properties"]
            .get("sure")
            .is_some() =>
        {
            Answer::accept(json!({"sure": true}))
        }
        _ => Answer::accept(json!({"name": "Ada"})),
    }
}

async fn call(client: &mut Client, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    client.ask("tools/call", params).await.unwrap()
}

async fn text(client: &mut Client, tool: &str) -> String {
    let result = call(client, tool).await;
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn refusal(client: &mut Client, tool: &str) -> String {
    let result = call(client, tool).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}
