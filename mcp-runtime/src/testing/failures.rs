//! What a server needs to be tested.

use crate::observe::{Failure, Observer};
use crate::server::Server;

impl Server {
    /// Disables the limit on progress notifications, so that tests see every notification, and prints the causes of
    /// internal errors, so that they are part of a failed test's output.
    pub(super) fn prepare_for_tests(&mut self) {
        self.limits.calls.max_progress_per_second = u32::MAX;
        self.observers.insert(PrintedFailures);
    }
}

/// Prints failures to standard error, which test harnesses capture.
struct PrintedFailures;

impl Observer for PrintedFailures {
    #[expect(clippy::print_stderr, reason = "test harnesses capture only this")]
    fn fail(&self, failure: &Failure<'_>) {
        let Failure {
            called,
            what,
            cause,
            reference,
        } = failure;
        eprintln!("`{called}`: {what}: {cause} (reference {reference})");
    }
}
