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
fn a_flood_is_cut_and_what_somebody_waits_for_is_not() {
    let hub = Hub::new("server", false);
    let kept = (0..5_000).filter_map(|_| notification(&hub, true)).count();
    assert!((300..3_000).contains(&kept), "{kept}");
    assert!(notification(&hub, false).is_some());
    let snapshot: Value = serde_json::from_str(&hub.open().0).unwrap();
    assert_eq!(snapshot["skipped"], 5_000 - kept);
}

#[tokio::test]
async fn requests_take_turns_whatever_else_floods() {
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
fn a_new_page_is_told_everything_that_is_open() {
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
