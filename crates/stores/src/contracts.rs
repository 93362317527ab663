//! The contracts of the stores other than the one for tasks, as tests that every implementation has to pass.

use std::time::Duration;

use mcp_core::context::{CallId, ClaimId, OnceClaim, OnceKind, OnceStore, OnceWork};
use mcp_core::limits::Limits;
use mcp_core::random;
use mcp_core::random::random_id;
use tokio::time::{sleep, timeout};

use crate::{
    DefinitionStore, KeptResult, NotificationRelay, RateDecision, RateStore, RateToken,
    RelayedTexts, ResultId, ResultStore, StoredDefinitions,
};

// --- Tests that check any implementation against the rules of [`OnceStore`].

/// Two kinds of work, each with the room for steps.
const KINDS: [OnceKind; 2] = [
    OnceKind::STEP,
    OnceKind::new("check", |limits| OnceKind::STEP.room(limits)),
];

/// Checks that a store for completed work follows the rules of [`OnceStore`], except for those about its room.
///
/// ```
/// # use mcp_runtime::backend::{MemoryOnceStore, check_once_store};
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
        call: CallId::from_bytes(random::random()),
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
        call: CallId::from_bytes(random::random()),
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

// --- A test that checks any implementation against the rules of [`ResultStore`].

/// A time to live that does not end during the check.
pub(crate) const LASTING_TTL: Duration = Duration::from_mins(5);

/// A time to live that ends during the check.
const BRIEF_TTL: Duration = Duration::from_millis(200);

/// A duration slightly longer than `BRIEF_TTL`.
const AFTER_BRIEF_TTL: Duration = Duration::from_millis(300);

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
        keep(result, LASTING_TTL).await;
    }
    keep(&brief, BRIEF_TTL).await;
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
    sleep(AFTER_BRIEF_TTL).await;
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

// --- A test that checks any implementation against the rules of [`DefinitionStore`].

/// Checks that a store follows the rules of [`DefinitionStore`].
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_definition_store(store: &dyn DefinitionStore) {
    let (set, other) = (random_id::<8>(), random_id::<8>());
    let receive = async |after: Option<&str>| {
        let received = timeout(LASTING_TTL, store.receive(&set, after)).await;
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

// --- A test that checks any implementation against the rules of [`RateStore`].

/// Time in which the buckets gain a token, which is longer than it takes to empty them.
const REFILL_TIME: Duration = Duration::from_secs(1);

/// Checks that a store follows the rules of [`RateStore`].
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub(crate) async fn check_rate_store(store: &dyn RateStore) {
    let run = random_id::<8>();
    let token =
        |bucket: &str, capacity| RateToken::new(format!("{bucket} {run}"), capacity, REFILL_TIME);
    let take = async |tokens: &[RateToken]| {
        let decided = timeout(LASTING_TTL, store.take(tokens)).await;
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
        !wait.is_zero() && wait <= REFILL_TIME,
        "a refusal states the time until the bucket has a token: {wait:?}"
    );
    assert_eq!(
        take(std::slice::from_ref(&small)).await,
        RateDecision::Admitted,
        "a refused call takes no token from any bucket"
    );
    sleep(REFILL_TIME.max(wait)).await;
    assert_eq!(
        take(&both).await,
        RateDecision::Admitted,
        "a token is available after the stated time"
    );
    assert!(
        matches!(take(&both).await, RateDecision::Refused(_)),
        "a bucket gains one token at a time"
    );
    sleep(REFILL_TIME * 4).await;
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

// --- A test that checks any implementation against the rules of [`NotificationRelay`].

/// Checks that a relay follows the rules of [`NotificationRelay`].
///
/// # Panics
///
/// Panics if the relay breaks a rule. The panic message states the rule.
pub(crate) async fn check_notification_relay(relay: &dyn NotificationRelay) {
    let receive = async |after: Option<&str>| {
        let received = timeout(LASTING_TTL, relay.receive(after)).await;
        let received = received.expect("a relay answers after a few seconds");
        received.expect("the relay works")
    };
    let publish = async |texts: &[&str]| {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        relay.publish(&texts).await.expect("the relay works");
    };
    let texts = |received: &RelayedTexts| received.texts.clone();
    let of = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
    let start = receive(None).await;
    assert_eq!(
        texts(&start),
        of(&[]),
        "without a position, nothing is received"
    );
    publish(&["one", "\u{0} two"]).await;
    let first = receive(Some(&start.position)).await;
    assert_eq!(
        texts(&first),
        of(&["one", "\u{0} two"]),
        "texts are received in order"
    );
    assert_eq!(
        texts(&receive(None).await),
        of(&[]),
        "without a position, earlier texts are not received"
    );
    let waited = async {
        // A relay may return without entries after a while.
        let mut position = first.position.clone();
        loop {
            let received = receive(Some(&position)).await;
            if received.has_news() {
                return received;
            }
            position = received.position;
        }
    };
    let (third, ()) = tokio::join!(waited, publish(&["three"]));
    assert_eq!(texts(&third), of(&["three"]), "a relay waits for texts");
    assert_eq!(
        texts(&receive(Some(&start.position)).await),
        of(&["one", "\u{0} two", "three"]),
        "each instance receives all texts"
    );
    assert_eq!(
        texts(&receive(Some("of another log")).await),
        None,
        "after an unknown position, texts may have been missed"
    );
}
