//! Records of sessions that were loaded before, so that a record that has not changed is neither sent nor parsed again
//! for each request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_stores::SessionRecord;

/// Size of the texts in a generation, after which the next generation begins.
const MAX_BYTES: usize = 1 << 20;

/// Records, each with the version that Redis has given it. Redis decides whether a version is current. Records that are
/// not used for two generations are dropped.
#[derive(Default)]
pub(crate) struct KnownRecords(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    current: HashMap<Box<str>, KnownRecord>,
    previous: HashMap<Box<str>, KnownRecord>,
    /// The size of the current generation.
    bytes: usize,
}

#[derive(Clone)]
pub(crate) struct KnownRecord {
    pub(crate) version: Arc<str>,
    pub(crate) record: Arc<SessionRecord>,
    /// The size of its text.
    bytes: usize,
}

impl KnownRecords {
    /// Returns the last known record of a session.
    pub(crate) fn find(&self, id: &str) -> Option<KnownRecord> {
        let mut generations = self.lock();
        if let Some(known) = generations.current.get(id) {
            return Some(known.clone());
        }
        let known = generations.previous.remove(id)?;
        generations.insert(id, known.clone());
        Some(known)
    }

    /// Parses a record and remembers it.
    pub(crate) fn parse(
        &self,
        id: &str,
        version: &str,
        text: &str,
    ) -> Result<Arc<SessionRecord>, serde_json::Error> {
        let record: Arc<SessionRecord> = Arc::new(serde_json::from_str(text)?);
        let known = KnownRecord {
            version: version.into(),
            record: Arc::clone(&record),
            bytes: text.len(),
        };
        self.lock().insert(id, known);
        Ok(record)
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn insert(&mut self, id: &str, known: KnownRecord) {
        self.bytes = self.bytes.saturating_add(known.bytes);
        if self.bytes > MAX_BYTES {
            self.bytes = known.bytes;
            self.previous = std::mem::take(&mut self.current);
        }
        self.current.insert(id.into(), known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(uri: &str) -> String {
        format!(
            r#"{{"changes":1,"version":"2025-11-25","level":"info","ready":true,"lists":[false,false,false],"client":"","uris":["{uri}"]}}"#
        )
    }

    #[test]
    fn the_latest_record_of_a_session_is_cached() {
        let records = KnownRecords::default();
        assert!(records.find("a").is_none());
        records.parse("a", "1", &text("x")).unwrap();
        let changed = records.parse("a", "2", &text("y")).unwrap();
        let known = records.find("a").unwrap();
        assert_eq!(&*known.version, "2");
        assert!(Arc::ptr_eq(&known.record, &changed));
        assert!(records.find("b").is_none());
        records.parse("a", "3", "{}").unwrap_err();
        assert_eq!(&*records.find("a").unwrap().version, "2");
    }

    #[test]
    fn records_that_are_not_used_are_dropped() {
        let records = KnownRecords::default();
        for id in ["used", "unused"] {
            records.parse(id, "1", &text("x")).unwrap();
        }
        let large = text(&"x".repeat(MAX_BYTES / 10));
        for number in 0..100 {
            records.parse(&number.to_string(), "1", &large).unwrap();
            assert!(records.find("used").is_some());
        }
        assert!(records.find("unused").is_none());
        let generations = records.lock();
        let all = generations
            .current
            .values()
            .chain(generations.previous.values());
        let bytes: usize = all.map(|known| known.bytes).sum();
        assert!(bytes <= 2 * MAX_BYTES, "{bytes}");
    }
}
