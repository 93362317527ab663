//! Skills that a function returns for each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::prelude::*;
use mcp_runtime::skills::{Skill, Skills};
use serde_json::json;
use tests::Version;

use super::{MODERN, modern, server, skill, uris};
use crate::support::connect;

/// A fixed skill, and others that a function returns.
fn mixed() -> Skills {
    Skills::new()
        .skill(skill("fixed", "Fixed."))
        .dynamic(|_: Context| async {
            Ok::<_, HandlerError>(vec![
                skill("team/guide", "Guide.").file("references/more.md", "more"),
                // These three are left out.
                skill("fixed", "Another."),
                skill("fixed/inner", "Inside."),
                Skill::new("broken", "no front matter"),
            ])
        })
}

#[tokio::test]
async fn skills_of_a_function_are_listed_and_read_like_others() {
    let mut client = modern(mixed()).await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(list["cacheScope"], "private");
    assert_eq!(
        uris(&list["skills"]),
        ["skill://fixed/SKILL.md", "skill://team/guide/SKILL.md"]
    );
    let uri = json!({"uri": "skill://team/guide/SKILL.md"});
    let entry = client.ok("skills/get", uri).await;
    assert_eq!(entry["skill"], list["skills"][1]);
    let uri = json!({"uri": "skill://team/guide/references"});
    let children = client.ok("resources/directory/read", uri).await;
    assert_eq!(
        uris(&children["resources"]),
        ["skill://team/guide/references/more.md"]
    );
    for uri in ["skill://broken/SKILL.md", "skill://fixed/inner/SKILL.md"] {
        client
            .fails("resources/read", json!({"uri": uri}), -32602)
            .await;
        client
            .fails("skills/get", json!({"uri": uri}), -32602)
            .await;
    }
    for version in Version::ALL {
        let mut client = connect(server(mixed()), version).await;
        for (uri, text) in [
            ("skill://team/guide/references/more.md", "more"),
            ("skill://fixed/SKILL.md", "Fixed."),
        ] {
            let read = client.ok("resources/read", json!({"uri": uri})).await;
            let found = read["contents"][0]["text"].as_str().unwrap();
            assert!(found.ends_with(text), "{found}");
        }
    }
}

#[tokio::test]
async fn visibility_applies_to_skills_of_a_function_too() {
    let hidden = mixed().visible_if(|_, path| path != "team/guide");
    let mut client = modern(hidden).await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(uris(&list["skills"]), ["skill://fixed/SKILL.md"]);
    for method in ["skills/get", "resources/read"] {
        let uri = json!({"uri": "skill://team/guide/SKILL.md"});
        client.fails(method, uri, -32602).await;
    }
    let uri = json!({"uri": "skill://team"});
    client.fails("resources/directory/read", uri, -32602).await;
}

#[tokio::test]
async fn the_skill_function_runs_only_for_dynamic_skills_and_fails_the_request() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let skills = Skills::new()
        .skill(skill("fixed", ""))
        .dynamic(move |_: Context| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Err::<Vec<Skill>, _>(std::io::Error::other("no database")) }
        });
    let mut client = modern(skills).await;
    let uri = json!({"uri": "skill://fixed/SKILL.md"});
    client.ok("skills/get", uri.clone()).await;
    client.ok("resources/read", uri).await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    client.fails("skills/list", json!({}), -32603).await;
    let uri = json!({"uri": "skill://other/SKILL.md"});
    client.fails("skills/get", uri, -32603).await;
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn callers_that_see_different_skills_get_different_pages() {
    let many = (0..250).fold(Skills::new(), |skills, index| {
        skills.skill(skill(&format!("s{index:03}"), ""))
    });
    let is_even = |path: &str| path.ends_with(['0', '2', '4', '6', '8']);
    let alternate = Arc::new(AtomicUsize::new(0));
    let shown = Arc::clone(&alternate);
    let many = many.visible_if(move |_, path| shown.load(Ordering::Relaxed) == 0 || is_even(path));
    let mut client = connect(server(many), MODERN).await;
    for _ in 0..2 {
        alternate.store(0, Ordering::Relaxed);
        let (list, pages) = client.list("skills/list", "skills").await;
        assert_eq!((list.len(), pages), (250, 3));
        alternate.store(1, Ordering::Relaxed);
        let (list, pages) = client.list("skills/list", "skills").await;
        assert_eq!((list.len(), pages), (125, 2));
        assert!(list.iter().all(|skill| {
            let uri = skill["uri"].as_str().unwrap();
            is_even(uri.trim_end_matches("/SKILL.md"))
        }));
    }
    let after = json!({"cursor": "skills:s0955"});
    let list = client.ok("skills/list", after).await;
    assert_eq!(list["skills"][0]["uri"], "skill://s096/SKILL.md");
}
