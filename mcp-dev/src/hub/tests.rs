use super::*;

fn notification(hub: &Hub, droppable: bool) -> Option<u64> {
    hub.message(WireMessage {
        era: Era::Legacy,
        sent: false,
        text: "{}",
        notes: Value::Null,
        droppable,
    })
}

#[test]
fn excess_notifications_are_dropped_but_not_undroppable_messages() {
    let hub = Hub::new("server", false);
    let kept = (0..5_000).filter_map(|_| notification(&hub, true)).count();
    assert!((300..3_000).contains(&kept), "{kept}");
    assert!(notification(&hub, false).is_some());
    let snapshot: Value = serde_json::from_str(&hub.open().0).unwrap();
    assert_eq!(snapshot["skipped"], 5_000 - kept);
}

#[tokio::test]
async fn requests_get_a_turn_even_when_notifications_use_up_the_budget() {
    let hub = Hub::new("server", false);
    while notification(&hub, true).is_some() {}
    for _ in 0..MAX_REQUESTS {
        hub.turn().await;
    }
    assert!(
        hub.state().requests.take(MAX_REQUESTS).is_err(),
        "they have no budget"
    );
}

#[test]
fn a_new_page_gets_the_state_and_all_open_requests() {
    let hub = Hub::new("server", false);
    hub.era(Era::Modern, json!({"state": "ready"}));
    hub.ask(Era::Legacy, 7, "roots/list", &Value::Null);
    hub.ask(Era::Legacy, 8, "roots/list", &Value::Null);
    hub.settle(7);
    hub.finished("k", &json!({"cancelled": true}));
    let snapshot: Value = serde_json::from_str(&hub.open().0).unwrap();
    assert_eq!(snapshot["questions"][0]["seq"], 8);
    assert_eq!(snapshot["finished"][0]["key"], "k");
    assert_eq!(snapshot["eras"][0]["status"]["state"], "ready");
}
