//! Lists that depend on the caller.

use std::time::Duration;

use mcp_runtime::dynamic::DynamicTool;
use mcp_runtime::server::Cacheable;
use mcp_runtime::types::CacheScope;
use serde_json::{Value, json};
use tests::Version;
use tests::link::Hub;

use super::{ADMIN, Identity, READER, STAFF, WRITER, server};

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

/// The items that all callers see, followed by the additional ones of each caller, list by list.
const OPEN: [&[&str]; 4] = [&["look", "sign", "touch"], &[], &["identity:open"], &[]];
const FOR_READERS: [&[&str]; 4] = [
    &[],
    &["summary"],
    &["identity:notes", "note:///1"],
    &["note:///{id}"],
];
const FOR_WRITERS: [&[&str]; 4] = [&["write_note", "erase"], &[], &[], &[]];
const FOR_STAFF: [&[&str]; 4] = [
    &["staff_room"],
    &["rota"],
    &["identity:staff", "rota:///today"],
    &["rota:///{day}"],
];

// Covers: AUTH-07, AUTH-11, AUTH-13, PAGE-01, RES-11
#[tokio::test]
async fn callers_see_their_definitions_with_any_page_size() {
    for version in Version::ALL {
        for size in [1, 2, 1_000] {
            let hub = Hub::serve(server().limits(tests::pages_of(size)));
            for (who, parts) in [
                (Identity::Anonymous, vec![OPEN]),
                (READER, vec![OPEN, FOR_READERS]),
                (WRITER, vec![OPEN, FOR_READERS, FOR_WRITERS]),
                (STAFF, vec![OPEN, FOR_STAFF]),
                (ADMIN, vec![OPEN, FOR_READERS, FOR_WRITERS, FOR_STAFF]),
                (
                    Identity::Owner,
                    vec![OPEN, FOR_READERS, FOR_WRITERS, FOR_STAFF],
                ),
            ] {
                let mut client = who.connect(&hub, version).await;
                for (index, (method, member, key)) in LISTS.into_iter().enumerate() {
                    let mut expected: Vec<&str> =
                        parts.iter().flat_map(|part| part[index]).copied().collect();
                    let (items, pages) = client.list(method, member).await;
                    let mut seen: Vec<&str> =
                        items.iter().filter_map(|item| item[key].as_str()).collect();
                    expected.sort_unstable();
                    seen.sort_unstable();
                    assert_eq!(seen, expected, "{method} for {who:?} in pages of {size}");
                    if size == 1 && method != "resources/list" {
                        assert_eq!(pages, seen.len().max(1), "{method} for {who:?}");
                    }
                }
            }
        }
    }
}

// Covers: CACHE-05, PAGE-05
#[tokio::test]
async fn a_list_that_depends_on_the_caller_always_has_private_cache_scope() {
    let public = |server: mcp_runtime::Server| {
        let day = Duration::from_hours(24);
        server.cache_hints(Cacheable::Everything, day, CacheScope::Public)
    };
    for (hub, scope) in [
        (
            Hub::serve(public(server().limits(tests::pages_of(2)))),
            "private",
        ),
        (
            Hub::serve(public(crate::fixture::server().limits(tests::pages_of(2)))),
            "public",
        ),
    ] {
        let mut client = Identity::Owner.connect(&hub, Version::V2026_07_28).await;
        for (method, ..) in LISTS {
            let mut params = json!({});
            // The result is the same on every page.
            while params["cursor"] != Value::Null || params == json!({}) {
                let list = client.ok(method, params).await;
                assert_eq!(list["cacheScope"], scope, "{method}");
                assert_eq!(list["ttlMs"], 86_400_000, "{method}");
                params = json!({"cursor": list["nextCursor"]});
            }
        }
    }
    let hub = Hub::serve(server());
    let mut reader = READER.connect(&hub, Version::V2026_07_28).await;
    for (uri, scope) in [("identity:open", "public"), ("identity:notes", "private")] {
        let read = reader.ok("resources/read", json!({"uri": uri})).await;
        assert_eq!(read["cacheScope"], scope, "{uri}");
    }
}

// Covers: PAGE-03, AUTH-11
#[tokio::test]
async fn a_cursor_is_of_no_use_to_another_caller() {
    for version in Version::ALL {
        let hub = Hub::serve(server().limits(tests::pages_of(1)));
        let mut admin = ADMIN.connect(&hub, version).await;
        let mut others = Vec::new();
        for who in [
            Identity::Anonymous,
            Identity::Owner,
            Identity::Known("other", &["admin"]),
        ] {
            others.push(who.connect(&hub, version).await);
        }
        // The same caller, with a token that grants less.
        let mut again = Identity::Known("admin", &["staff"])
            .connect(&hub, version)
            .await;
        for (method, ..) in LISTS {
            let first = admin.ok(method, json!({})).await;
            let next = json!({"cursor": first["nextCursor"]});
            for other in &mut others {
                other.fails(method, next.clone(), -32602).await;
            }
            again.ok(method, next.clone()).await;
            admin.ok(method, next).await;
        }
    }
}

// Covers: AUTH-13
#[tokio::test]
async fn dynamic_definitions_have_scopes_and_visibility() {
    for version in Version::ERAS {
        let server = server();
        let handle = server.handle();
        let hub = Hub::serve(server);
        let mut reader = READER.connect(&hub, version).await;
        reader.pass().await;
        let schema = json!({"type": "object"});
        let tool = |name: &str| DynamicTool::new(name, schema.clone(), async |_, _| "made");
        let refused = handle.tools().insert(tool("bad").scopes(["a b"]));
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("scope `a b` contains a space"),
            "{refused}"
        );
        handle
            .tools()
            .insert(tool("made_to_read").scopes(["notes:read"]))
            .unwrap();
        handle
            .tools()
            .insert(tool("made_to_write").scopes(["notes:write"]))
            .unwrap();
        let owner = tool("made_for_me").visible_if(|caller| {
            let who = caller.principal();
            who.is_some_and(|who| who.subject() == "writer")
        });
        handle.tools().insert(owner).unwrap();
        let (tools, _) = reader.list("tools/list", "tools").await;
        let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert!(has("made_to_read") && !has("made_to_write") && !has("made_for_me"));
        reader.text("made_to_read", json!({})).await;
        let call = |name: &str| json!({"name": name, "arguments": {}});
        reader.fails("tools/call", call("made_to_write"), 403).await;
        reader
            .fails("tools/call", call("made_for_me"), -32602)
            .await;
        let mut writer = WRITER.connect(&hub, version).await;
        assert_eq!(writer.text("made_for_me", json!({})).await, "made");
    }
}

#[tokio::test]
async fn page_size_applies_to_the_definitions_that_the_caller_sees() {
    let hub = Hub::serve(server().limits(tests::pages_of(2)));
    let mut anonymous = Identity::Anonymous
        .connect(&hub, Version::V2026_07_28)
        .await;
    let first = anonymous.ok("tools/list", json!({})).await;
    let names = |page: &Value| -> Vec<String> {
        let tools = page["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(names(&first), ["look", "sign"]);
    let next = json!({"cursor": first["nextCursor"]});
    let second = anonymous.ok("tools/list", next).await;
    assert_eq!(names(&second), ["touch"]);
    assert_eq!(second.get("nextCursor"), None);
}
