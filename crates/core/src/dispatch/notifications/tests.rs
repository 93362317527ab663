//! Tests which changes listeners are notified of, and how often.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::budget::{ByteBudget, Holder};
use crate::context::Principal;
use crate::handler::access::Access;

/// Returns a charge to a large budget.
fn charge() -> LazyCharge {
    ByteBudget::new(usize::MAX).lazy_charge(Holder::Anonymous(None))
}

fn listening(
    notifications: &NotificationListeners,
    filter: ListenFilter,
) -> (Arc<Mailbox>, Arc<AtomicUsize>) {
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let wake: Wake = Arc::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let mailbox = notifications.listen(filter, wake, (Caller::anonymous(), charge()));
    (mailbox, woken)
}

fn told(mailbox: &Mailbox) -> Vec<String> {
    let mut out = Vec::new();
    assert!(mailbox.drain(&mut out, usize::MAX, None, &Caller::anonymous()));
    let lines = String::from_utf8(out).unwrap();
    lines.lines().map(str::to_owned).collect()
}

fn uris(uris: &[&str]) -> ListenFilter {
    ListenFilter {
        uris: uris.iter().map(|uri| (*uri).into()).collect(),
        ..ListenFilter::default()
    }
}

#[test]
fn many_changes_between_two_readings_are_one_notification() {
    let notifications = NotificationListeners::default();
    let (mailbox, woken) = listening(
        &notifications,
        ListenFilter {
            tools: true,
            ..ListenFilter::default()
        },
    );
    for _ in 0..1_000 {
        notifications.post(
            &ChangeNotification::List(ListKind::Tools),
            &NotifiedCallers::All,
        );
    }
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    assert_eq!(told(&mailbox).len(), 1);
    assert_eq!(told(&mailbox).len(), 0);
    notifications.post(
        &ChangeNotification::List(ListKind::Tools),
        &NotifiedCallers::All,
    );
    assert_eq!(told(&mailbox).len(), 1);
}

#[test]
fn a_listener_gets_only_notifications_that_match_its_filter() {
    let notifications = NotificationListeners::default();
    let (mailbox, woken) = listening(&notifications, uris(&["a://a"]));
    notifications.post(
        &ChangeNotification::List(ListKind::Tools),
        &NotifiedCallers::All,
    );
    notifications.post(
        &ChangeNotification::Resource("a://b".to_owned()),
        &NotifiedCallers::All,
    );
    assert_eq!(woken.load(Ordering::Relaxed), 0);
    assert!(told(&mailbox).is_empty());
}

#[test]
fn notifications_that_do_not_fit_are_sent_later() {
    let notifications = NotificationListeners::default();
    let (mailbox, _) = listening(&notifications, uris(&["a://a", "a://b", "a://c"]));
    for uri in ["a://a", "a://b", "a://c"] {
        notifications.post(
            &ChangeNotification::Resource(uri.to_owned()),
            &NotifiedCallers::All,
        );
    }
    let mut out = Vec::new();
    assert!(!mailbox.drain(&mut out, 1, None, &Caller::anonymous()));
    assert_eq!(told(&mailbox).len(), 2);
}

#[test]
fn subscriptions_are_bounded_and_can_be_removed() {
    let notifications = NotificationListeners::default();
    let (mailbox, _) = listening(&notifications, ListenFilter::default());
    let limits = StreamLimits {
        max_subscriptions: 1,
        ..StreamLimits::default()
    };
    let subscribe = |uri| mailbox.subscribe(uri, &limits).is_ok();
    assert!(subscribe("a://a") && subscribe("a://a"));
    assert!(!subscribe("a://b"));
    notifications.post(
        &ChangeNotification::Resource("a://a".to_owned()),
        &NotifiedCallers::All,
    );
    mailbox.unsubscribe("a://a");
    assert!(told(&mailbox).is_empty());
    assert!(subscribe("a://b"));
}

#[test]
fn dropped_listeners_are_removed() {
    let notifications = NotificationListeners::default();
    for _ in 0..100 {
        drop(listening(&notifications, ListenFilter::default()));
    }
    assert!(notifications.mailboxes.lock().unwrap().len() <= 32);
}

#[test]
fn repeated_updates_of_a_resource_are_stored_and_sent_once() {
    let notifications = NotificationListeners::default();
    let (mailbox, woken) = listening(&notifications, uris(&["a://a", "a://b"]));
    for _ in 0..1_000 {
        for uri in ["a://a", "a://b"] {
            notifications.post(
                &ChangeNotification::Resource(uri.to_owned()),
                &NotifiedCallers::All,
            );
        }
    }
    assert_eq!(mailbox.state().pending.uris.len(), 2);
    assert_eq!(woken.load(Ordering::Relaxed), 2);
    assert_eq!(told(&mailbox).len(), 2);
    assert_eq!(told(&mailbox).len(), 0);
    notifications.post(
        &ChangeNotification::Resource("a://b".to_owned()),
        &NotifiedCallers::All,
    );
    assert!(told(&mailbox)[0].contains("a://b"));
}

#[test]
fn a_list_change_is_sent_to_callers_whose_list_changed() {
    let notifications = NotificationListeners::default();
    let filter = ListenFilter {
        tools: true,
        ..ListenFilter::default()
    };
    let (mailbox, _) = listening(&notifications, filter);
    let mut staff = NotifiedCallers::default();
    staff.add_callers_with_access(&Access::requiring(&["staff"]));
    let drain = |scope: &str| {
        let mut out = Vec::new();
        let caller = Principal::new("alice").with_scopes([scope]).into();
        assert!(mailbox.drain(&mut out, usize::MAX, None, &caller));
        !out.is_empty()
    };
    notifications.post_list(ListKind::Tools, &staff);
    assert!(!drain("guest"), "for others only");
    assert!(!drain("staff"), "nothing is left of it");
    notifications.post_list(ListKind::Tools, &staff);
    assert!(drain("staff") && !drain("staff"));
    notifications.post_list(ListKind::Tools, &staff);
    notifications.post(
        &ChangeNotification::List(ListKind::Tools),
        &NotifiedCallers::All,
    );
    assert!(drain("guest"));
}

#[test]
fn a_resource_update_is_sent_to_the_callers_that_the_program_chose() {
    let notifications = NotificationListeners::default();
    let (mailbox, _) = listening(&notifications, uris(&["a://a", "a://b"]));
    let alice = Principal::new("alice");
    let change = |uri: &str| ChangeNotification::Resource(uri.to_owned());
    let drain = |subject: &str, room| {
        let mut out = Vec::new();
        let caller = Principal::new(subject).into();
        let is_over = mailbox.drain(&mut out, room, None, &caller);
        (String::from_utf8(out).unwrap().lines().count(), is_over)
    };
    let audience = NotifiedCallers::principal(&alice);
    let is_alice = || {
        let subject = |caller: &Caller| caller.principal().map(|who| who.subject().to_owned());
        NotifiedCallers::those(move |caller| subject(caller).as_deref() == Some("alice"))
    };
    mailbox.set_caller(&Principal::new("bob").into());
    // However many such notifications there are, none of them is extended to all callers.
    for _ in 0..20 {
        notifications.post(&change("a://a"), &is_alice());
    }
    assert_eq!(drain("bob", usize::MAX), (0, true));
    mailbox.set_caller(&alice.clone().into());
    notifications.post(&change("a://a"), &audience);
    assert_eq!(drain("bob", usize::MAX), (0, true));
    assert_eq!(
        drain("alice", usize::MAX),
        (0, true),
        "nothing is left of it"
    );
    notifications.post(&change("a://a"), &audience);
    notifications.post(&change("a://b"), &audience);
    assert_eq!(drain("alice", 1), (1, false));
    notifications.post(&change("a://b"), &NotifiedCallers::All);
    assert_eq!(drain("bob", usize::MAX), (1, true));
}

/// A listener that asks for a flag and some keys.
fn gardener(keys: &[&str]) -> ListenFilter {
    let keys = keys.iter().map(|key| (*key).into()).collect();
    let filter = |member: &str, keys| ExtensionFilter {
        member: member.into(),
        keys,
    };
    ListenFilter {
        extensions: vec![filter("flag", None), filter("keys", Some(keys))],
        ..ListenFilter::default()
    }
}

fn news(key: Option<&str>, number: usize, audience: NotifiedCallers) -> ExtensionNotification {
    let params = serde_json::json!({ "number": number });
    ExtensionNotification {
        method: "notifications/garden".to_owned(),
        key: key.map(str::to_owned),
        params: params.as_object().cloned().unwrap(),
        audience,
    }
}

fn numbers(lines: &[String]) -> Vec<u64> {
    let values = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    values
        .map(|value: serde_json::Value| value["params"]["number"].as_u64().unwrap())
        .collect()
}

#[test]
fn the_latest_notification_of_each_key_is_kept_in_sending_order() {
    let notifications = NotificationListeners::default();
    let (mailbox, woken) = listening(&notifications, gardener(&["a", "b"]));
    for (key, number) in [("a", 1), ("b", 2), ("a", 3), ("other", 4)] {
        notifications.post_extension("keys", &news(Some(key), number, NotifiedCallers::All));
    }
    notifications.post_extension("flag", &news(None, 5, NotifiedCallers::All));
    assert_eq!(woken.load(Ordering::Relaxed), 3);
    assert_eq!(numbers(&told(&mailbox)), [2, 3, 5]);
    assert!(told(&mailbox).is_empty());
}

#[test]
fn notifications_for_other_callers_do_not_fill_the_mailbox() {
    let notifications = NotificationListeners::default();
    let keys: Vec<_> = (0..1_024).map(|key| key.to_string()).collect();
    let keys: Vec<_> = keys.iter().map(String::as_str).collect();
    let (mailbox, woken) = listening(&notifications, gardener(&keys));
    let owner = Principal::new("alice");
    mailbox.set_caller(&owner.clone().into());
    for (number, key) in keys.iter().enumerate() {
        let audience = NotifiedCallers::principal(&owner);
        notifications.post_extension("keys", &news(Some(key), number, audience));
    }
    for number in 0..2_000 {
        // Notifications for the same caller replace each other, however the program selected that caller.
        let audience = NotifiedCallers::those(|caller| caller.principal().is_some());
        notifications.post_extension("flag", &news(None, number, audience));
        let audience = NotifiedCallers::those(Caller::is_trusted);
        notifications.post_extension("flag", &news(None, number, audience));
    }
    assert_eq!(woken.load(Ordering::Relaxed), 1_025);
    assert_eq!(mailbox.state().pending.extensions.len(), 1_025);
    let mut out = Vec::new();
    assert!(mailbox.drain(&mut out, usize::MAX, None, &owner.into()));
    let lines = String::from_utf8(out).unwrap();
    let lines: Vec<_> = lines.lines().map(str::to_owned).collect();
    let expected = (0..1_024).chain([1_999]);
    assert!(numbers(&lines).into_iter().eq(expected));
}

#[test]
fn after_a_change_of_caller_notifications_depend_on_the_new_caller() {
    let notifications = NotificationListeners::default();
    let (mailbox, _) = listening(&notifications, gardener(&[]));
    let staff = || NotifiedCallers::those(|caller| caller.has_scope("staff"));
    let caller = |scope: &str| Caller::from(Principal::new("alice").with_scopes([scope]));
    let drain = |scope: &str| {
        let mut out = Vec::new();
        mailbox.drain(&mut out, usize::MAX, None, &caller(scope));
        !out.is_empty()
    };
    notifications.post_extension("flag", &news(None, 1, staff()));
    assert!(!drain("staff"), "it was not for the caller at that time");
    mailbox.set_caller(&caller("staff"));
    notifications.post_extension("flag", &news(None, 2, staff()));
    assert!(!drain("guest") && !drain("staff"), "the scope is gone");
    notifications.post_extension("flag", &news(None, 3, staff()));
    assert!(drain("staff"));
}

#[test]
fn notifications_of_extensions_that_do_not_fit_are_sent_later() {
    let notifications = NotificationListeners::default();
    let (mailbox, _) = listening(&notifications, gardener(&["a", "b"]));
    for (number, key) in ["a", "b"].into_iter().enumerate() {
        notifications.post_extension("keys", &news(Some(key), number, NotifiedCallers::All));
    }
    let mut out = Vec::new();
    assert!(!mailbox.drain(&mut out, 1, None, &Caller::anonymous()));
    assert_eq!(numbers(&told(&mailbox)), [1]);
}

#[test]
fn a_returning_listener_gets_missed_changes_regardless_of_the_clock() {
    let notifications = NotificationListeners::default();
    let all = || ListenFilter {
        extensions: Vec::new(),
        tools: true,
        prompts: true,
        resources: false,
        uris: Vec::new(),
    };
    let again = |seen| {
        let (wake, listener) = (Arc::new(|| {}), (Caller::anonymous(), charge()));
        told(&notifications.listen_again(all(), wake, listener, seen))
    };
    notifications.post(
        &ChangeNotification::List(ListKind::Tools),
        &NotifiedCallers::All,
    );
    let seen = notifications.list_version();
    assert!(again(seen).is_empty(), "it changed before");
    notifications.post(
        &ChangeNotification::List(ListKind::Prompts),
        &NotifiedCallers::All,
    );
    notifications.post(
        &ChangeNotification::List(ListKind::Resources),
        &NotifiedCallers::All,
    );
    for _ in 0..2 {
        let told = again(seen);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("prompts/list_changed"), "{told:?}");
    }
    // Versions from different processes cannot be compared.
    assert_eq!(
        again(NotificationListeners::default().list_version()).len(),
        2
    );
}
