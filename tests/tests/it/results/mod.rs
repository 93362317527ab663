//! Results and errors as they are sent: on one line, within their schema and size, with codes of the protocol version,
//! and for the arguments of the question.

mod bound;
mod codes;
mod exposing;
mod lines;
mod panics;
mod schema;
mod sizes;
mod texts;

use std::sync::{Arc, Mutex};

use mcp_runtime::Server;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, Layer};

use crate::support::capture;

/// Returns a server with the handlers in this folder.
fn server() -> Server {
    new_server!().only(Selected::tag("results"))
}

/// Collects everything that is logged on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<String>>);

impl Log {
    pub(crate) fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = capture(log.clone());
        (log, guard)
    }

    /// Returns the events logged since the last call, one per line.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        let mut line = Line(format!("{}", event.metadata().level()));
        event.record(&mut line);
        let mut all = self.0.lock().unwrap();
        all.push_str(&line.0);
        all.push('\n');
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 += &format!(" {}={value}", field.name());
    }
}
