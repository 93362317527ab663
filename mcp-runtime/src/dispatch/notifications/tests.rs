//! Tests which changes listeners are notified of, and how often.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::context::Principal;
use crate::handler::access::Access;

fn listening(
    notifications: &Notifications,
    filter: ListenFilter,
) -> (Arc<Mailbox>, Arc<AtomicUsize>) {
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let wake: Wake = Arc::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    (notifications.listen(filter, wake), woken)
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
    let notifications = Notifications::default();
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
fn nobody_hears_of_what_they_did_not_ask_for() {
    let notifications = Notifications::default();
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
fn what_does_not_fit_is_told_later() {
    let notifications = Notifications::default();
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
fn following_is_bounded_and_can_be_ended() {
    let notifications = Notifications::default();
    let (mailbox, _) = listening(&notifications, ListenFilter::default());
    assert!(mailbox.subscribe("a://a", 1));
    assert!(mailbox.subscribe("a://a", 1));
    assert!(!mailbox.subscribe("a://b", 1));
    notifications.post(
        &ChangeNotification::Resource("a://a".to_owned()),
        &NotifiedCallers::All,
    );
    mailbox.unsubscribe("a://a");
    assert!(told(&mailbox).is_empty());
    assert!(mailbox.subscribe("a://b", 1));
}

#[test]
fn listeners_that_are_gone_are_forgotten() {
    let notifications = Notifications::default();
    for _ in 0..100 {
        drop(listening(&notifications, ListenFilter::default()));
    }
    assert!(notifications.mailboxes.lock().unwrap().len() <= 32);
}

#[test]
fn a_resource_that_changes_often_is_told_of_once_and_held_once() {
    let notifications = Notifications::default();
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
fn a_list_is_told_of_to_those_for_whom_it_changed() {
    let notifications = Notifications::default();
    let filter = ListenFilter {
        tools: true,
        ..ListenFilter::default()
    };
    let (mailbox, _) = listening(&notifications, filter);
    let mut staff = NotifiedCallers::default();
    staff.add_callers_with_access(&Access::declared(&["staff"], None));
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
fn a_resource_is_told_of_to_those_whom_the_program_chose() {
    let notifications = Notifications::default();
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

#[cfg(feature = "http")]
#[test]
fn whoever_was_away_hears_of_what_changed_meanwhile_whatever_the_clock_says() {
    let notifications = Notifications::default();
    let all = || ListenFilter {
        extensions: Vec::new(),
        tools: true,
        prompts: true,
        resources: false,
        uris: Vec::new(),
    };
    let again = |seen| told(&notifications.listen_again(all(), Arc::new(|| {}), seen));
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
    assert_eq!(again(Notifications::default().list_version()).len(), 2);
}
