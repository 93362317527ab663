//! Tests that check any implementation against the rules of [`SessionStore`] and [`EventStore`].

use std::sync::Arc;
use std::time::Duration;

use mcp_core::limits::StreamLimits;
use mcp_protocol::ProtocolVersion;
use tokio::time::{sleep, timeout};

use crate::contracts::LASTING_TTL;
use crate::event_store::{EventStore, StreamEntry};
use crate::instance_relay::{InstanceRelay, RelayedTexts};
use crate::session_store::{MaybeReady, SessionRecord, SessionStore, SessionUpdate};

/// A duration that is longer than the whole check.
const LASTING_TIME: Duration = Duration::from_mins(5);
/// A duration that elapses during the check but is long enough for the operations that precede its end.
const BRIEF_TIME: Duration = Duration::from_secs(2);
/// A duration slightly longer than `BRIEF_TIME`.
const AFTER_BRIEF_TIME: Duration = Duration::from_millis(2_200);

/// Waits for a store's result, which must not be an error.
async fn done<T>(reply: MaybeReady<'_, T>) -> T {
    let result = match reply {
        MaybeReady::Ready(result) => result,
        MaybeReady::Later(later) | MaybeReady::Bounded(later) => later.await,
    };
    result.expect("the store works")
}

/// Returns an id with the length of a session id.
fn id(letter: char) -> String {
    letter.to_string().repeat(43)
}

/// Checks that a store follows the rules of [`SessionStore`]. The store must be empty. The check takes a few seconds,
/// or no time if tokio's clock is paused and the store uses that clock.
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_session_store(store: &dyn SessionStore) {
    versions(store).await;
    race(store).await;
    expiry(store).await;
}

fn record() -> Arc<SessionRecord> {
    Arc::new(SessionRecord::for_unknown_client(
        ProtocolVersion::LATEST_LEGACY,
    ))
}

fn next(record: &SessionRecord) -> Arc<SessionRecord> {
    let uri = format!("test://{}", record.changes());
    let change = SessionUpdate {
        ready: true,
        followed: vec![uri.into()],
        ..SessionUpdate::default()
    };
    Arc::new(record.with_update(&change, &StreamLimits::default()))
}

async fn insert(store: &dyn SessionStore, id: &str, keep: Duration) -> Arc<SessionRecord> {
    let record = record();
    let inserted = done(store.insert(id, Arc::clone(&record), keep, &|_| false)).await;
    assert!(inserted, "an empty store has room for a few sessions");
    record
}

async fn versions(store: &dyn SessionStore) {
    let (known, unknown) = (id('a'), id('b'));
    let first = insert(store, &known, LASTING_TIME).await;
    let load = async |id: &str| done(store.load(id, LASTING_TIME)).await;
    assert_eq!(
        load(&known).await,
        Some(Arc::clone(&first)),
        "a stored session is loaded unchanged"
    );
    assert_eq!(
        load(&unknown).await,
        None,
        "an unknown session is not found"
    );
    let second = next(&first);
    assert!(done(store.save(&known, Arc::clone(&second))).await);
    assert_eq!(load(&known).await, Some(Arc::clone(&second)));
    assert!(
        !done(store.save(&known, Arc::clone(&second))).await,
        "a change that has already been saved is refused"
    );
    let fourth = next(&next(&second));
    assert!(
        !done(store.save(&known, fourth)).await,
        "a change to a version that is not stored is refused"
    );
    assert_eq!(load(&known).await, Some(second));
    assert!(
        !done(store.save(&unknown, first)).await,
        "a change to an unknown session is refused"
    );
    assert_eq!(load(&unknown).await, None);
    assert!(done(store.remove(&known)).await);
    assert!(
        !done(store.remove(&known)).await,
        "a session ends only once"
    );
    assert_eq!(
        load(&known).await,
        None,
        "a session that has ended is not found"
    );
}

async fn race(store: &dyn SessionStore) {
    let id = id('c');
    let record = insert(store, &id, LASTING_TIME).await;
    let (one, other) = (next(&record), next(&record));
    let (one, other) = tokio::join!(done(store.save(&id, one)), done(store.save(&id, other)));
    assert!(
        one != other,
        "one of two concurrent changes to a record is refused"
    );
}

async fn expiry(store: &dyn SessionStore) {
    let (brief, kept, again) = (id('d'), id('e'), id('f'));
    for id in [&brief, &kept, &again] {
        insert(store, id, BRIEF_TIME).await;
    }
    let load = async |id: &str, keep| done(store.load(id, keep)).await;
    assert!(load(&brief, Duration::ZERO).await.is_some());
    assert!(load(&kept, LASTING_TIME).await.is_some());
    assert!(
        load(&kept, BRIEF_TIME).await.is_some(),
        "using a session never shortens the time for which it is kept"
    );
    sleep(AFTER_BRIEF_TIME).await;
    assert!(
        load(&brief, LASTING_TIME).await.is_none(),
        "a session is not found after it has expired"
    );
    assert!(!done(store.save(&brief, next(&record()))).await);
    assert!(!done(store.remove(&brief)).await);
    assert!(
        load(&kept, Duration::ZERO).await.is_some(),
        "using a session extends the time for which it is kept"
    );
    insert(store, &again, LASTING_TIME).await;
    assert!(
        load(&again, LASTING_TIME).await.is_some(),
        "the id of an expired session can be used again"
    );
}

/// Checks that a store follows the rules of [`EventStore`]. The store must be empty. The check takes a few seconds, or
/// no time if tokio's clock is paused and the store uses that clock.
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_event_store(store: &dyn EventStore) {
    let message = |text: &str| StreamEntry::Message(text.as_bytes().into());
    let append = async |session: &str, stream, position, entry, keep| {
        done(store.append(session, stream, position, entry, keep)).await;
    };
    let read = async |session: &str, stream, after| done(store.read(session, stream, after)).await;
    let (one, other) = (id('a'), id('b'));
    let last = u64::MAX >> 1;
    append(&one, 1, 0, StreamEntry::Opened, LASTING_TIME).await;
    assert_eq!(
        read(&one, 1, 0).await,
        Some(vec![]),
        "a stream may have no new entries"
    );
    append(&one, 1, 1, message("first"), LASTING_TIME).await;
    append(&one, 1, 1, message("first"), LASTING_TIME).await;
    append(&one, 1, 2, message("\u{0} \u{ff}"), LASTING_TIME).await;
    append(&one, last, 0, StreamEntry::Opened, LASTING_TIME).await;
    append(&one, 1, 3, StreamEntry::Ended, LASTING_TIME).await;
    assert_eq!(
        read(&one, 1, 0).await,
        Some(vec![
            message("first"),
            message("\u{0} \u{ff}"),
            StreamEntry::Ended
        ]),
        "entries are read in order, and an entry that was appended twice is read once"
    );
    assert_eq!(read(&one, 1, 2).await, Some(vec![StreamEntry::Ended]));
    assert_eq!(read(&one, 1, 3).await, Some(vec![]));
    assert_eq!(
        read(&one, last, 0).await,
        Some(vec![]),
        "streams do not share entries"
    );
    for (session, stream, after) in [
        (&one, 1, 4),
        (&one, 1, u64::MAX),
        (&one, 2, 0),
        (&other, 1, 0),
    ] {
        assert_eq!(
            read(session, stream, after).await,
            None,
            "a position that was never written is not found"
        );
    }
    append(&other, 1, 0, StreamEntry::Opened, LASTING_TIME).await;
    append(&other, 2, 0, StreamEntry::Opened, BRIEF_TIME).await;
    append(&other, 3, 0, StreamEntry::Opened, LASTING_TIME).await;
    append(&other, 3, 1, StreamEntry::Ended, BRIEF_TIME).await;
    done(store.forget(&one)).await;
    assert_eq!(
        read(&one, 1, 0).await,
        None,
        "the streams of a session that has ended are dropped"
    );
    sleep(AFTER_BRIEF_TIME).await;
    assert_eq!(read(&other, 1, 0).await, Some(vec![]));
    for stream in [2, 3] {
        assert_eq!(
            read(&other, stream, 0).await,
            None,
            "a stream is dropped when its last entry has expired"
        );
    }
}

// --- A test that checks any implementation against the rules of [`InstanceRelay`].

/// Lease of an instance that stays alive.
const LEASE: Duration = Duration::from_mins(1);

/// Lease of an instance that does not stay alive.
const BRIEF_LEASE: Duration = Duration::from_millis(300);

/// Checks that a relay follows the rules of [`InstanceRelay`].
///
/// # Panics
///
/// Panics if the relay breaks a rule. The panic message states the rule.
pub(crate) async fn check_instance_relay(relay: &dyn InstanceRelay) {
    let receive = async |name: &str, lease, after: Option<&RelayedTexts>| {
        let after = after.map(|received| &*received.position);
        let received = timeout(LASTING_TTL, relay.receive(name, lease, after)).await;
        let received = received.expect("a relay answers within a third of the lease");
        received.expect("the relay works")
    };
    let send = async |to: &str, text: &str| relay.send(to, text).await.expect("the relay works");
    let instances = async || {
        let mut names = relay.instances().await.expect("the relay works");
        names.sort_unstable();
        names
    };
    let of = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
    assert_eq!(instances().await, [""; 0], "no instance is alive at first");
    assert_eq!(
        send("", "nobody").await,
        0,
        "a text reaches no one if there are no instances"
    );
    let a = receive("a-1", LEASE, None).await;
    let b = receive("b-1", LEASE, None).await;
    assert_eq!(a.texts, of(&[]), "without a position, nothing is received");
    assert_eq!(instances().await, ["a-1", "b-1"], "who receives is alive");
    assert_eq!(
        send("a-", "one").await,
        1,
        "a text goes to the names that begin with the prefix"
    );
    assert_eq!(send("", "\u{0} two").await, 2, "without a name, to all");
    assert_eq!(
        send("c", "three").await,
        0,
        "an unknown instance is not reached"
    );
    let first = receive("a-1", LEASE, Some(&a)).await;
    assert_eq!(
        first.texts,
        of(&["one", "\u{0} two"]),
        "texts are received in order"
    );
    let again = receive("a-1", LEASE, Some(&a)).await;
    assert_eq!(
        again.texts, first.texts,
        "texts that were not acknowledged are received again"
    );
    let other = receive("b-1", LEASE, Some(&b)).await;
    assert_eq!(
        other.texts,
        of(&["\u{0} two"]),
        "each instance has its own inbox"
    );
    let waiting = async {
        let mut received = first.clone();
        loop {
            received = receive("a-1", LEASE, Some(&received)).await;
            if received.has_news() {
                return received;
            }
        }
    };
    let (third, reached) = tokio::join!(waiting, send("a-1", "three"));
    assert_eq!(
        (third.texts, reached),
        (of(&["three"]), 1),
        "texts are waited for"
    );
    let brief = receive("brief", BRIEF_LEASE, None).await;
    assert_eq!(
        send("brief", "lost").await,
        1,
        "an instance is alive while it holds a lease"
    );
    let gone = async {
        while instances().await.contains(&"brief".to_owned()) {
            sleep(BRIEF_LEASE / 4).await;
        }
    };
    let gone = timeout(LASTING_TTL, gone).await;
    gone.expect("an instance that no longer receives is gone after its lease");
    assert_eq!(
        send("brief", "late").await,
        0,
        "an instance that is gone is not reached"
    );
    let back = receive("brief", BRIEF_LEASE, Some(&brief)).await;
    assert_eq!(
        back.texts, None,
        "an instance that was gone may have missed texts"
    );
}
