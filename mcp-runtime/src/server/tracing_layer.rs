//! Forwards `tracing` events to the client whose call emitted them.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, Layer};

use crate::context::current;
use crate::types::LoggingLevel;

/// Returns a `tracing` layer that sends events to the client as log messages from the call that emitted them.
///
/// Events that are emitted outside of a call or are below the level requested by the client are dropped. `TRACE` and
/// `DEBUG` become `debug`; the other levels keep their names. The message data is a string, or an object if the event
/// has fields besides its message. The logger name is the event's target.
///
/// Clients see everything that you log, so keep secrets and server internals out of events.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry().with(mcp_runtime::server::client_logs()).init();
/// ```
#[must_use]
pub fn client_logs() -> ClientLogs {
    current::enable_forwarding();
    ClientLogs(())
}

/// The layer returned by [`client_logs`].
#[derive(Debug)]
pub struct ClientLogs(());

impl<S: Subscriber> Layer<S> for ClientLogs {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        // The framework's own events describe the server and are meant for its operator.
        if event.metadata().target().starts_with("mcp_runtime") {
            return;
        }
        let Some(call) = current::current_call() else {
            return;
        };
        let level = logging_level(*event.metadata().level());
        let outbound = call.outbound();
        if !outbound.accepts_level(level) {
            return;
        }
        let mut fields = TracingEventFields::default();
        event.record(&mut fields);
        outbound.log(
            level,
            Some(event.metadata().target()),
            &fields.into_log_data(),
        );
    }
}

fn logging_level(level: Level) -> LoggingLevel {
    match level {
        Level::ERROR => LoggingLevel::Error,
        Level::WARN => LoggingLevel::Warning,
        Level::INFO => LoggingLevel::Info,
        _ => LoggingLevel::Debug,
    }
}

#[derive(Default)]
struct TracingEventFields {
    message: Option<String>,
    others: Map<String, Value>,
}

impl TracingEventFields {
    fn record(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = Some(text),
            (name, value) => {
                self.others.insert(name.to_owned(), value);
            }
        }
    }

    fn into_log_data(mut self) -> String {
        if self.others.is_empty() {
            return Value::String(self.message.unwrap_or_default()).to_string();
        }
        if let Some(message) = self.message {
            self.others
                .insert("message".to_owned(), Value::String(message));
        }
        Value::Object(self.others).to_string()
    }
}

impl Visit for TracingEventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, Value::String(value.to_owned()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record(field, Value::Bool(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record(field, Value::from(value));
    }
}
