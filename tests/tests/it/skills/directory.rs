//! Skills in a directory whose contents change.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use mcp_runtime::skills::Skills;
use mcp_runtime::transport::memory;
use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Client, Version};

use super::{MODERN, client_of, is_visible, modern, server, skill};
use tests::Directory;

const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

fn text(body: &str) -> String {
    named("notes", body)
}

fn named(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n---\n{body}")
}

/// Writes a skill in such a way that readers never see half of it.
fn write(root: &Path, name: &str, body: &str) {
    let new = root.join(format!(".{name}"));
    fs::write(&new, named(name, body)).unwrap();
    fs::create_dir_all(root.join(name)).unwrap();
    fs::rename(new, root.join(name).join("SKILL.md")).unwrap();
}

async fn text_of(client: &mut Client, name: &str) -> Value {
    let uri = json!({"uri": format!("skill://{name}/SKILL.md")});
    let read = client.ok("resources/read", uri).await;
    read["contents"][0]["text"].clone()
}

async fn names(client: &mut Client) -> Vec<String> {
    let (skills, _) = client.list("skills/list", "skills").await;
    let name = |skill: &Value| skill["frontmatter"]["name"].as_str().unwrap().to_owned();
    skills.iter().map(name).collect()
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
    client.listen("skills", filter).await;
    let before =
        client.ok("skills/get", uri.clone()).await["skill"]["resources"][0]["digest"].clone();
    // Writes as editors do: a reader sees either the old file or the new one.
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
    // A skill that becomes invalid remains as it was; another one that is added at the same time is served.
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

#[tokio::test]
async fn changes_of_a_skill_notify_the_callers_that_can_see_it() {
    let directory = Directory::new("skills-hidden", MODERN);
    let root = directory.join("");
    write(&root, "pdf-tools", "one");
    write(&root, "notes", "one");
    let hub = Hub::serve(server(Skills::dir(&root).visible_if(is_visible)));
    let mut owner = client_of(&hub, "owner").await;
    let mut other = client_of(&hub, "other").await;
    let uris = json!(["skill://notes/SKILL.md", "skill://pdf-tools/SKILL.md"]);
    for client in [&mut owner, &mut other] {
        let filter = json!({"resourceSubscriptions": uris});
        client.listen("skills", filter).await;
    }
    for round in 0..2 {
        write(&root, "pdf-tools", &round.to_string());
        let updated = owner.notification(UPDATED).await;
        assert_eq!(updated["uri"], "skill://pdf-tools/SKILL.md");
        write(&root, "notes", &round.to_string());
        for client in [&mut owner, &mut other] {
            let updated = client.notification(UPDATED).await;
            assert_eq!(updated["uri"], "skill://notes/SKILL.md");
        }
    }
    assert_eq!(other.drain().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_deleted_file_is_notified_and_its_skill_stays() {
    let directory = Directory::new("skills-file", MODERN);
    let root = directory.join("");
    write(&root, "notes", "one");
    fs::write(root.join("notes/more.md"), "more").unwrap();
    let mut client = modern(Skills::dir(&root)).await;
    let filter = json!({"resourceSubscriptions": ["skill://notes/more.md"]});
    client.listen("skills", filter).await;
    fs::remove_file(root.join("notes/more.md")).unwrap();
    let updated = client.notification(UPDATED).await;
    assert_eq!(updated["uri"], "skill://notes/more.md");
    let uri = json!({"uri": "skill://notes/more.md"});
    client.fails("resources/read", uri, -32602).await;
    assert_eq!(names(&mut client).await, ["notes"]);
}

#[tokio::test]
async fn a_deleted_skill_is_removed_while_an_invalid_one_stays_as_it_was() {
    let directory = Directory::new("skills-deleted", MODERN);
    let root = directory.join("");
    write(&root, "notes", "one");
    write(&root, "gone", "one");
    let mut client = modern(Skills::dir(&root)).await;
    client
        .listen("skills", json!({"resourcesListChanged": true}))
        .await;
    fs::write(root.join("notes/SKILL.md"), "broken").unwrap();
    fs::remove_dir_all(root.join("gone")).unwrap();
    client.notification(LIST_CHANGED).await;
    assert_eq!(names(&mut client).await, ["notes"]);
    assert_eq!(text_of(&mut client, "notes").await, text("one"));
}

#[tokio::test]
async fn a_skill_is_removed_with_its_skill_file_even_if_other_files_are_left() {
    let directory = Directory::new("skills-bare", MODERN);
    let root = directory.join("");
    write(&root, "notes", "one");
    write(&root, "bare", "one");
    fs::write(root.join("bare/more.md"), "more").unwrap();
    let mut client = modern(Skills::dir(&root)).await;
    client
        .listen("skills", json!({"resourcesListChanged": true}))
        .await;
    fs::remove_file(root.join("bare/SKILL.md")).unwrap();
    client.notification(LIST_CHANGED).await;
    assert_eq!(names(&mut client).await, ["notes"]);
}

#[tokio::test]
async fn a_new_skill_with_a_path_in_use_is_ignored() {
    let directory = Directory::new("skills-twice", MODERN);
    let root = directory.join("");
    let in_memory = skill("notes", "in memory");
    let mut client = modern(Skills::dir(&root).skill(in_memory)).await;
    let before = text_of(&mut client, "notes").await;
    client
        .listen("skills", json!({"resourcesListChanged": true}))
        .await;
    write(&root, "notes", "in the directory");
    write(&root, "other", "one");
    client.notification(LIST_CHANGED).await;
    assert_eq!(names(&mut client).await, ["notes", "other"]);
    assert_eq!(text_of(&mut client, "notes").await, before);
}

/// Reports when it is dropped.
struct Token(mpsc::Sender<()>);

impl Drop for Token {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn the_skills_of_a_server_are_dropped_when_it_stops() {
    for version in Version::ERAS {
        let directory = Directory::new("skills-stopped", version);
        let root = directory.join("");
        write(&root, "notes", "one");
        let (sender, dropped) = mpsc::channel();
        let token = Token(sender);
        let skills = Skills::dir(&root).visible_if(move |_, _| {
            let _held = &token;
            true
        });
        let (transport, stream) = memory();
        let serving = tokio::spawn(server(skills).serve(transport));
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version).connect().await;
        text_of(&mut client, "notes").await;
        drop(client);
        serving.await.unwrap().unwrap();
        // The thread that reads the directories may be the last to drop it.
        let left =
            tokio::task::spawn_blocking(move || dropped.recv_timeout(Duration::from_secs(30)));
        assert_eq!(left.await.unwrap(), Ok(()), "{version:?}");
    }
}
