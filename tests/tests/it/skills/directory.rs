//! Skills in a directory that changes.

use std::fs;

use mcp_runtime::skills::Skills;
use serde_json::{Value, json};

use super::{MODERN, modern};
use crate::examples::Directory;

fn text(body: &str) -> String {
    format!("---\nname: notes\ndescription: About notes\n---\n{body}")
}

#[tokio::test]
async fn digest_and_contents_change_together_and_clients_are_notified() {
    let directory = Directory::new("skills-live", MODERN);
    let folder = directory.join("notes");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("SKILL.md");
    fs::write(&file, text("one")).unwrap();
    let mut client = modern(Skills::dir(folder.parent().unwrap())).await;
    let uri = json!({"uri": "skill://notes/SKILL.md"});
    let filter =
        json!({"resourceSubscriptions": ["skill://notes/SKILL.md"], "resourcesListChanged": true});
    client
        .start("subscriptions/listen", json!({"notifications": filter}))
        .await;
    client
        .notification("notifications/subscriptions/acknowledged")
        .await;
    let before =
        client.ok("skills/get", uri.clone()).await["skill"]["resources"][0]["digest"].clone();
    // As editors do it: a reader sees the old file or the new one.
    let write = |body: &str| {
        fs::write(directory.join("new"), text(body)).unwrap();
        fs::rename(directory.join("new"), &file).unwrap();
    };
    write("two");
    client.notification("notifications/resources/updated").await;
    let entry = client.ok("skills/get", uri.clone()).await;
    assert_ne!(entry["skill"]["resources"][0]["digest"], before);
    let read = client.ok("resources/read", uri.clone()).await;
    assert_eq!(read["contents"][0]["text"], text("two"));
    // A skill that becomes invalid stays as it was; another one that is added with it is served.
    let more = folder.parent().unwrap().join("more");
    fs::create_dir_all(&more).unwrap();
    fs::write(&file, "broken").unwrap();
    fs::write(
        more.join("SKILL.md"),
        "---\nname: more\ndescription: More\n---\n",
    )
    .unwrap();
    client
        .notification("notifications/resources/list_changed")
        .await;
    let read = client.ok("resources/read", uri.clone()).await;
    assert_eq!(read["contents"][0]["text"], text("two"));
    write("three");
    client.notification("notifications/resources/updated").await;
    fs::remove_dir_all(&folder).unwrap();
    client
        .notification("notifications/resources/list_changed")
        .await;
    client.fails("resources/read", uri, -32602).await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(list["skills"].as_array().map(Vec::len), Some(1), "{list}");
    assert_ne!(list["skills"][0]["uri"], Value::Null);
}
