//! A test that checks any implementation against the rules of [`RateStore`].

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::random::random_id;
use crate::stores::{RateDecision, RateStore, RateToken};

/// Time within which a working store responds.
const LONG: Duration = Duration::from_mins(5);
/// Time in which the buckets gain a token, which is longer than it takes to empty them.
const REFILL: Duration = Duration::from_secs(1);

/// Checks that a store follows the rules of [`RateStore`].
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub(crate) async fn check_rate_store(store: &dyn RateStore) {
    let run = random_id::<8>();
    let token =
        |bucket: &str, capacity| RateToken::new(format!("{bucket} {run}"), capacity, REFILL);
    let take = async |tokens: &[RateToken]| {
        let decided = timeout(LONG, store.take(tokens)).await;
        decided.expect("a store answers").expect("the store works")
    };
    let (small, large) = (token("small", 1), token("a \u{0} large {}* é", 3));
    for _ in 0..3 {
        assert_eq!(
            take(std::slice::from_ref(&large)).await,
            RateDecision::Admitted,
            "a full bucket has as many tokens as its capacity"
        );
    }
    let both = [small.clone(), large.clone()];
    let RateDecision::Refused(wait) = take(&both).await else {
        panic!("an empty bucket has no token");
    };
    assert!(
        !wait.is_zero() && wait <= REFILL,
        "a refusal states the time until the bucket has a token: {wait:?}"
    );
    assert_eq!(
        take(std::slice::from_ref(&small)).await,
        RateDecision::Admitted,
        "a refused call takes no token from any bucket"
    );
    sleep(REFILL.max(wait)).await;
    assert_eq!(
        take(&both).await,
        RateDecision::Admitted,
        "a token is available after the stated time"
    );
    assert!(
        matches!(take(&both).await, RateDecision::Refused(_)),
        "a bucket gains one token at a time"
    );
    sleep(REFILL * 4).await;
    let mut admitted = 0;
    while take(std::slice::from_ref(&large)).await == RateDecision::Admitted {
        admitted += 1;
    }
    assert!(
        (3..6).contains(&admitted),
        "a pause refills no more than the capacity: {admitted}"
    );
    let (first, second) = (token("once", 1), token("once", 1));
    let first = async { take(std::slice::from_ref(&first)).await };
    let second = async { take(std::slice::from_ref(&second)).await };
    let decisions = tokio::join!(first, second);
    assert!(
        matches!(
            decisions,
            (RateDecision::Admitted, RateDecision::Refused(_))
                | (RateDecision::Refused(_), RateDecision::Admitted)
        ),
        "one token is given to one call: {decisions:?}"
    );
}
