//! A test that checks any implementation against the rules of [`DefinitionStore`].

use std::time::Duration;

use tokio::time::timeout;

use crate::random::random_id;
use crate::stores::{DefinitionStore, StoredDefinitions};

/// Time within which a working store responds.
const LONG: Duration = Duration::from_mins(5);

/// Checks that a store follows the rules of [`DefinitionStore`].
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_definition_store(store: &dyn DefinitionStore) {
    let (set, other) = (random_id::<8>(), random_id::<8>());
    let receive = async |after: Option<&str>| {
        let received = timeout(LONG, store.receive(&set, after)).await;
        let received = received.expect("a store answers after a few seconds");
        received.expect("the store works")
    };
    let put = async |set: &str, name: &str, record: &str| {
        let put = store.put(set, name, record).await;
        put.expect("the store works");
    };
    let sorted = |stored: &Option<StoredDefinitions>| {
        let mut records = stored.clone().map(|stored| stored.records);
        if let Some(records) = &mut records {
            records.sort();
        }
        records
    };
    let of = |records: &[(&str, &str)]| {
        let records = records.iter();
        Some(
            records
                .map(|&(name, record)| (name.to_owned(), record.to_owned()))
                .collect(),
        )
    };
    let start = receive(None).await;
    assert_eq!(sorted(&start), of(&[]), "a new set is empty");
    put(&set, "a", "{\"a\": \"\u{0} é\"}").await;
    put(&set, "b {}", "1").await;
    put(&other, "c", "1").await;
    let first = receive(None).await;
    let both = [("a", "{\"a\": \"\u{0} é\"}"), ("b {}", "1")];
    assert_eq!(sorted(&first), of(&both), "a set has its own records");
    let first = first.map(|first| first.version).unwrap_or_default();
    let waited = async {
        // A store may return without a change after a while.
        loop {
            if let Some(stored) = receive(Some(&first)).await {
                return stored;
            }
        }
    };
    let (second, ()) = tokio::join!(waited, put(&set, "a", "2"));
    assert_ne!(second.version, first, "a change changes the version");
    let changed = [("a", "2"), ("b {}", "1")];
    assert_eq!(
        sorted(&Some(second)),
        of(&changed),
        "a receiver waits for a change"
    );
    for (name, existed) in [("b {}", true), ("b {}", false), ("c", false)] {
        let removed = store.remove(&set, name).await.expect("the store works");
        assert_eq!(removed, existed, "a record is removed once, from its set");
    }
    let last = receive(Some("of another store")).await;
    assert_eq!(
        sorted(&last),
        of(&[("a", "2")]),
        "after an unknown version, all records are received"
    );
    let last = last.map(|last| last.version);
    assert_eq!(
        sorted(&receive(last.as_deref()).await),
        None,
        "without a change, nothing is received"
    );
}
