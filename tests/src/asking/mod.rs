//! A server whose handlers ask: the same source in the process of a test and in one of its own, behind every link.
//!
//! What its handlers did stands in a ledger, a file that both processes see.

mod flows;
mod forms;
mod ledger;
mod misuse;
mod sampling;

use std::time::Duration;

use mcp_runtime::{Limits, MemoryStore, Server};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::flows::Name;
pub use self::ledger::Ledger;

/// The variable in which a process finds its [`Setup`], as JSON.
pub const SETUP: &str = "ASKING_SETUP";

/// How the server is set up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Setup {
    /// Where its handlers note what they do.
    pub ledger: Ledger,
    /// Whether it remembers what was done once.
    pub store: bool,
    /// How long a client may take for an answer, in milliseconds; none for the default.
    pub question_ms: Option<u64>,
    /// How long a state can be used, in seconds; none for the default.
    pub state_seconds: Option<u64>,
    /// How long calls may go on when their connection has ended, in milliseconds; none for the default.
    pub drain_ms: Option<u64>,
}

/// The server.
pub fn server(setup: &Setup) -> Server {
    let mut limits = Limits::default();
    if let Some(time) = setup.question_ms {
        limits.question_time = Duration::from_millis(time);
    }
    if let Some(time) = setup.state_seconds {
        limits.state_time = Duration::from_secs(time);
    }
    if let Some(time) = setup.drain_ms {
        limits.drain = Duration::from_millis(time);
    }
    let server = Server::new("asking", "1")
        .group("asking")
        .state(setup.ledger.clone())
        .limits(limits);
    if setup.store {
        server.once_store(MemoryStore::new())
    } else {
        server
    }
}

/// The capabilities of a client that can be asked everything.
#[must_use]
pub fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}
