//! The whole server, as clients of both eras see it.

use std::fs;
use std::path::Path;

use mcp_runtime::prelude::*;
use mcp_runtime::testing::{Notification, Response, TestClient, check};
use rooms::Settings;
use tempfile::TempDir;

/// Returns clients that have bookings of their own each, in directories that are removed at the end of the test.
async fn client() -> (TestClient, [TempDir; 2]) {
    let directories = [(); 2].map(|()| TempDir::new().unwrap());
    let next = std::cell::Cell::new(0);
    let client = TestClient::each(|| server(directories[next.replace(next.get() + 1)].path()));
    (client.await, directories)
}

fn server(directory: &Path) -> Server {
    let settings = Settings {
        rooms: directory.join("rooms.json"),
        journal: directory.join("journal"),
    };
    fs::copy("rooms.json", &settings.rooms).unwrap();
    rooms::configure(new_server!(), &settings)
}

#[tokio::test]
async fn clients_and_models_accept_the_definitions() {
    check(server(TempDir::new().unwrap().path())).strict().await;
}

fn stand_up(room: &str) -> mcp_runtime::serde_json::Value {
    json!({"room": room, "from": "2126-07-28T09:00:00Z", "to": "2126-07-28T09:15:00Z", "title": "Stand-up"})
}

#[tokio::test]
async fn a_room_is_booked_once() {
    let (client, _directories) = client().await;
    client.subscribe("room:///the%20attic").await.unwrap();
    let booked = client
        .call("book_room", stand_up("the attic"))
        .await
        .unwrap();
    assert_eq!(booked.json()["id"], 1);
    assert_eq!(
        client.notification().await,
        Notification::ResourceUpdated("room:///the%20attic".into())
    );

    let taken = client
        .call("book_room", stand_up("the attic"))
        .await
        .unwrap();
    assert!(
        taken
            .error_text()
            .starts_with("`the attic` is taken from 2126-07-28 09:00:00 UTC")
    );
    let schedule = client.read("room:///the%20attic").await.unwrap();
    assert!(schedule.text().contains("Stand-up"));

    let free = json!({"from": "2126-07-28T09:00:00Z", "to": "2126-07-28T10:00:00Z", "people": 2});
    let free = client.call("free_rooms", free).await.unwrap();
    assert_eq!(free.json(), json!([{"name": "blue", "seats": 4}]));
}

#[tokio::test]
async fn a_booking_is_cancelled_only_if_the_user_agrees() {
    let (client, _directories) = client().await;
    client.call("book_room", stand_up("blue")).await.unwrap();
    for (answer, expected) in [
        (Response::decline(), "the user declined"),
        (json!({"really": false}).into(), "the user wants to keep it"),
    ] {
        client.answer(answer);
        let kept = client
            .call("cancel_booking", json!({"id": 1}))
            .await
            .unwrap();
        assert_eq!(kept.error_text(), expected);
    }
    client.answer(json!({"really": true}));
    let cancelled = client
        .call("cancel_booking", json!({"id": 1}))
        .await
        .unwrap();
    assert_eq!(cancelled.text(), "booking 1 is cancelled");
    let again = client.call("book_room", stand_up("blue")).await.unwrap();
    assert_eq!(again.json()["id"], 2);
}

#[tokio::test]
async fn names_of_rooms_are_completed() {
    let (client, _directories) = client().await;
    let completed = client
        .complete_template("room:///{name}", "name", "at", json!({}))
        .await
        .unwrap();
    assert_eq!(completed.values, ["the attic"]);
    let planned = json!({"topic": "tests", "people": "Ada", "length": "one hour"});
    assert!(
        client
            .prompt("plan_meeting", planned)
            .await
            .unwrap()
            .text()
            .contains("with Ada")
    );
}

#[tokio::test]
async fn clients_see_what_they_saw_before() {
    client().await.0.assert_surface("tests/surface.json").await;
}
