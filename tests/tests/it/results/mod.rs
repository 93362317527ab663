//! What leaves the server: on one line, within its schema and its size, with codes its protocol version has, and for the
//! arguments it was asked about.

mod bound;
mod codes;
mod lines;
mod panics;
mod schema;
mod sizes;
mod texts;

use std::sync::{Arc, Mutex};

use mcp_runtime::Server;
use mcp_runtime::prelude::*;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, Layer};
use tracing_subscriber::prelude::*;

/// A server of the handlers in this folder.
fn server() -> Server {
    new_server!().group("results")
}

/// Everything that is written to the log on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::registry().with(log.clone());
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// What was written since the last call, a line for each event.
    fn take(&self) -> String {
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
