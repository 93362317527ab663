//! The results of a replay, for display in a terminal, for the page, and for programs.

use std::fmt;

use serde::Serialize;

use super::compare::{Change, printable, shown};
use super::read::Recorded;

/// Maximum number of differences listed for each call.
const MAX_LISTED: usize = 20;
/// Maximum number of calls with differences listed for each era.
const MAX_CALLS: usize = 200;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(super) file: String,
    /// `true` if clients would not see any differences.
    pub(super) same: bool,
    pub(super) warnings: Vec<String>,
    pub(super) eras: Vec<EraReport>,
}

/// The results for clients of one era.
#[derive(Debug, Serialize)]
pub(super) struct EraReport {
    pub(super) era: &'static str,
    /// The reason why calls could not be replayed.
    pub(super) failure: Option<String>,
    pub(super) played: usize,
    pub(super) differing: usize,
    /// The first calls that differ.
    pub(super) calls: Vec<DifferingCall>,
    /// Calls that were not replayed because one of their arguments or answers is hidden.
    pub(super) hidden: Vec<String>,
    /// Number of calls without an outcome in the recording.
    pub(super) unfinished: usize,
}

/// A call that differs.
#[derive(Debug, Serialize)]
pub(super) struct DifferingCall {
    pub(super) call: String,
    pub(super) changes: Vec<Change>,
    /// Number of further differences that are not listed.
    pub(super) more: usize,
}

impl Report {
    pub(crate) fn is_same(&self) -> bool {
        self.same
    }
}

impl EraReport {
    pub(super) fn new(era: &'static str) -> Self {
        Self {
            era,
            failure: None,
            played: 0,
            differing: 0,
            calls: Vec::new(),
            hidden: Vec::new(),
            unfinished: 0,
        }
    }

    /// Counts a call and adds its differences.
    pub(super) fn add(&mut self, call: &Recorded, mut changes: Vec<Change>) {
        self.played += 1;
        if changes.is_empty() {
            return;
        }
        self.differing += 1;
        if self.calls.len() >= MAX_CALLS {
            return;
        }
        let more = changes.len().saturating_sub(MAX_LISTED);
        changes.truncate(MAX_LISTED);
        self.calls.push(DifferingCall {
            call: title(call),
            changes,
            more,
        });
    }
}

/// Describes a call's request in one line.
pub(super) fn title(call: &Recorded) -> String {
    let params = &call.params;
    let name = params["name"].as_str().or(params["uri"].as_str());
    let arguments = params.get("arguments").map(shown).unwrap_or_default();
    let title = format!("{} {} {arguments}", call.method, name.unwrap_or_default());
    printable(title.trim_end())
}

fn times(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        for era in &self.eras {
            writeln!(f, "{era}")?;
        }
        Ok(())
    }
}

impl fmt::Display for EraReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let era = self.era;
        if let Some(reason) = &self.failure {
            return write!(f, "{era}: not played: {}", printable(reason));
        }
        for DifferingCall {
            call,
            changes,
            more,
        } in &self.calls
        {
            writeln!(f, "{era}: {call}")?;
            for change in changes {
                writeln!(f, "    {change}")?;
            }
            if *more > 0 {
                writeln!(f, "    and {}", times(*more, "more difference"))?;
            }
        }
        if self.differing > self.calls.len() {
            let more = self.differing - self.calls.len();
            writeln!(f, "{era}: and {} that differ", times(more, "more call"))?;
        }
        for call in &self.hidden {
            writeln!(
                f,
                "{era}: not played, because it contains a hidden secret: {call}"
            )?;
        }
        if self.unfinished > 0 {
            let calls = times(self.unfinished, "call");
            writeln!(
                f,
                "{era}: not played, because the recording has no response: {calls}"
            )?;
        }
        write!(
            f,
            "{era}: {} played, {} differ",
            times(self.played, "call"),
            self.differing
        )
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() {
            "the response"
        } else {
            &self.place
        };
        match (&self.before, &self.now) {
            (Some(before), Some(now)) => write!(f, "{place}: {before} is now {now}"),
            (Some(before), None) => write!(f, "{place}: {before} is gone"),
            (None, Some(now)) => write!(f, "{place}: {now} is new"),
            (None, None) => write!(f, "{place}"),
        }
    }
}
