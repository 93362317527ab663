//! A test that checks any implementation against the rules of [`ResultStore`].

use std::time::Duration;

use tokio::time::sleep;

use crate::stores::{KeptResult, ResultId, ResultStore};

/// A time to live that does not end during the check.
const LONG: Duration = Duration::from_mins(5);
/// A time to live that ends during the check.
const SHORT: Duration = Duration::from_millis(200);
/// A duration slightly longer than `SHORT`.
const LATER: Duration = Duration::from_millis(300);

/// Checks that a result store follows the rules of [`ResultStore`]. The store must be empty. Takes less than a
/// second, or no time if tokio's clock is paused and the store uses that clock.
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub(crate) async fn check_result_store(store: &dyn ResultStore) {
    let keep = async |result: &KeptResult, ttl| {
        let kept = store.keep(result.clone(), ttl).await;
        assert!(
            kept.expect("the store works"),
            "an empty store keeps a result"
        );
    };
    let load = async |id: &ResultId| store.load(id).await.expect("the store works");
    let text = format!(
        "[\"\\u0000\", \"line\nbreak \u{0} é 🦀\"]{}",
        "x".repeat(100_000)
    );
    let first = KeptResult::new("a", "{\"about\":1}", text);
    let second = KeptResult::new("a", "", "second");
    let other = KeptResult::new("b", "", "");
    let brief = KeptResult::new("a", "", "brief");
    let anonymous = KeptResult::new("", "", "of an anonymous caller");
    for result in [&first, &second, &other, &anonymous] {
        keep(result, LONG).await;
    }
    keep(&brief, SHORT).await;
    for result in [&first, &second, &other, &anonymous] {
        assert_eq!(
            load(&result.id).await.as_ref(),
            Some(result),
            "a result is returned exactly as it was stored"
        );
    }
    assert_eq!(
        load(&ResultId::random()).await,
        None,
        "an unknown id has no result"
    );
    sleep(LATER).await;
    assert_eq!(
        load(&brief.id).await,
        None,
        "a result is not found after its time to live has elapsed"
    );
    let deleted = store.delete_all("a").await.expect("the store works");
    assert_eq!(
        deleted, 2,
        "all of a caller's results are deleted, not counting those that have expired"
    );
    assert_eq!(load(&first.id).await, None, "a deleted result is not found");
    assert_eq!(
        load(&other.id).await.as_ref(),
        Some(&other),
        "results of other callers stay"
    );
    for owner in ["b", ""] {
        store.delete_all(owner).await.expect("the store works");
    }
}
