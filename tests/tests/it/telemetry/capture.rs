//! Captures everything that is sent to `tracing`, and all metrics.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::support::capture;

/// The fields of a span or an event.
pub(super) type Fields = BTreeMap<String, String>;

/// A span that was captured.
#[derive(Clone, Debug, Default)]
pub(super) struct Span {
    pub(super) name: &'static str,
    pub(super) parent: Option<usize>,
    pub(super) fields: Fields,
    pub(super) is_closed: bool,
}

/// Everything captured on this thread so far.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<All>>);

#[derive(Debug, Default)]
struct All {
    spans: Vec<Span>,
    events: Vec<(Option<usize>, Fields)>,
}

impl Seen {
    /// Starts capturing on this thread, at every level.
    pub(super) fn begin() -> (Self, DefaultGuard) {
        let seen = Self::default();
        let guard = capture(seen.clone());
        (seen, guard)
    }

    /// Returns the spans of the requests so far.
    pub(super) fn requests(&self) -> Vec<Span> {
        let mut spans = self.0.lock().unwrap().spans.clone();
        spans.retain(|span| span.name == "mcp.request");
        spans
    }

    /// Returns the fields of the only request's span.
    pub(super) fn request(&self) -> Fields {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:#?}");
        let request = requests.remove(0);
        assert!(request.is_closed, "{request:#?}");
        request.fields
    }

    /// Forgets what was captured.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap().spans.clear();
        self.0.lock().unwrap().events.clear();
    }

    /// Returns the names of the spans that an event is in, innermost first.
    pub(super) fn around(&self, message: &str) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let event = all.events.iter();
        let mut event = event.filter(|(_, fields)| fields["message"] == message);
        let &(mut span, _) = event.next().expect("it is said");
        assert!(event.next().is_none(), "it is said once");
        let mut names = Vec::new();
        while let Some(index) = span {
            let of = &all.spans[index];
            names.push(of.fields.get("otel.name").map_or(of.name, String::as_str));
            span = of.parent;
        }
        names.into_iter().map(str::to_owned).collect()
    }

    /// Returns the events with this message.
    pub(super) fn events(&self, message: &str) -> Vec<Fields> {
        let all = self.0.lock().unwrap();
        let events = all.events.iter().map(|(_, fields)| fields.clone());
        events
            .filter(|fields| fields["message"] == message)
            .collect()
    }

    /// Returns everything that was captured, as text.
    pub(super) fn text(&self) -> String {
        format!("{:#?}", self.0.lock().unwrap())
    }
}

/// The index of a span in the list.
struct Place(usize);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).expect("it is there");
        let parent = span.parent();
        let parent = parent.and_then(|parent| Some(parent.extensions().get::<Place>()?.0));
        let mut seen = Span {
            name: attributes.metadata().name(),
            parent,
            ..Span::default()
        };
        attributes.record(&mut Visitor(&mut seen.fields));
        let mut all = self.0.lock().unwrap();
        span.extensions_mut().insert(Place(all.spans.len()));
        all.spans.push(seen);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).expect("it is there");
        let place = span.extensions().get::<Place>().expect("it was seen").0;
        if let Some(seen) = self.0.lock().unwrap().spans.get_mut(place) {
            record.record(&mut Visitor(&mut seen.fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let span = context.event_span(event);
        let span = span.and_then(|span| Some(span.extensions().get::<Place>()?.0));
        let mut fields = Fields::from([("message".to_owned(), String::new())]);
        event.record(&mut Visitor(&mut fields));
        self.0.lock().unwrap().events.push((span, fields));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).expect("it is there");
        let place = span.extensions().get::<Place>().expect("it was seen").0;
        if let Some(seen) = self.0.lock().unwrap().spans.get_mut(place) {
            seen.is_closed = true;
        }
    }
}

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// All metrics recorded on this thread so far, by name and labels.
pub(crate) struct Counted {
    snapshotter: Snapshotter,
    sums: BTreeMap<String, i64>,
}

impl Counted {
    /// Starts recording metrics on this thread, for the rest of the test.
    pub(crate) fn begin() -> (Self, impl Drop) {
        // The recorder must outlive the guard; leaking it is harmless in a test.
        let recorder: &'static DebuggingRecorder = Box::leak(Box::default());
        let counted = Self {
            snapshotter: recorder.snapshotter(),
            sums: BTreeMap::new(),
        };
        (counted, metrics::set_default_local_recorder(recorder))
    }

    /// Returns the counts for a name, by labels. A histogram is represented by the number of its values.
    pub(crate) fn all(&mut self, name: &str) -> BTreeMap<String, i64> {
        // A snapshot contains what has changed since the previous one.
        for (key, _, _, value) in self.snapshotter.snapshot().into_vec() {
            let key = key.key();
            let mut labels: Vec<_> = key
                .labels()
                .map(|label| format!("{}={}", label.key(), label.value()))
                .collect();
            labels.sort();
            let key = format!("{} {}", key.name(), labels.join(" "));
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                reason = "they are few, and whole"
            )]
            let value = match value {
                DebugValue::Counter(count) => count as i64,
                DebugValue::Gauge(value) => value.into_inner() as i64,
                DebugValue::Histogram(values) => values.len() as i64,
            };
            *self.sums.entry(key).or_default() += value;
        }
        let of_name = |(key, value): (&String, &i64)| {
            let (found, labels) = key.split_once(' ')?;
            (found == name).then(|| (labels.to_owned(), *value))
        };
        self.sums.iter().filter_map(of_name).collect()
    }

    /// Returns the value of a metric without labels.
    pub(crate) fn one(&mut self, name: &str) -> i64 {
        self.all(name).remove("").unwrap_or_default()
    }
}
