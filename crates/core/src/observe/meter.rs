//! The numbers of this process: what can be counted, and the meter that records it.
//!
//! A process has one meter, because its numbers are read in one place, whatever server they come from. Without a meter,
//! nothing is counted.

use std::sync::{Mutex, OnceLock};

use crate::sync::lock;

/// Records numbers.
pub trait Meter: Send + Sync {
    /// Describes a metric to those who read the numbers.
    fn describe(&self, metric: &Metric);

    /// Adds to a counter or a gauge.
    fn add(&self, metric: &Metric, labels: &[Label<'_>], change: i32);

    /// Sets a gauge.
    fn set(&self, metric: &Metric, labels: &[Label<'_>], value: f64);
}

/// A label's name and value. Every label has only a few possible values, and clients cannot introduce new ones.
pub type Label<'a> = (&'static str, &'a str);

/// Something that is counted.
#[allow(dead_code, reason = "read by meters, which come with features")]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    pub description: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A number that only grows.
    Counter,
    /// A number of things that exist now.
    Gauge,
    /// A time, in seconds since 1970.
    Time,
}

/// Initialized clients with active requests in this process.
pub static SESSIONS: Metric = Metric::gauge(
    "mcp.server.active_sessions",
    "Initialized clients with active requests in this process",
);

/// Open `subscriptions/listen` requests.
pub static SUBSCRIPTIONS: Metric = Metric::gauge(
    "mcp.server.active_subscriptions",
    "Open `subscriptions/listen` requests",
);

/// Times at which changes on other instances may have been missed.
pub static NOTIFICATION_GAPS: Metric = Metric::counter(
    "mcp.server.notification_gaps",
    "Times at which changes on other instances may have been missed, and clients were told that everything has changed",
);

/// Refusals, with their `kind`.
pub(super) static REFUSALS: Metric = Metric::counter(
    "mcp.server.refusals",
    "Refused messages, connections and calls",
);

static METER: OnceLock<Box<dyn Meter>> = OnceLock::new();

/// The metrics that have been described.
static DESCRIBED: Mutex<Vec<&Metric>> = Mutex::new(Vec::new());

/// Installs the meter of this process, unless it has one.
#[allow(dead_code, reason = "used by meters, which come with features")]
pub fn install_meter(meter: impl Meter + 'static) {
    METER.get_or_init(|| Box::new(meter));
}

/// Returns `true` if this process has a meter.
#[inline]
pub fn is_metered() -> bool {
    METER.get().is_some()
}

/// Describes metrics that any server has.
pub fn describe_metrics() {
    for metric in [&SESSIONS, &SUBSCRIPTIONS, &NOTIFICATION_GAPS, &REFUSALS] {
        metric.describe();
    }
}

/// Describes each metric once more, to a recorder that was installed later.
pub(crate) fn describe_again() {
    let described = lock(&DESCRIBED).clone();
    described.into_iter().for_each(Metric::describe);
}

impl Metric {
    #[must_use]
    pub const fn counter(name: &'static str, description: &'static str) -> Self {
        Self::new(name, MetricKind::Counter, description)
    }

    #[must_use]
    pub const fn gauge(name: &'static str, description: &'static str) -> Self {
        Self::new(name, MetricKind::Gauge, description)
    }

    #[must_use]
    pub const fn time(name: &'static str, description: &'static str) -> Self {
        Self::new(name, MetricKind::Time, description)
    }

    const fn new(name: &'static str, kind: MetricKind, description: &'static str) -> Self {
        Self {
            name,
            kind,
            description,
        }
    }

    pub fn describe(&'static self) {
        if let Some(meter) = METER.get() {
            meter.describe(self);
            let mut described = lock(&DESCRIBED);
            if !described.iter().any(|known| known.name == self.name) {
                described.push(self);
            }
        }
    }

    /// Counts one more.
    #[inline]
    pub fn count(&self, labels: &[Label<'_>]) {
        self.add(labels, 1);
    }

    #[inline]
    pub fn add(&self, labels: &[Label<'_>], change: i32) {
        if let Some(meter) = METER.get() {
            meter.add(self, labels, change);
        }
    }

    pub fn set(&self, labels: &[Label<'_>], value: f64) {
        if let Some(meter) = METER.get() {
            meter.set(self, labels, value);
        }
    }

    /// Counts one more thing, until the returned value is dropped.
    pub(crate) fn guard(&'static self) -> MetricGuard {
        self.add(&[], 1);
        MetricGuard(self)
    }
}

/// A thing that is counted while it exists.
pub struct MetricGuard(&'static Metric);

impl Drop for MetricGuard {
    fn drop(&mut self) {
        self.0.add(&[], -1);
    }
}
