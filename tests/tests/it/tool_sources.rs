//! Sources of tools: lists in pages, calls, names, access, and everything that a source can do wrong.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::extension::{SourceAnswer, SourceRequest, SourceTool, ToolSearch, ToolSource};
use mcp_runtime::handler::Page;
use mcp_runtime::middleware::{Call, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{ErrorKind, ServerHandle};
use mcp_runtime::{Caller, Limits, Principal};
use serde_json::{Value, json};
use tests::http::Request;
use tests::link::Hub;
use tests::{Client, Version};
use tokio::sync::Notify;

use crate::http::support::{Served, next_in_time, serve_server, text};
use crate::results::Log;
use crate::support::connect;

const UNKNOWN: i64 = -32602;
const INTERNAL: i64 = -32603;

type ListFunction = dyn Fn(&Caller, Option<&str>) -> SourceAnswer<Page<SourceTool>> + Send + Sync;
type ResolveFunction = dyn Fn(&Caller, &str) -> SourceAnswer<Option<SourceTool>> + Send + Sync;

/// A source that is put together in a test.
struct Shelf {
    name: &'static str,
    prefix: Option<&'static str>,
    list: Box<ListFunction>,
    resolve: Box<ResolveFunction>,
    started: Arc<Mutex<Option<ServerHandle>>>,
}

impl ToolSource for Shelf {
    fn name(&self) -> &str {
        self.name
    }

    fn list(
        &self,
        request: &SourceRequest<'_>,
        cursor: Option<&str>,
    ) -> SourceAnswer<Page<SourceTool>> {
        (self.list)(request.caller(), cursor)
    }

    fn resolve(&self, request: &SourceRequest<'_>, name: &str) -> SourceAnswer<Option<SourceTool>> {
        (self.resolve)(request.caller(), name)
    }

    fn reserves(&self, name: &str) -> Option<String> {
        let is_own = self.prefix.is_some_and(|prefix| name.starts_with(prefix));
        is_own.then(|| format!("such names belong to `{}`", self.name))
    }

    fn start(&self, server: &ServerHandle) {
        *self.started.lock().unwrap() = Some(server.clone());
    }
}

/// A tool that answers with the name of its source.
fn tool_of(source: &'static str, name: &str) -> DynamicTool {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let answer = move |_: Arguments, _: Context| async move { source };
    DynamicTool::new(name, schema, answer)
}

/// A source with these tools, listed on pages of two. The answers wait if `waits` is set.
fn shelf(name: &'static str, tools: &'static [&'static str], waits: bool) -> Shelf {
    let made: Vec<SourceTool> = tools
        .iter()
        .map(|tool| tool_of(name, tool).into())
        .collect();
    let listed = made.clone();
    let list = move |_: &Caller, cursor: Option<&str>| {
        let start: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = (start + 2).min(listed.len());
        let mut page = Page::new(&listed[start..end]);
        page.next = (end < listed.len()).then(|| end.to_string());
        later_if(waits, page)
    };
    let resolve = move |_: &Caller, name: &str| {
        let found = made.iter().find(|tool| tool.name() == name);
        later_if(waits, found.cloned())
    };
    Shelf {
        name,
        prefix: None,
        list: Box::new(list),
        resolve: Box::new(resolve),
        started: Arc::default(),
    }
}

fn later_if<T: Send + 'static>(waits: bool, value: T) -> SourceAnswer<T> {
    if !waits {
        return SourceAnswer::ready(value);
    }
    SourceAnswer::later(async move {
        tokio::task::yield_now().await;
        Ok(value)
    })
}

impl Shelf {
    fn listing(
        mut self,
        list: impl Fn(&Caller, Option<&str>) -> SourceAnswer<Page<SourceTool>> + Send + Sync + 'static,
    ) -> Self {
        self.list = Box::new(list);
        self
    }

    fn resolving(
        mut self,
        resolve: impl Fn(&Caller, &str) -> SourceAnswer<Option<SourceTool>> + Send + Sync + 'static,
    ) -> Self {
        self.resolve = Box::new(resolve);
        self
    }

    fn reserving(mut self, prefix: &'static str) -> Self {
        self.prefix = Some(prefix);
        self
    }
}

/// A server with these tools of its own.
fn server(own: &[&str]) -> Server {
    let server = Server::new("sources", "1").only([]);
    for name in own {
        let tool = tool_of("the server", name);
        server.handle().tools().insert(tool).unwrap();
    }
    server
}

async fn names(client: &mut Client) -> Vec<String> {
    let (tools, _) = client.list("tools/list", "tools").await;
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

async fn call_fails(client: &mut Client, name: &str, code: i64) -> String {
    let failure = client.fails("tools/call", json!({"name": name}), code);
    failure.await.message
}

// Covers: PAGE-01, PAGE-02, PAGE-03
#[tokio::test]
async fn tools_of_sources_follow_those_of_the_server_page_by_page() {
    for version in Version::ALL {
        for waits in [false, true] {
            for (page_size, pages) in [(1, 8), (2, 5), (3, 4), (100, 2)] {
                let server = server(&["a", "b", "c"])
                    .limits(tests::pages_of(page_size))
                    .tool_source(shelf("one", &["p", "q", "r"], waits))
                    .tool_source(shelf("none", &[], waits))
                    .tool_source(shelf("two", &["x"], waits));
                let mut client = connect(server, version).await;
                let (tools, read) = client.list("tools/list", "tools").await;
                let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
                assert_eq!(names, ["a", "b", "c", "p", "q", "r", "x"]);
                assert!(read <= pages, "{page_size}: {read}");
                for (name, of) in [("b", "the server"), ("q", "one"), ("x", "two")] {
                    assert_eq!(client.text(name, json!({})).await, of);
                }
            }
        }
    }
}

// Covers: PAGE-04
#[tokio::test]
async fn a_cursor_within_a_source_is_for_its_caller_and_unchanged() {
    for version in Version::ERAS {
        let server = server(&["a"]).tool_source(shelf("one", &["p", "q", "r"], false));
        let hub = Hub::serve(server);
        let [mut ada, mut bob] = [
            known(&hub, version, "ada").await,
            known(&hub, version, "bob").await,
        ];
        let page = ada.ok("tools/list", json!({})).await;
        let cursor = page["nextCursor"].as_str().unwrap().to_owned();
        let rest = ada.ok("tools/list", json!({"cursor": cursor})).await;
        assert_eq!(rest["tools"][0]["name"], "r");
        bob.fails("tools/list", json!({"cursor": cursor}), UNKNOWN)
            .await;
        for wrong in [&cursor[1..], "", "2", &format!("{cursor}A")] {
            ada.fails("tools/list", json!({"cursor": wrong}), UNKNOWN)
                .await;
        }
        for list in ["prompts/list", "resources/list"] {
            let refused = ada.request(list, json!({"cursor": cursor})).await;
            assert!(refused.is_err(), "{list}");
        }
    }
}

async fn known(hub: &Hub, version: Version, who: &'static str) -> Client {
    let client = hub.client_as(version, |connection| {
        connection.with_principal(Principal::new(who).with_scopes(vec!["read"]))
    });
    client.connect().await
}

/// A source whose tools depend on the caller: one for each, one that needs a scope, and one that only Ada may see.
fn for_callers() -> Shelf {
    fn tools(caller: &Caller) -> Vec<DynamicTool> {
        let who = caller.principal().map_or("nobody", Principal::subject);
        let is_ada = |caller: &Caller| caller.principal().is_some_and(|who| who.subject() == "ada");
        vec![
            tool_of("own", &format!("of_{who}")),
            tool_of("scope", "read").scopes(["read"]),
            tool_of("scope", "write").scopes(["write"]),
            tool_of("visible", "adas").visible_if(is_ada),
        ]
    }
    let all = |caller: &Caller| tools(caller).into_iter().map(SourceTool::from);
    shelf("callers", &[], false)
        .listing(move |caller, _| SourceAnswer::ready(Page::new(all(caller).collect::<Vec<_>>())))
        .resolving(move |caller, name| {
            SourceAnswer::ready(all(caller).find(|tool| tool.name() == name))
        })
}

#[tokio::test]
async fn callers_use_the_tools_that_the_source_and_tool_rules_allow() {
    for version in Version::ERAS {
        let hub = Hub::serve(server(&["a"]).tool_source(for_callers()));
        let mut ada = known(&hub, version, "ada").await;
        let mut bob = known(&hub, version, "bob").await;
        let mut anonymous = hub.client(version).connect().await;
        assert_eq!(names(&mut ada).await, ["a", "of_ada", "read", "adas"]);
        assert_eq!(names(&mut bob).await, ["a", "of_bob", "read"]);
        assert_eq!(names(&mut anonymous).await, ["a", "of_nobody"]);
        assert_eq!(ada.text("adas", json!({})).await, "visible");
        assert_eq!(bob.text("of_bob", json!({})).await, "own");
        // What a caller may not see is as unknown as what is not there.
        let mut messages = Vec::new();
        for hidden in ["adas", "of_ada", "none"] {
            let message = call_fails(&mut bob, hidden, UNKNOWN).await;
            messages.push(message.replace(hidden, "…"));
        }
        messages.dedup();
        assert_eq!(messages.len(), 1, "{messages:?}");
        let refused = bob.request("tools/call", json!({"name": "write"})).await;
        let refused = refused.unwrap_err();
        assert!(refused.message.contains("write"), "{refused:?}");
    }
}

#[tokio::test]
async fn tags_select_tools_of_sources_and_require_scopes() {
    for version in Version::ERAS {
        let tagged = || {
            let tools = [("kept", "keep"), ("guarded", "docs"), ("other", "drop")];
            tools.map(|(name, tag)| SourceTool::from(tool_of("tagged", name).tags([tag])))
        };
        let source = shelf("tagged", &[], false)
            .listing(move |_, _| SourceAnswer::ready(Page::new(tagged())))
            .resolving(move |_, name| {
                let mut tools = tagged().into_iter();
                SourceAnswer::ready(tools.find(|tool| tool.name() == name))
            });
        let server = server(&[])
            .describe_tag("drop", "left out")
            .filter_tags("-drop")
            .require_scopes("docs", ["admin"])
            .tool_source(source);
        let hub = Hub::serve(server);
        let mut ada = known(&hub, version, "ada").await;
        assert_eq!(names(&mut ada).await, ["kept"]);
        call_fails(&mut ada, "other", UNKNOWN).await;
        let guarded = ada.request("tools/call", json!({"name": "guarded"})).await;
        assert!(guarded.unwrap_err().message.contains("admin"));
    }
}

#[tokio::test]
async fn name_conflicts_prefer_the_server_and_earlier_sources() {
    for version in Version::ERAS {
        let (log, _guard) = Log::begin();
        let hidden = tool_of("the server", "hidden").visible_if(|_| false);
        let server = server(&["a"])
            .tool_source(shelf("first", &["a", "hidden", "x", "two_y"], false))
            .tool_source(shelf("second", &["x", "two_y", "z"], true).reserving("two_"));
        server.handle().tools().insert(hidden).unwrap();
        let mut client = connect(server, version).await;
        assert_eq!(names(&mut client).await, ["a", "x", "two_y", "z"]);
        let log = log.take();
        assert!(log.contains("source=first tool=hidden"), "{log}");
        assert!(log.contains("such names belong to `second`"), "{log}");
        for (name, of) in [("a", "the server"), ("x", "first"), ("two_y", "second")] {
            assert_eq!(client.text(name, json!({})).await, of);
        }
        call_fails(&mut client, "hidden", UNKNOWN).await;
    }
}

#[tokio::test]
async fn a_server_with_sources_that_share_a_name_does_not_start() {
    let refused = async |server: Server| {
        let (transport, _stream) = mcp_runtime::transport::memory();
        server.serve(transport).await.unwrap_err().to_string()
    };
    let one = || shelf("one", &[], false);
    let same = server(&[]).tool_source(one()).tool_source(one());
    assert_eq!(
        refused(same).await,
        "two tool sources have the name `one`; give each its own"
    );
    let built_in =
        server(&[])
            .with(ToolSearch::above(1))
            .tool_source(shelf("tool search", &[], false));
    let message = refused(built_in).await;
    assert!(message.contains("`tool search`"), "{message}");
    let empty = server(&[]).tool_source(shelf("", &[], false));
    assert_eq!(refused(empty).await, "the name of a tool source is empty");
    let reserved = server(&["one_a"]).tool_source(one().reserving("one_"));
    let message = refused(reserved).await;
    assert!(
        message.contains("tool `one_a`: such names belong to `one`"),
        "{message}"
    );
}

#[tokio::test]
async fn a_tool_with_a_reserved_name_cannot_be_inserted() {
    let server = server(&["a"]).tool_source(shelf("one", &["one_x"], false).reserving("one_"));
    let handle = server.handle();
    let mut client = connect(server, Version::V2026_07_28).await;
    assert_eq!(names(&mut client).await, ["a", "one_x"]);
    let inserted = handle.tools().insert(tool_of("the server", "one_x"));
    assert_eq!(inserted.unwrap_err().kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn an_inconsistent_tool_source_fails_only_the_request() {
    for version in Version::ERAS {
        let (log, _guard) = Log::begin();
        let source = shelf("liar", &["listed", "renamed"], false).resolving(|_, name| {
            SourceAnswer::ready(match name {
                "unlisted" => Some(tool_of("liar", name).into()),
                "renamed" => Some(tool_of("liar", "other").into()),
                "spilling" => Some(tool_of("liar", name).max_output(4_000).spill().into()),
                _ => None,
            })
        });
        let mut client = connect(server(&["a"]).tool_source(source), version).await;
        assert_eq!(names(&mut client).await, ["a", "listed", "renamed"]);
        // It lists what it cannot resolve: the tool is gone since the list was read.
        call_fails(&mut client, "listed", UNKNOWN).await;
        assert_eq!(client.text("unlisted", json!({})).await, "liar");
        assert_eq!(log.take(), "");
        for (name, problem) in [
            ("renamed", "it gave the tool `other`"),
            ("spilling", "a tool of a source cannot have `spill`"),
        ] {
            call_fails(&mut client, name, INTERNAL).await;
            let log = log.take();
            let doing = format!("finding the tool `{name}` in the source `liar`: {problem}");
            assert!(log.contains(&doing), "{log}");
        }
        assert_eq!(client.text("a", json!({})).await, "the server");
    }
}

#[tokio::test]
async fn tools_that_cannot_be_served_are_left_out_of_the_list() {
    let (log, _guard) = Log::begin();
    let source = shelf("odd", &[], false).listing(|_, _| {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "A"},
        }});
        let mirrored = DynamicTool::new("mirrored", schema, async |_, _| "");
        let tools = [
            DynamicTool::new("no_object", json!({"type": "array"}), async |_, _| ""),
            tool_of("odd", "a name"),
            tool_of("odd", "rated").rate("1/h"),
            mirrored,
            tool_of("odd", "fine"),
        ];
        SourceAnswer::ready(Page::new(tools.map(SourceTool::from)))
    });
    let mut client = connect(server(&[]).tool_source(source), Version::V2026_07_28).await;
    assert_eq!(names(&mut client).await, ["fine"]);
    let log = log.take();
    for name in ["no_object", "a name", "rated", "mirrored"] {
        assert!(log.contains(&format!("source=odd tool={name}")), "{log}");
    }
}

#[tokio::test]
async fn errors_and_panics_of_a_source_are_answered_and_named() {
    fn wrong<T: Send + 'static>(how: &str) -> SourceAnswer<T> {
        match how {
            "error" => Err(HandlerError::opaque("no connection")).into(),
            "exposed" => SourceAnswer::later(async { Err(HandlerError::exposed("come back")) }),
            "panic" => panic!("dropped a plate"),
            _ => SourceAnswer::later(async {
                tokio::task::yield_now().await;
                panic!("dropped a plate")
            }),
        }
    }
    for version in Version::ERAS {
        let (log, _guard) = Log::begin();
        let source = shelf("broken", &[], false)
            .listing(|_, cursor| match cursor {
                None => SourceAnswer::ready(Page::new([]).with_next("panic")),
                Some(how) => wrong(how),
            })
            .resolving(|_, how| wrong(how));
        let mut client = connect(server(&["a"]).tool_source(source), version).await;
        let page = client.ok("tools/list", json!({})).await;
        let next = json!({"cursor": page["nextCursor"]});
        client.fails("tools/list", next, INTERNAL).await;
        let listing = log.take();
        assert!(listing.contains("source=broken"), "{listing}");
        assert!(
            listing.contains("listing the tools of the source `broken`: it panicked"),
            "{listing}"
        );
        for how in ["error", "panic", "later"] {
            let message = call_fails(&mut client, how, INTERNAL).await;
            assert_eq!(message, "internal error", "{how}");
            assert!(log.take().contains("`broken`"), "{how}");
        }
        let message = call_fails(&mut client, "exposed", INTERNAL).await;
        assert!(
            message.ends_with("in the source `broken`: come back"),
            "{message}"
        );
        assert_eq!(client.text("a", json!({})).await, "the server");
    }
}

#[tokio::test]
async fn a_tool_source_with_an_endless_list_is_an_error() {
    for cursor in ["", "x".repeat(513).as_str()] {
        let cursor = cursor.to_owned();
        let source = shelf("endless", &[], false).listing(move |_, at| {
            let next = if cursor.is_empty() {
                at.map_or(1, |at| at.parse::<usize>().unwrap() + 1)
                    .to_string()
            } else {
                cursor.clone()
            };
            SourceAnswer::ready(Page::new([]).with_next(next))
        });
        let (log, _guard) = Log::begin();
        let mut client = connect(server(&[]).tool_source(source), Version::V2026_07_28).await;
        client.fails("tools/list", json!({}), INTERNAL).await;
        assert!(log.take().contains("`endless`"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_is_stopped_and_named() {
    for version in Version::ERAS {
        let (log, _guard) = Log::begin();
        let source = shelf("asleep", &[], false)
            .listing(|_, _| SourceAnswer::later(std::future::pending()))
            .resolving(|_, _| SourceAnswer::later(std::future::pending()));
        let mut limits = Limits::default();
        limits.calls.timeout = Duration::from_secs(3);
        let server = server(&["a"]).limits(limits).tool_source(source);
        let mut client = connect(server, version).await;
        let failures = [
            client
                .fails("tools/list", json!({}), INTERNAL)
                .await
                .message,
            call_fails(&mut client, "x", INTERNAL).await,
        ];
        for message in failures {
            assert_eq!(
                message,
                "the tool source `asleep` took longer than 3s and was stopped"
            );
        }
        assert!(log.take().contains("source=asleep"));
        assert_eq!(client.text("a", json!({})).await, "the server");
    }
}

/// Notifies when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

// Covers: CANC-01
#[tokio::test]
async fn cancelling_drops_the_answer_of_a_source() {
    for version in Version::ERAS {
        let (asked, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let waiting = {
            let (asked, dropped) = (Arc::clone(&asked), Arc::clone(&dropped));
            move || {
                let guard = Dropped(Arc::clone(&dropped));
                asked.notify_one();
                async move {
                    let _guard = guard;
                    std::future::pending::<()>().await;
                }
            }
        };
        let listing = waiting.clone();
        let source = shelf("slow", &[], false)
            .listing(move |_, _| {
                let wait = listing();
                SourceAnswer::later(async move {
                    wait.await;
                    Ok(Page::new([]))
                })
            })
            .resolving(move |_, _| {
                let wait = waiting();
                SourceAnswer::later(async move {
                    wait.await;
                    Ok(None)
                })
            });
        let mut client = connect(server(&["a"]).tool_source(source), version).await;
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "x"})),
        ] {
            let id = client.start(method, params).await;
            in_time(asked.notified()).await;
            client.cancel(&id).await;
            in_time(dropped.notified()).await;
            client.pass().await;
            assert!(!client.answered(&id));
        }
    }
}

async fn in_time(event: impl Future<Output = ()>) {
    let ended = tokio::time::timeout(tests::client::PATIENCE, event).await;
    ended.expect("it happens in time");
}

// Covers: TOOL-03
#[tokio::test]
async fn a_changed_list_is_announced_and_the_capability_is_declared() {
    for version in Version::ERAS {
        let source = shelf("one", &[], false);
        let started = Arc::clone(&source.started);
        let mut client = connect(server(&[]).tool_source(source), version).await;
        if version.is_modern() {
            client.listen("l", json!({"toolsListChanged": true})).await;
        } else {
            let tools = &client.initialized["capabilities"]["tools"];
            assert_eq!(*tools, json!({"listChanged": true}));
        }
        let handle = started.lock().unwrap().clone().unwrap();
        handle.notify().tools_changed();
        let changed = "notifications/tools/list_changed";
        client.notification(changed).await;
        assert!(names(&mut client).await.is_empty());
    }
}

#[derive(Elicit)]
struct Colour {
    colour: String,
}

#[tokio::test]
async fn a_tool_of_a_source_is_called_like_any_other() {
    for version in Version::ERAS {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let around = move |call: Call, next: Next| {
            log.lock().unwrap().push(call.name().to_owned());
            async move { next.run(call).await }
        };
        let schema = json!({
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        });
        let checked = DynamicTool::new("checked", schema.clone(), async |_, _| {
            Json(json!({"n": "no number"}))
        });
        let tools = [
            DynamicTool::new(
                "asking",
                json!({"type": "object"}),
                async |_, ctx: Context| {
                    let Colour { colour } = ctx.elicit("Which?").await?;
                    Ok::<_, HandlerError>(colour)
                },
            ),
            DynamicTool::new("double", schema.clone(), async |arguments: Arguments, _| {
                let n: i64 = arguments.get("n")?;
                Ok::<_, HandlerError>((2 * n).to_string())
            }),
            checked.output_schema(schema),
            tool_of("kinds", "long").max_output(10),
        ];
        let tools = tools.map(SourceTool::from);
        let source = shelf("kinds", &[], true).resolving(move |_, name| {
            let found = tools.iter().find(|tool| tool.name() == name).cloned();
            later_if(true, found)
        });
        let server = server(&[]).middleware(around).tool_source(source);
        let mut client = crate::support::raw(server, version);
        client.capabilities = json!({"elicitation": {}});
        let mut client = client.connect().await;
        client.answer(|_| tests::client::Answer::accept(json!({"colour": "red"})));
        let asking = json!({"name": "asking", "arguments": {}});
        let answered = client.ask("tools/call", asking).await.unwrap();
        assert_eq!(answered["content"][0]["text"], "red");
        assert_eq!(client.text("double", json!({"n": 4})).await, "8");
        let refused = client.refused("double", json!({"n": "four"})).await;
        assert!(refused.contains('n'), "{refused}");
        client.refused("double", json!({})).await;
        let checked = json!({"name": "checked", "arguments": {"n": 1}});
        client.fails("tools/call", checked, INTERNAL).await;
        seen.lock().unwrap().retain(|name| name != "asking");
        call_fails(&mut client, "none", UNKNOWN).await;
        // No middleware sees a call to a tool that is not there.
        assert!(!seen.lock().unwrap().contains(&"none".to_owned()));
        assert!(seen.lock().unwrap().contains(&"double".to_owned()));
        client.refused("long", json!({})).await;
    }
}

#[tokio::test]
async fn a_search_covers_the_servers_own_tools_only() {
    for version in Version::ERAS {
        let server = server(&["a", "b", "c"])
            .limits(tests::pages_of(3))
            .with(ToolSearch::above(2))
            .tool_source(shelf("one", &["x", "y", "z", "search_tools"], false));
        let mut client = connect(server, version).await;
        let listed = names(&mut client).await;
        assert_eq!(listed, ["search_tools", "call_tool", "x", "y", "z"]);
        assert_eq!(client.text("x", json!({})).await, "one");
        let params = json!({"name": "b"});
        assert_eq!(client.text("call_tool", params).await, "the server");
    }
}

#[tokio::test]
async fn a_reused_tool_of_a_source_is_validated_once() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let source = shelf("one", &["x"], false).resolving(move |_, name| {
        counted.fetch_add(1, Ordering::SeqCst);
        SourceAnswer::ready((name == "x").then(|| tool_of("fresh", name).into()))
    });
    let mut client = connect(server(&[]).tool_source(source), Version::V2026_07_28).await;
    for calls in 1..=2 {
        assert_eq!(client.text("x", json!({})).await, "fresh");
        assert_eq!(made.load(Ordering::SeqCst), calls);
    }
}

// Covers: HTTP-01
#[tokio::test]
async fn sources_serve_over_http() {
    let server = server(&["a"])
        .trust_anonymous()
        .tool_source(shelf("one", &["p", "q"], true));
    let host = serve_server(server).await;
    for version in Version::ERAS {
        let session = if version.is_modern() {
            None
        } else {
            Some(host.session(version).await)
        };
        let session = session.as_deref();
        let page = ask(&host, session, version, "tools/list", json!({})).await;
        let mut tools = page["result"]["tools"].as_array().unwrap().iter();
        assert!(tools.any(|tool| tool["name"] == "q"), "{page}");
        if version.is_modern() {
            assert_eq!(page["result"]["cacheScope"], "private");
        }
        let q = ask(&host, session, version, "tools/call", json!({"name": "q"})).await;
        assert_eq!(text(&q), "one");
        let r = ask(&host, session, version, "tools/call", json!({"name": "r"})).await;
        assert_eq!(r["error"]["code"], UNKNOWN, "{r}");
    }
}

async fn ask(
    served: &Served,
    session: Option<&str>,
    version: Version,
    method: &str,
    params: Value,
) -> Value {
    let request = match session {
        None => Request::modern(1, method, params),
        Some(session) => {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            Request::legacy(session, &message, version)
        }
    };
    let mut response = served.send(&request).await;
    if response.is_events() {
        return next_in_time(&mut response).await;
    }
    response.message().await
}
