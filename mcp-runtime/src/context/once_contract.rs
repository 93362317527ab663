//! The rules of [`OnceStore`] as a test that can be run against any implementation.

use crate::context::{CallId, OnceClaim, OnceStore};
use crate::random;

/// Checks that a store of completed work follows the rules of [`OnceStore`].
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
/// Panics with the rule that the store breaks.
pub async fn check_once_store(store: &dyn OnceStore) {
    let (one, other) = (CallId(random::random()), CallId(random::random()));
    let begin = async |call, name| store.begin(call, name).await.expect("the store works");
    assert_eq!(begin(one, "pay").await, OnceClaim::Granted);
    assert_eq!(
        begin(one, "pay").await,
        OnceClaim::Taken,
        "granted work stays taken"
    );
    assert_eq!(
        begin(one, "Pay").await,
        OnceClaim::Granted,
        "another name is other work"
    );
    assert_eq!(
        begin(other, "pay").await,
        OnceClaim::Granted,
        "another call does its own work"
    );
    let result = "{\"text\":\"7 \\u20ac, \u{e4}\"}";
    let completed = store.complete(one, "pay", result).await;
    completed.expect("the store works");
    assert_eq!(
        begin(one, "pay").await,
        OnceClaim::Done(result.into()),
        "the result of completed work is kept as it is"
    );
    let again = store.complete(one, "pay", "1").await;
    again.expect("the store works");
    let abandoned = store.abandon(one, "pay").await;
    abandoned.expect("the store works");
    assert_eq!(
        begin(one, "pay").await,
        OnceClaim::Done(result.into()),
        "a result is neither replaced nor abandoned"
    );
    assert_eq!(begin(other, "pay").await, OnceClaim::Taken);
    let abandoned = store.abandon(other, "pay").await;
    abandoned.expect("the store works");
    assert_eq!(
        begin(other, "pay").await,
        OnceClaim::Granted,
        "abandoned work can be claimed again"
    );
    let (first, second, third) = tokio::join!(
        store.begin(one, "race"),
        store.begin(one, "race"),
        store.begin(one, "race"),
    );
    let claims = [first, second, third].map(|claim| claim.expect("the store works"));
    let granted = claims.iter().filter(|claim| **claim == OnceClaim::Granted);
    assert_eq!(granted.count(), 1, "of several claims, one is granted");
}
