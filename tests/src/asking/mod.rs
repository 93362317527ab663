//! A server whose handlers ask questions. Every link uses the same code, whether the server runs in the test's process
//! or in a separate one.
//!
//! The handlers record their actions in a ledger, which is a file that both processes can read.

mod flows;
mod forms;
mod ledger;
mod misuse;
mod sampling;

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::backend::{Backend, MemoryOnceStore};
use mcp_runtime::server::Selected;
use mcp_runtime::{Limits, Server};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::flows::Name;
pub use self::ledger::Ledger;

/// The environment variable that contains a process's [`Setup`] as JSON.
pub const SETUP: &str = "ASKING_SETUP";

/// Settings for the server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Setup {
    /// The ledger that the handlers write to.
    pub ledger: Ledger,
    /// `true` if the server remembers the results of `once` blocks in a store.
    pub store: bool,
    /// Time limit for the client's answer, in milliseconds; `None` for the default.
    pub question_ms: Option<u64>,
    /// Lifetime of the state kept between rounds, in seconds; `None` for the default.
    pub state_seconds: Option<u64>,
    /// Time for which calls may continue after their connection has ended, in milliseconds; `None` for the default.
    pub drain_ms: Option<u64>,
}

/// Creates the server.
pub fn server(setup: &Setup) -> Server {
    let mut limits = Limits::default();
    if let Some(time) = setup.question_ms {
        limits.elicitation.timeout = Duration::from_millis(time);
    }
    if let Some(time) = setup.state_seconds {
        limits.elicitation.state_timeout = Duration::from_secs(time);
    }
    if let Some(time) = setup.drain_ms {
        limits.calls.drain_timeout = Duration::from_millis(time);
    }
    let server = Server::new("asking", "1")
        .only(Selected::tag("asking"))
        .state(setup.ledger.clone())
        .limits(limits);
    if setup.store {
        server.backend(Backend::new().once(Arc::new(MemoryOnceStore::new())))
    } else {
        server
    }
}

/// Returns the capabilities of a client that supports every kind of question.
#[must_use]
pub fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}
