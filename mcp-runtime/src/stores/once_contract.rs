//! Tests that check any implementation against the rules of [`OnceStore`].

use std::time::Duration;

use crate::context::{CallId, ClaimId, OnceClaim, OnceKind, OnceStore, OnceWork};
use crate::limits::Limits;
use crate::random;

/// Two kinds of work, each with the room for steps.
const KINDS: [OnceKind; 2] = [
    OnceKind::STEP,
    OnceKind::new("check", |limits| OnceKind::STEP.room(limits)),
];

/// Checks that a store for completed work follows the rules of [`OnceStore`], except for those about its room.
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
    for kind in KINDS {
        check_claims(store, kind).await;
        check_abandoned(store, kind).await;
        check_unclaimed(store, kind).await;
        check_end(store, kind).await;
    }
    let work = new_work("check", OnceKind::STEP);
    let (first, second, third) = tokio::join!(
        store.begin(claimed_again(work)),
        store.begin(claimed_again(work)),
        store.begin(claimed_again(work)),
    );
    let claims = [first, second, third].map(|claim| claim.expect("the store works"));
    let granted = claims.iter().filter(|claim| **claim == OnceClaim::Granted);
    assert_eq!(granted.count(), 1, "only one of several claims is granted");
}

/// Returns work of a new call.
fn new_work(owner: &str, kind: OnceKind) -> OnceWork<'_> {
    OnceWork {
        call: CallId(random::random()),
        name: "pay",
        claim: ClaimId::random(),
        owner,
        kind,
        note: "{\"a\":\"\u{e4}\"}",
        kept: Duration::from_hours(24),
    }
}

/// Returns the same work as another run claims it.
fn claimed_again(work: OnceWork<'_>) -> OnceWork<'_> {
    OnceWork {
        claim: ClaimId::random(),
        note: "another",
        ..work
    }
}

async fn begin(store: &dyn OnceStore, work: OnceWork<'_>) -> OnceClaim {
    store.begin(work).await.expect("the store works")
}

async fn complete(store: &dyn OnceStore, work: OnceWork<'_>, result: &str) {
    let completed = store.complete(work, result).await;
    completed.expect("the store works");
}

async fn abandon(store: &dyn OnceStore, work: OnceWork<'_>) {
    store.abandon(work).await.expect("the store works");
}

fn taken(by: OnceWork<'_>) -> OnceClaim {
    OnceClaim::Taken(by.note.to_owned())
}

async fn check_claims(store: &dyn OnceStore, kind: OnceKind) {
    let one = new_work("check", kind);
    for _ in 0..2 {
        assert_eq!(
            begin(store, one).await,
            OnceClaim::Granted,
            "a claim is granted again to the same run, because the first reply may have been lost"
        );
    }
    let again = claimed_again(one);
    assert_eq!(
        begin(store, again).await,
        taken(one),
        "granted work remains claimed, and its note is returned"
    );
    assert_eq!(
        begin(store, OnceWork { name: "Pay", ..one }).await,
        OnceClaim::Granted,
        "a different name identifies different work"
    );
    let other = OnceWork {
        call: CallId(random::random()),
        ..one
    };
    assert_eq!(
        begin(store, other).await,
        OnceClaim::Granted,
        "a different call claims its own work"
    );
    let result = "{\"text\":\"7 \\u20ac, \u{e4}\"}";
    complete(store, one, result).await;
    for work in [one, again] {
        assert_eq!(
            begin(store, work).await,
            OnceClaim::Done(result.into()),
            "the result of completed work is kept unchanged"
        );
    }
    complete(store, again, "1").await;
    abandon(store, one).await;
    assert_eq!(
        begin(store, one).await,
        OnceClaim::Done(result.into()),
        "a result cannot be replaced or abandoned"
    );
}

async fn check_abandoned(store: &dyn OnceStore, kind: OnceKind) {
    let one = new_work("check", kind);
    let other = claimed_again(one);
    assert_eq!(begin(store, one).await, OnceClaim::Granted);
    abandon(store, other).await;
    assert_eq!(
        begin(store, other).await,
        taken(one),
        "only the run that claimed work can abandon it"
    );
    abandon(store, one).await;
    assert_eq!(
        begin(store, other).await,
        OnceClaim::Granted,
        "abandoned work can be claimed again"
    );
    abandon(store, one).await;
    assert_eq!(
        begin(store, claimed_again(one)).await,
        taken(other),
        "a run that abandons its claim again does not take it from another run"
    );
}

/// Checks results of work that nobody has claimed, and results that are forgotten.
async fn check_unclaimed(store: &dyn OnceStore, kind: OnceKind) {
    let work = new_work("check", kind);
    let done = |result: &str| OnceClaim::Done(result.into());
    complete(store, work, "7").await;
    assert_eq!(
        begin(store, work).await,
        done("7"),
        "a result is kept although nobody has claimed the work"
    );
    let forget = async |result| {
        let forgotten = store.forget(work, result).await;
        forgotten.expect("the store works");
    };
    forget("8").await;
    assert_eq!(
        begin(store, work).await,
        done("7"),
        "another result is not forgotten"
    );
    forget("7").await;
    let claim = begin(store, work).await;
    assert!(
        claim == OnceClaim::Granted || claim == done("7"),
        "forgotten work can be claimed again"
    );
}

/// Checks that the end of a call does not affect other calls.
async fn check_end(store: &dyn OnceStore, kind: OnceKind) {
    let (ended, other) = (new_work("check", kind), new_work("check", kind));
    for work in [ended, other] {
        assert_eq!(begin(store, work).await, OnceClaim::Granted);
        complete(store, work, "7").await;
    }
    store.end(ended.call).await.expect("the store works");
    assert_eq!(
        begin(store, other).await,
        OnceClaim::Done("7".into()),
        "the end of a call leaves other calls as they are"
    );
}

/// Checks the room of a new, empty store that was created with [`few_once_entries`].
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_once_limits(store: &dyn OnceStore) {
    for kind in KINDS {
        check_entries(store, kind).await;
        check_bytes(store, kind).await;
    }
}

/// Returns the limits for [`check_once_limits`].
#[must_use]
pub fn few_once_entries() -> Limits {
    Limits::default().with(|limits| {
        (limits.once.max_steps, limits.once.max_steps_per_caller) = (5, 3);
        (limits.once.max_bytes, limits.once.max_bytes_per_caller) = (100, 60);
    })
}

/// Checks the numbers of entries: three of one caller, and five of all.
async fn check_entries(store: &dyn OnceStore, kind: OnceKind) {
    let new = |owner| OnceWork {
        note: "",
        ..new_work(owner, kind)
    };
    let mut mallory: Vec<OnceWork<'_>> = Vec::new();
    for _ in 0..3 {
        let work = new("mallory");
        assert_eq!(begin(store, work).await, OnceClaim::Granted);
        complete(store, work, "1").await;
        mallory.push(work);
    }
    assert_eq!(
        begin(store, new("mallory")).await,
        OnceClaim::CallerFull,
        "a caller has only its share, also of work that is done"
    );
    let known = begin(store, mallory[0]).await;
    assert_eq!(
        known,
        OnceClaim::Done("1".into()),
        "a full store still returns results"
    );
    let alice = [new("alice"), new("alice")];
    for work in alice {
        assert_eq!(
            begin(store, work).await,
            OnceClaim::Granted,
            "a caller whose share is full leaves room for others, and so does other kinds of work"
        );
    }
    assert_eq!(begin(store, new("alice")).await, OnceClaim::Full);
    complete(store, alice[0], "2").await;
    let done = begin(store, alice[0]).await;
    let text = "work that has begun is recorded although the store is full";
    assert_eq!(done, OnceClaim::Done("2".into()), "{text}");
    abandon(store, alice[1]).await;
    let next = new("alice");
    let claim = begin(store, next).await;
    assert_eq!(claim, OnceClaim::Granted, "abandoned work makes room");
    let mut all = vec![(alice[0], "2"), (mallory[0], "1"), (mallory[1], "1")];
    complete(store, next, "3").await;
    all.extend([(next, "3"), (mallory[2], "1")]);
    for (work, result) in all {
        let forgotten = store.forget(work, result).await;
        forgotten.expect("the store works");
    }
}

/// Checks the sizes: 60 bytes of one caller, and 100 of all. Texts are measured in bytes, not in characters.
async fn check_bytes(store: &dyn OnceStore, kind: OnceKind) {
    let (twenty, nineteen) = ("\u{e4}".repeat(10), "x".repeat(19));
    let named = |owner, name| OnceWork {
        name,
        note: "",
        ..new_work(owner, kind)
    };
    let (mallory, alice) = (named("mallory", "a"), named("alice", "b"));
    assert_eq!(begin(store, mallory).await, OnceClaim::Granted);
    complete(store, mallory, &"\u{e4}".repeat(20)).await;
    // 41 bytes are taken.
    let text = "a caller has only its share of the bytes";
    let claim = begin(store, named("mallory", &twenty)).await;
    assert_eq!(claim, OnceClaim::CallerFull, "{text}");
    let claim = begin(store, named("mallory", &nineteen)).await;
    assert_eq!(claim, OnceClaim::Granted, "{text}");
    assert_eq!(begin(store, alice).await, OnceClaim::Granted);
    complete(store, alice, &twenty).await;
    // 81 bytes are taken.
    let text = "all callers have only the room of the store";
    let claim = begin(store, named("bob", &twenty)).await;
    assert_eq!(claim, OnceClaim::Full, "{text}");
    let claim = begin(store, named("bob", &nineteen)).await;
    assert_eq!(claim, OnceClaim::Granted, "{text}");
    let claim = begin(store, named("carol", "c")).await;
    assert_eq!(claim, OnceClaim::Full, "{text}");
}
