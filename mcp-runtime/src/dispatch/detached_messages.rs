//! The messages of a call that runs apart from its request.

use serde_json::{Map, Value};

use crate::context::{Context, NotificationSender, Progress};
use crate::dispatch::stream::CallMessages;
use crate::handler::background::WaitingRequest;
use crate::types::LoggingLevel;

/// Passes a call's messages to the request that is waiting for the call. If there is none, only progress is reported.
pub(super) struct DetachedMessages {
    pub(super) on_progress: Box<dyn Fn(&Progress) + Send + Sync>,
    pub(super) waiting: Option<WaitingRequest>,
}

impl DetachedMessages {
    /// Returns the context of the request that is waiting for the run, if any.
    fn waiting(&self) -> Option<Context> {
        self.waiting.as_ref()?.context()
    }
}

impl CallMessages for DetachedMessages {
    fn close(&self) {}

    fn abandon(&self) {}

    fn is_inside_request(&self) -> bool {
        self.waiting().is_some()
    }
}

impl NotificationSender for DetachedMessages {
    fn progress(&self, progress: &Progress) {
        (self.on_progress)(progress);
        if let Some(request) = self.waiting() {
            request.outbound().progress(progress);
        }
    }

    fn accepts_level(&self, level: LoggingLevel) -> bool {
        self.waiting()
            .is_some_and(|request| request.outbound().accepts_level(level))
    }

    fn close_stream(&self) {
        if let Some(request) = self.waiting() {
            request.outbound().close_stream();
        }
    }

    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &str) {
        if let Some(request) = self.waiting() {
            request.outbound().log(level, logger, data);
        }
    }

    fn extension(&self, method: &str, params: &Map<String, Value>) {
        if let Some(request) = self.waiting() {
            request.outbound().extension(method, params);
        }
    }
}
