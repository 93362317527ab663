//! The skills extension.

mod compiled;
mod directory;
mod dynamic;
mod start_up;

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_runtime::middleware::{Call, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::skills::{Skill, Skills};
use mcp_runtime::{Caller, Principal};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Client, Version};

use crate::support::connect;

const MODERN: Version = Version::V2026_07_28;

fn skill(path: &str, body: &str) -> Skill {
    let name = path.rsplit('/').next().unwrap();
    let text = format!(
        "---\nname: {name}\ndescription: About {name}\nmetadata: {{a: [1, true]}}\n---\n{body}"
    );
    Skill::new(path, text)
}

fn skills() -> Skills {
    let tools = skill("pdf-tools", "Fill in.\r\n")
        .file("references/more.md", "# More\n")
        .file("references/a b/c.txt", "c")
        .file("scripts/logo.bin", [0xff, 0]);
    Skills::new()
        .skill(tools)
        .skill(skill("group/second", "Second."))
}

fn server(skills: Skills) -> Server {
    new_server!().only(Selected::tag("extension")).with(skills)
}

async fn modern(skills: Skills) -> Client {
    connect(server(skills), MODERN).await
}

fn uris(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item["uri"].as_str().unwrap())
        .collect()
}

// Covers: EXT-02, EXT-06
#[tokio::test]
async fn the_extension_exists_in_the_modern_era_and_its_files_in_both() {
    for version in Version::ALL {
        let mut client = connect(server(skills()), version).await;
        if version.is_modern() {
            let offered = client.ok("server/discover", json!({})).await["capabilities"].clone();
            let settings = json!({"io.modelcontextprotocol/skills": {"directoryRead": true}});
            assert_eq!(offered["extensions"], settings);
            assert!(offered["resources"].is_object());
        } else {
            assert_eq!(client.initialized["capabilities"].get("extensions"), None);
            client.fails("skills/list", json!({}), -32601).await;
        }
        let read = client
            .ok(
                "resources/read",
                json!({"uri": "skill://pdf-tools/SKILL.md"}),
            )
            .await;
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
        let (listed, _) = client.list("resources/list", "resources").await;
        let listed: Vec<_> = listed
            .iter()
            .filter(|item| item["name"] == "pdf-tools")
            .collect();
        assert_eq!(listed[0]["description"], "About pdf-tools");
    }
}

#[tokio::test]
async fn the_digest_and_size_of_an_entry_match_its_contents() {
    let mut client = modern(skills()).await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("public"))
    );
    assert_eq!(
        uris(&list["skills"]),
        [
            "skill://group/second/SKILL.md",
            "skill://pdf-tools/SKILL.md"
        ]
    );
    let entry = &list["skills"][1];
    assert_eq!(
        entry["frontmatter"],
        json!({"name": "pdf-tools", "description": "About pdf-tools", "metadata": {"a": [1, true]}})
    );
    let get = client
        .ok("skills/get", json!({"uri": "skill://pdf-tools/SKILL.md"}))
        .await;
    assert_eq!(get["skill"], *entry);
    assert_eq!(entry["resources"].as_array().unwrap().len(), 4);
    for file in entry["resources"].as_array().unwrap() {
        let read = client
            .ok("resources/read", json!({"uri": file["uri"]}))
            .await;
        let contents = &read["contents"][0];
        assert_eq!(contents["uri"], file["uri"]);
        let bytes = if let Some(text) = contents["text"].as_str() {
            text.as_bytes().to_vec()
        } else {
            let blob = contents["blob"].as_str().unwrap();
            STANDARD.decode(blob).unwrap()
        };
        let hex: String = digest(&SHA256, &bytes)
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(file["digest"], format!("sha256:{hex}"), "{file}");
        assert_eq!(file["size"], bytes.len());
    }
}

#[tokio::test]
async fn directories_have_their_direct_children() {
    let mut client = modern(skills()).await;
    for (uri, expected) in [
        (
            "skill://pdf-tools",
            vec![
                "skill://pdf-tools/SKILL.md",
                "skill://pdf-tools/references",
                "skill://pdf-tools/scripts",
            ],
        ),
        (
            "skill://pdf-tools/references",
            vec![
                "skill://pdf-tools/references/a%20b",
                "skill://pdf-tools/references/more.md",
            ],
        ),
        (
            "skill://pdf-tools/references/a%20b",
            vec!["skill://pdf-tools/references/a%20b/c.txt"],
        ),
        ("skill://group", vec!["skill://group/second"]),
        ("SKILL://%67roup", vec!["skill://group/second"]),
    ] {
        let page = client
            .ok("resources/directory/read", json!({"uri": uri}))
            .await;
        assert_eq!(uris(&page["resources"]), expected);
        assert_eq!(page.get("ttlMs"), None);
        for child in page["resources"].as_array().unwrap() {
            let is_file = child["uri"].as_str().unwrap().contains('.');
            assert_eq!(child["mimeType"] == "inode/directory", !is_file, "{child}");
            assert!(
                !child["name"].as_str().unwrap().contains(['/', '%']),
                "{child}"
            );
        }
    }
}

#[tokio::test]
async fn requests_for_missing_skills_files_and_pages_are_refused() {
    let mut client = modern(skills()).await;
    for uri in [
        "skill://pdf-tools",
        "skill://pdf-tools/references/more.md",
        "skill://pdf-tools/./SKILL.md",
        "skill://pdf-tools/../pdf-tools/SKILL.md",
        "skill://group%2Fsecond/SKILL.md",
        "skill://",
        "",
        "SKILL.md",
    ] {
        client
            .fails("skills/get", json!({"uri": uri}), -32602)
            .await;
    }
    for uri in [
        "skill://pdf-tools/SKILL.md",
        "skill://pdf-tools/",
        "skill://",
        "skill:/",
        "skill:",
        "",
        "skill://other",
        "skill://pdf-tools/references/..",
        "skill://pdf-tools/references/a b",
    ] {
        client
            .fails("resources/directory/read", json!({"uri": uri}), -32602)
            .await;
    }
    for uri in [
        "skill://pdf-tools/none.md",
        "skill://pdf-tools/../x",
        "skill://pdf-tools/references",
    ] {
        client
            .fails("resources/read", json!({"uri": uri}), -32602)
            .await;
    }
    for (method, params) in [
        ("skills/list", json!({"cursor": "x"})),
        ("skills/list", json!({"cursor": "directory:a"})),
        ("skills/list", json!({"cursor": 1})),
        ("skills/get", json!({})),
        (
            "resources/directory/read",
            json!({"uri": "skill://pdf-tools", "cursor": "skills:a"}),
        ),
    ] {
        client.fails(method, params, -32602).await;
    }
}

#[tokio::test]
async fn long_lists_have_pages() {
    let many = (0..250).fold(Skills::new(), |skills, index| {
        skills.skill(skill(&format!("s{index:03}"), ""))
    });
    let mut client = modern(many).await;
    let (list, pages) = client.list("skills/list", "skills").await;
    assert_eq!((list.len(), pages), (250, 3));
    let files = (0..205).fold(skill("big", ""), |skill, index| {
        skill.file(format!("f/{index:03}"), "")
    });
    let mut client = modern(Skills::new().skill(files)).await;
    let directory = json!({"uri": "skill://big/f"});
    let (files, pages) = client
        .list_of("resources/directory/read", directory, "resources")
        .await;
    assert_eq!((files.len(), pages), (205, 3));
}

/// Hides one skill from all callers except one.
fn is_visible(caller: &Caller, path: &str) -> bool {
    let is_owner = |who: &Principal| who.subject() == "owner";
    path != "pdf-tools" || caller.principal().is_some_and(is_owner)
}

async fn client_of(hub: &Hub, subject: &str) -> Client {
    let who = Principal::new(subject);
    let client = hub.client_as(MODERN, |connection| connection.with_principal(who));
    client.connect().await
}

#[tokio::test]
async fn only_the_skill_whose_visibility_check_panics_is_hidden() {
    let undecided = skills().visible_if(|_, path| path != "pdf-tools" || panic!("undecided"));
    let mut client = modern(undecided).await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(uris(&list["skills"]), ["skill://group/second/SKILL.md"]);
    let uri = json!({"uri": "skill://pdf-tools/references/more.md"});
    client.fails("resources/read", uri, -32602).await;
}

#[tokio::test]
async fn a_skill_hidden_from_a_caller_does_not_exist() {
    let hub = Hub::serve(server(skills().visible_if(is_visible)));
    let mut owner = client_of(&hub, "owner").await;
    let list = owner.ok("skills/list", json!({})).await;
    assert_eq!(list["skills"].as_array().map(Vec::len), Some(2));
    let file = json!({"uri": "skill://pdf-tools/references/more.md"});
    owner.ok("resources/read", file).await;
    let mut client = client_of(&hub, "other").await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(list["cacheScope"], "private");
    assert_eq!(uris(&list["skills"]), ["skill://group/second/SKILL.md"]);
    let (listed, _) = client.list("resources/list", "resources").await;
    assert!(
        !listed.iter().any(|item| item["name"] == "pdf-tools"),
        "{listed:?}"
    );
    let uri = json!({"uri": "skill://pdf-tools/SKILL.md"});
    client.fails("skills/get", uri.clone(), -32602).await;
    client.fails("resources/read", uri, -32602).await;
    client
        .fails(
            "resources/read",
            json!({"uri": "skill://pdf-tools/references/more.md"}),
            -32602,
        )
        .await;
    client
        .fails(
            "resources/directory/read",
            json!({"uri": "skill://pdf-tools"}),
            -32602,
        )
        .await;
    let mut other = crate::support::client(MODERN).await;
    other.fails("skills/list", json!({}), -32601).await;
}

#[tokio::test]
async fn middleware_sees_the_reading_of_a_skill_and_not_the_list() {
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&names);
    let server = server(skills()).middleware(move |call: Call, next: Next| {
        seen.lock().unwrap().push(call.name().to_owned());
        async move { next.run(call).await }
    });
    let mut client = connect(server, MODERN).await;
    client.ok("skills/list", json!({})).await;
    let uri = "skill://group/second/SKILL.md";
    // An equivalent URI.
    let spelled = json!({"uri": "skill://group/%73econd/SKILL.md"});
    let entry = client.ok("skills/get", spelled).await;
    assert_eq!(entry["skill"]["uri"], uri);
    client.ok("resources/read", json!({"uri": uri})).await;
    assert_eq!(*names.lock().unwrap(), [uri]);
}
