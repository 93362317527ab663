//! A test that checks any implementation against the rules of [`InstanceRelay`].

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::stores::{InstanceRelay, RelayedTexts};

/// Time within which a working store responds.
const LONG: Duration = Duration::from_mins(5);
/// Lease of an instance that stays alive.
const LEASE: Duration = Duration::from_mins(1);
/// Lease of an instance that does not stay alive.
const SHORT: Duration = Duration::from_millis(300);

/// Checks that a relay follows the rules of [`InstanceRelay`].
///
/// # Panics
///
/// Panics if the relay breaks a rule. The panic message states the rule.
pub(crate) async fn check_instance_relay(relay: &dyn InstanceRelay) {
    let receive = async |name: &str, lease, after: Option<&RelayedTexts>| {
        let after = after.map(|received| &*received.position);
        let received = timeout(LONG, relay.receive(name, lease, after)).await;
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
    let brief = receive("brief", SHORT, None).await;
    assert_eq!(
        send("brief", "lost").await,
        1,
        "an instance is alive while it holds a lease"
    );
    let gone = async {
        while instances().await.contains(&"brief".to_owned()) {
            sleep(SHORT / 4).await;
        }
    };
    let gone = timeout(LONG, gone).await;
    gone.expect("an instance that no longer receives is gone after its lease");
    assert_eq!(
        send("brief", "late").await,
        0,
        "an instance that is gone is not reached"
    );
    let back = receive("brief", SHORT, Some(&brief)).await;
    assert_eq!(
        back.texts, None,
        "an instance that was gone may have missed texts"
    );
}
