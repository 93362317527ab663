//! Cursors that only one caller can use, on every instance that has the keys, and that nobody can read or make.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_runtime::handler::{ListCursor, Page};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{SealingKey, Selected};
use mcp_runtime::types::Resource;
use serde_json::json;
use tests::Version;
use tests::link::Hub;

use super::{ADMIN, Identity, WRITER};

/// A row of the ledger.
#[resource_template("ledger:///{row}", tags("cursors"), list = rows)]
fn row(row: u32) -> String {
    row.to_string()
}

/// Continues where its cursor says, which names a tenant.
async fn rows(cursor: ListCursor) -> Page<Resource> {
    match cursor.0.as_deref() {
        None => Page::new([Resource::new("ledger:///1", "first")]).with_next("tenant=a;offset=1"),
        Some(cursor) => Page::new([Resource::new("ledger:///2", cursor)]),
    }
}

/// Exists for the staff only, and is on a page of its own.
#[prompt(tags("cursors"), visible_if = super::is_staff)]
fn back_office() -> &'static str {
    "closed"
}

/// Exists for the staff only, too.
#[prompt(tags("cursors"), visible_if = super::is_staff)]
fn front_office() -> &'static str {
    "open"
}

fn instance(name: &str, keys: &[u8]) -> Hub {
    let keys = keys.iter().map(|key| SealingKey::from_bytes([*key; 32]));
    let server = Server::new(name, "1")
        .only(Selected::tag("cursors"))
        .limits(tests::pages_of(1));
    let server = server.scope_implies("admin", ["staff"]);
    Hub::serve(server.sealing_keys(keys))
}

/// The two lists with sealed cursors: one whose lister has a cursor, and one that depends on the caller.
const SEALED: [&str; 2] = ["resources/list", "prompts/list"];

// Covers: PAGE-02, PAGE-03, PAGE-04
#[tokio::test]
async fn a_cursor_is_opened_by_every_instance_with_its_key_and_by_no_other() {
    for version in Version::ERAS {
        let hub = instance("ledger", &[1]);
        let mut admin = ADMIN.connect(&hub, version).await;
        for method in SEALED {
            let first = admin.ok(method, json!({})).await;
            let next = json!({"cursor": first["nextCursor"]});
            let second = admin.ok(method, next.clone()).await;
            // Keys are rotated: the new one comes first, and the old one still opens.
            for keys in [&[1_u8][..], &[2, 1]] {
                let hub = instance("ledger", keys);
                let mut admin = ADMIN.connect(&hub, version).await;
                let here = admin.ok(method, next.clone()).await;
                for list in ["resources", "prompts"] {
                    assert_eq!(here[list], second[list]);
                }
            }
            for (name, keys) in [("ledger", &[2_u8][..]), ("other", &[1])] {
                let hub = instance(name, keys);
                let mut admin = ADMIN.connect(&hub, version).await;
                admin.fails(method, next.clone(), -32602).await;
            }
        }
    }
}

// Covers: PAGE-03, AUTH-11
#[tokio::test]
async fn other_callers_cannot_use_read_or_change_a_cursor() {
    for version in Version::ERAS {
        let hub = instance("ledger", &[1]);
        let mut admin = ADMIN.connect(&hub, version).await;
        for method in SEALED {
            let first = admin.ok(method, json!({})).await;
            let cursor = first["nextCursor"].as_str().unwrap().to_owned();
            let next = json!({"cursor": cursor});
            for who in [
                Identity::Anonymous,
                Identity::Owner,
                WRITER,
                Identity::Known("other", &["admin"]),
            ] {
                let mut other = who.connect(&hub, version).await;
                other.fails(method, next.clone(), -32602).await;
            }
            let bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains("tenant") && !text.contains("office"),
                "{text}"
            );
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                let changed = json!({"cursor": URL_SAFE_NO_PAD.encode(changed)});
                admin.fails(method, changed, -32602).await;
            }
            let second = admin.ok(method, next).await;
            if method == "resources/list" {
                assert_eq!(second["resources"][0]["name"], "tenant=a;offset=1");
            }
        }
    }
}
