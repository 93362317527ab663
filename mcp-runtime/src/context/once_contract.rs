//! A test that checks any implementation against the rules of [`OnceStore`].

use crate::context::{CallId, OnceClaim, OnceStore};
use crate::random;

/// Checks that a store for completed work follows the rules of [`OnceStore`].
///
/// ```
/// # use mcp_runtime::once::{MemoryOnceStore, check_once_store};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// check_once_store(&MemoryOnceStore::new()).await;
/// # }
/// ```
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_once_store(store: &dyn OnceStore) {
    let (one, other) = (CallId(random::random()), CallId(random::random()));
    let begin = async |call, name| store.begin(call, name).await.expect("the store works");
    assert_eq!(begin(one, "pay").await, OnceClaim::Granted);
    assert_eq!(
        begin(one, "pay").await,
        OnceClaim::Taken,
        "granted work remains claimed"
    );
    assert_eq!(
        begin(one, "Pay").await,
        OnceClaim::Granted,
        "a different name identifies different work"
    );
    assert_eq!(
        begin(other, "pay").await,
        OnceClaim::Granted,
        "a different call claims its own work"
    );
    let result = "{\"text\":\"7 \\u20ac, \u{e4}\"}";
    let completed = store.complete(one, "pay", result).await;
    completed.expect("the store works");
    assert_eq!(
        begin(one, "pay").await,
        OnceClaim::Done(result.into()),
        "the result of completed work is kept unchanged"
    );
    let again = store.complete(one, "pay", "1").await;
    again.expect("the store works");
    let abandoned = store.abandon(one, "pay").await;
    abandoned.expect("the store works");
    assert_eq!(
        begin(one, "pay").await,
        OnceClaim::Done(result.into()),
        "a result cannot be replaced or abandoned"
    );
    assert_eq!(begin(other, "pay").await, OnceClaim::Taken);
    let abandoned = store.abandon(other, "pay").await;
    abandoned.expect("the store works");
    assert_eq!(
        begin(other, "pay").await,
        OnceClaim::Granted,
        "abandoned work can be claimed again"
    );
    check_unclaimed(store).await;
    let (first, second, third) = tokio::join!(
        store.begin(one, "race"),
        store.begin(one, "race"),
        store.begin(one, "race"),
    );
    let claims = [first, second, third].map(|claim| claim.expect("the store works"));
    let granted = claims.iter().filter(|claim| **claim == OnceClaim::Granted);
    assert_eq!(granted.count(), 1, "only one of several claims is granted");
}

/// Checks results of work that nobody has claimed, and results that are forgotten.
async fn check_unclaimed(store: &dyn OnceStore) {
    let call = CallId(random::random());
    let done = |result: &str| OnceClaim::Done(result.into());
    let begin = async || store.begin(call, "paid").await.expect("the store works");
    let completed = store.complete(call, "paid", "7").await;
    completed.expect("the store works");
    assert_eq!(
        begin().await,
        done("7"),
        "a result is kept although nobody has claimed the work"
    );
    let forgotten = store.forget(call, "paid", "8").await;
    forgotten.expect("the store works");
    assert_eq!(begin().await, done("7"), "another result is not forgotten");
    let forgotten = store.forget(call, "paid", "7").await;
    forgotten.expect("the store works");
    let claim = begin().await;
    assert!(
        claim == OnceClaim::Granted || claim == done("7"),
        "forgotten work can be claimed again"
    );
}
