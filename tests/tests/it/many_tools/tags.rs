//! Requests that select definitions by their tags, and what clients are told about tags.

use std::time::Duration;

use mcp_runtime::Error;
use mcp_runtime::extension::TagInstructions;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::server::Cacheable;
use mcp_runtime::types::CacheScope;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;
use tests::link::Hub;

use super::{HttpHost, serve, server};
use crate::http::legacy_sse::Old;

const TOOLS: &str = "tools/list";

/// Returns the lists of tools, prompts, resources and templates.
async fn lists(host: &HttpHost<'_>) -> [Vec<String>; 4] {
    [
        host.list(TOOLS).await,
        host.list("prompts/list").await,
        host.list("resources/list").await,
        host.list("resources/templates/list").await,
    ]
}

#[tokio::test]
async fn the_url_and_a_header_narrow_every_list() {
    let served = serve(server()).await;
    for version in Version::ALL {
        let none: &[&str] = &[];
        for (path, header, expected) in [
            (
                "/mcp?tags=issues",
                None,
                [
                    &["list_issues", "close_issue"][..],
                    &["explain"],
                    &["issue:///1"],
                    &["issue:///{number}"],
                ],
            ),
            (
                "/mcp?x=y&tags=many%2C-admin",
                None,
                [
                    &["list_issues", "search_docs"],
                    &["explain"],
                    &["many:readme", "issue:///1"],
                    &["issue:///{number}"],
                ],
            ),
            (
                "/mcp",
                Some("docs, admin"),
                [&["close_issue", "search_docs"], none, none, none],
            ),
            // Each selection narrows the other.
            ("/mcp?tags=admin", Some("-issues"), [none, none, none, none]),
            (
                "/mcp?tags=issues,docs",
                Some("-admin,-http"),
                [
                    &["list_issues", "search_docs"],
                    &["explain"],
                    &["issue:///1"],
                    &["issue:///{number}"],
                ],
            ),
        ] {
            let headers: Vec<_> = header
                .map(|tags| ("X-MCP-Tags", tags))
                .into_iter()
                .collect();
            let host = HttpHost::connect(&served, version, path, &headers)
                .await
                .unwrap();
            assert_eq!(
                lists(&host).await,
                expected,
                "{path} {header:?} {version:?}"
            );
        }
    }
}

#[tokio::test]
async fn definitions_outside_the_tag_selection_are_unknown() {
    let served = serve(server()).await;
    for version in Version::ALL {
        let host = HttpHost::connect(&served, version, "/mcp?tags=docs", &[])
            .await
            .unwrap();
        let other = HttpHost::connect(&served, version, "/mcp", &[])
            .await
            .unwrap();
        for (method, params) in [
            ("tools/call", json!({"name": "list_issues"})),
            (
                "prompts/get",
                json!({"name": "explain", "arguments": {"length": "long"}}),
            ),
            ("resources/read", json!({"uri": "many:readme"})),
            ("resources/read", json!({"uri": "issue:///1"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "explain"}, "argument": {"name": "length", "value": ""}}),
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "issue:///{number}"}, "argument": {"name": "number", "value": ""}}),
            ),
            ("resources/subscribe", json!({"uri": "many:readme"})),
        ] {
            if version.is_modern() && method == "resources/subscribe" {
                continue;
            }
            let refused = host.call(method, params.clone()).await;
            let code = refused["error"]["code"].as_i64();
            assert!(
                matches!(code, Some(-32602 | -32002)),
                "{method} {params}: {refused}"
            );
            let served = other.call(method, params.clone()).await;
            assert!(served["result"].is_object(), "{method} {params}: {served}");
        }
        // A name that is not selected is not suggested.
        let refused = host.call("tools/call", json!({"name": "list_issue"})).await;
        assert!(!refused.to_string().contains("list_issues"), "{refused}");
        let called = host
            .call("tools/call", json!({"name": "search_docs"}))
            .await;
        assert_eq!(
            called["result"]["content"][0]["text"], "nothing",
            "{called}"
        );
    }
}

#[tokio::test]
async fn a_selection_gives_no_rights() {
    let served = crate::http::support::serve_server(server()).await;
    let error = served_error(served).await;
    assert!(error.to_string().contains("search_docs"), "{error}");
    let hub = Hub::serve(server().filter_tags("docs,secret"));
    for version in Version::ALL {
        let mut anonymous = hub.client(version).connect().await;
        let (items, _) = anonymous.list(TOOLS, "tools").await;
        assert!(items.is_empty(), "{items:?}");
        anonymous
            .fails("tools/call", json!({"name": "secret"}), -32602)
            .await;
    }
}

async fn served_error(mut served: crate::http::support::Served) -> Error {
    (&mut served.task).await.unwrap().unwrap_err()
}

#[tokio::test]
async fn an_unknown_or_malformed_selection_is_refused_with_the_tags_that_exist() {
    let served = serve(server()).await;
    for version in Version::ALL {
        for (path, header, expected) in [
            (
                "/mcp?tags=isues",
                None,
                "no definition has the tag `isues`; the tags are `admin`, `docs`, `http`, `issues`, `many`; did you mean `issues`?",
            ),
            (
                "/mcp?tags=-isues",
                None,
                "no definition has the tag `isues`",
            ),
            (
                "/mcp",
                Some("issues,pulls"),
                "no definition has the tag `pulls`",
            ),
            // Its definition is hidden from everybody, so its tag is not confirmed either.
            (
                "/mcp?tags=secret",
                None,
                "no definition has the tag `secret`; the tags are `admin`, `docs`, `http`, `issues`, `many`",
            ),
            ("/mcp?tags=", None, "a tag is empty"),
            ("/mcp?tags", None, "a tag is empty"),
            ("/mcp?tags=issues,", None, "a tag is empty"),
            ("/mcp?tags=a&tags=b", None, "more than once"),
            ("/mcp?tags=%f", None, "percent-encoding"),
            ("/mcp", Some("é"), "not ASCII"),
        ] {
            let headers: Vec<_> = header
                .map(|tags| ("X-MCP-Tags", tags))
                .into_iter()
                .collect();
            let Err(refused) = HttpHost::connect(&served, version, path, &headers).await else {
                panic!("{path} is served");
            };
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains(expected), "{path}: {message}");
            let tags = message.split_once("; the tags").unwrap_or_default().1;
            assert!(!tags.contains("secret"), "{message}");
        }
        let twice = [("X-MCP-Tags", "issues"), ("x-mcp-tags", "docs")];
        let refused = HttpHost::connect(&served, version, "/mcp", &twice).await;
        assert!(refused.is_err());
    }
}

#[tokio::test]
async fn a_tag_selection_applies_to_one_request_only() {
    let served = serve(server()).await;
    for version in Version::LEGACY {
        let narrow = HttpHost::connect(&served, version, "/mcp?tags=docs", &[])
            .await
            .unwrap();
        let mut wide = HttpHost::connect(&served, version, "/mcp", &[])
            .await
            .unwrap();
        wide.session.clone_from(&narrow.session);
        for _ in 0..2 {
            assert_eq!(narrow.list(TOOLS).await, ["search_docs"]);
            assert!(wide.list(TOOLS).await.len() > 3);
        }
    }
}

#[tokio::test]
async fn the_transport_of_2024_carries_the_selection_in_its_endpoint() {
    let options = HttpOptions::new().legacy_sse(true);
    let served = serve(server().http(options)).await;
    let mut client = Old::open(&served, "/mcp?tags=docs%2Cadmin,-issues").await;
    assert!(client.endpoint.ends_with("&tags=docs%2Cadmin,-issues"));
    client.shake(Version::V2024_11_05).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": TOOLS});
    assert_eq!(client.post(&list).await, 202);
    let tools = client.next().await["result"]["tools"].take();
    assert_eq!(tools.as_array().unwrap().len(), 1, "{tools}");
    assert_eq!(tools[0]["name"], "search_docs");
}

#[tokio::test]
async fn pages_of_a_tag_selection_have_private_cache_scope() {
    let day = Duration::from_hours(24);
    let public = server().limits(tests::pages_of(1)).cache_hints(
        Cacheable::Everything,
        day,
        CacheScope::Public,
    );
    let served = serve(public).await;
    let host = HttpHost::connect(&served, Version::V2026_07_28, "/mcp?tags=issues", &[])
        .await
        .unwrap();
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() {
            json!({})
        } else {
            json!({"cursor": cursor})
        };
        let page = host.call(TOOLS, params).await["result"].take();
        assert_eq!(page["cacheScope"], "private");
        names.push(page["tools"][0]["name"].clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(names, ["list_issues", "close_issue"]);
}

#[tokio::test]
async fn instructions_have_a_line_for_each_tag_with_the_tools_of_the_reader() {
    let grouped = || {
        server()
            .instructions("Read first.")
            .describe_tag("issues", "Bugs\nand wishes.")
            .with(TagInstructions)
    };
    let text = |result: &Value| result["instructions"].as_str().unwrap().to_owned();
    let hub = Hub::serve(grouped().filter_tags("issues,docs"));
    let expected = "Read first.\n\nTools by tag:\n\
                    - issues (Bugs and wishes.): list_issues, close_issue\n\
                    - admin: close_issue\n- many: list_issues, close_issue";
    for version in Version::ALL {
        let mut anonymous = hub.client(version).connect().await;
        let read = if version.is_modern() {
            anonymous.ok("server/discover", json!({})).await
        } else {
            anonymous.initialized.clone()
        };
        // The tools of `docs` need a scope.
        assert_eq!(text(&read), expected);
    }
    let served = serve(grouped()).await;
    let discover = Request::modern(1, "server/discover", json!({})).to("/mcp?tags=docs");
    let (_, discovered) = served.message(&discover).await;
    let lines = "Read first.\n\nTools by tag:\n- docs: search_docs\n- many: search_docs";
    assert_eq!(text(&discovered["result"]), lines);
}
