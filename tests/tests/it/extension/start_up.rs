//! Mistakes in extensions, which a server reports at start-up.

use mcp_runtime::extension::{Extension, ExtensionMethod, FilterMember};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::transport::memory;
use serde_json::{Value, json};

async fn nothing(_: Value, _: Context) {}

fn method(name: &str) -> ExtensionMethod {
    ExtensionMethod::new(name, nothing)
}

async fn problem(extensions: impl IntoIterator<Item = Extension>) -> String {
    let server = new_server!().only(Selected::tag("extension"));
    let server = extensions.into_iter().fold(server, Server::with);
    let (transport, stream) = memory();
    drop(stream);
    match server.serve(transport).await {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    }
}

fn one() -> Extension {
    Extension::new("com.example/one")
}

// Covers: EXT-01, EXT-05
#[tokio::test]
async fn each_mistake_in_an_extension_is_one_line() {
    let flag = || FilterMember::flag("oneChanged");
    let keys = || FilterMember::keys("ones").visible_if(|_, _| true);
    let two = Extension::new("com.example/two")
        .method(method("garden/two"))
        .result_type("tools/call", "estimate")
        .meta_key("com.example/key")
        .notification("notifications/two", flag());
    assert_eq!(problem([two]).await, "");
    let two = || {
        Extension::new("com.example/two")
            .method(method("garden/two"))
            .result_type("tools/call", "estimate")
            .meta_key("com.example/key")
            .notification("notifications/two", flag())
    };
    for (extension, expected) in [
        (Extension::new("one"), "consists of a prefix and a name"),
        (Extension::new("com.example/"), "has no name after"),
        (
            Extension::new("com..example/one"),
            "labels separated by dots",
        ),
        (Extension::new("dev.mcp/one"), "the prefix is reserved"),
        (
            Extension::new("com.example/two"),
            "already has an extension with this identifier",
        ),
        (
            one().settings(json!([1])),
            "settings must be an object, not `[1]`",
        ),
        (
            one().requires("com.example/three"),
            "requires the extension `com.example/three`",
        ),
        (
            one().method(method("tools/call")),
            "method `tools/call` belongs to the core protocol",
        ),
        (one().method(method("ping")), "a name consists of parts"),
        (
            one().method(method("sampling/createMessage")),
            "belongs to the core protocol",
        ),
        (
            one().method(method("notifications/x")),
            "does not start with `notifications/`",
        ),
        (one().method(method("one/ä")), "a name consists of parts"),
        (
            one().method(method("garden/two")),
            "belongs to the extension `com.example/two`",
        ),
        (
            one().method(method("one/a")).method(method("one/a")),
            "belongs to the extension `com.example/one`",
        ),
        (
            one().method(method("one/a").rate("often")),
            "method `one/a`: ",
        ),
        (
            one().method(method("one/a").scopes(["a b"])),
            "method `one/a`: ",
        ),
        (
            one().result_type("tools/list", "x"),
            "only for its own methods",
        ),
        (
            one().result_type("garden/two", "x"),
            "only for its own methods",
        ),
        (
            one().result_type("tools/call", "input_required"),
            "belongs to the core protocol",
        ),
        (
            one().result_type("tools/call", "estimate"),
            "the extension `com.example/two` already declares it",
        ),
        (
            one().call_notification("one/changed"),
            "a name starts with `notifications/`",
        ),
        (
            one().call_notification("notifications/message"),
            "belongs to the core protocol",
        ),
        (
            one().call_notification("notifications/two"),
            "belongs to the extension `com.example/two`",
        ),
        (
            one().notification("notifications/one", FilterMember::flag("toolsListChanged")),
            "the filter member `toolsListChanged` belongs to the core",
        ),
        (
            one().notification("notifications/one", flag()),
            "the filter member `oneChanged` belongs to the extension",
        ),
        (
            one()
                .notification("notifications/one", FilterMember::flag("ones"))
                .notification("notifications/other", FilterMember::keys("ones")),
            "both as a flag and with keys",
        ),
        (
            one().notification(
                "notifications/one",
                FilterMember::flag("ones").visible_if(|_, _| true),
            ),
            "is a flag, so its `visible_if` function has no keys",
        ),
        (
            one()
                .notification("notifications/one", keys())
                .notification("notifications/other", keys()),
            "two different `visible_if` functions",
        ),
        (
            one()
                .notification("notifications/one", FilterMember::keys("ones"))
                .notification("notifications/other", keys()),
            "two different `visible_if` functions",
        ),
        (
            one().meta_key("io.modelcontextprotocol/x"),
            "does not belong to the extension",
        ),
        (
            one().meta_key("com.example/key"),
            "belongs to the extension `com.example/two`",
        ),
        (
            Extension::new("io.modelcontextprotocol/one")
                .meta_key("io.modelcontextprotocol/serverInfo"),
            "does not belong to the extension",
        ),
    ] {
        let problem = problem([two(), extension]).await;
        assert!(problem.contains(expected), "{expected}\n{problem}");
        assert_eq!(problem.lines().count(), 1, "{problem}");
    }
}

#[tokio::test]
async fn a_definition_that_is_set_up_is_checked_like_any_other() {
    let wrong = one().setup(|server| server.tools().insert(bad_tool()));
    let problem = problem([wrong]).await;
    assert!(problem.contains("tool name `a b`"), "{problem}");
}

fn bad_tool() -> mcp_runtime::dynamic::DynamicTool {
    let schema = json!({"type": "object"});
    mcp_runtime::dynamic::DynamicTool::new(
        "a b",
        schema,
        async |_: mcp_runtime::dynamic::Arguments, _: Context| "",
    )
}

#[tokio::test]
async fn notifications_may_share_a_member_of_the_filter() {
    let member = FilterMember::keys("ones").visible_if(|_, _| true);
    let shared = one()
        .notification("notifications/one", member.clone())
        .notification("notifications/other", member);
    assert_eq!(problem([shared]).await, "");
}

#[tokio::test]
async fn all_mistakes_are_reported_together_and_nothing_is_set_up() {
    let wrong = one()
        .setup(|_| panic!("a server that does not start needs no preparation"))
        .settings(json!(1))
        .method(method("ping/"))
        .requires("com.example/none");
    let problem = problem([wrong]).await;
    assert_eq!(problem.lines().count(), 3, "{problem}");
}

#[tokio::test]
async fn an_extension_can_use_its_own_reserved_meta_keys() {
    use mcp_runtime::dynamic::{Arguments, DynamicTool};
    let key = "io.modelcontextprotocol/garden-bed";
    let tool = move || {
        let run = async |_: Arguments, _: Context| "";
        DynamicTool::new("planted", json!({"type": "object"}), run).meta(key, 1)
    };
    let plain = new_server!().only(Selected::tag("extension"));
    plain.handle().tools().insert(tool()).unwrap();
    let (transport, _stream) = memory();
    let refused = plain.serve(transport).await.unwrap_err();
    assert!(
        refused.to_string().contains("is reserved for the protocol"),
        "{refused}"
    );
    let garden = Extension::new("io.modelcontextprotocol/garden")
        .meta_key(key)
        .setup(move |server| server.tools().insert(tool()));
    let server = new_server!().only(Selected::tag("extension")).with(garden);
    let mut client = crate::support::connect(server, tests::Version::V2026_07_28).await;
    let (tools, _) = client.list("tools/list", "tools").await;
    assert!(
        tools.iter().any(|tool| tool["_meta"][key] == 1),
        "{tools:?}"
    );
}
