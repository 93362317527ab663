//! A test that checks any implementation against the rules of [`NotificationRelay`].

use std::time::Duration;

use tokio::time::timeout;

use crate::stores::{NotificationRelay, RelayedTexts};

/// Time within which a working store responds.
const LONG: Duration = Duration::from_mins(5);

/// Checks that a relay follows the rules of [`NotificationRelay`].
///
/// # Panics
///
/// Panics if the relay breaks a rule. The panic message states the rule.
pub(crate) async fn check_notification_relay(relay: &dyn NotificationRelay) {
    let receive = async |after: Option<&str>| {
        let received = timeout(LONG, relay.receive(after)).await;
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
