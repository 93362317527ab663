//! Start-up errors about callers.

use mcp_runtime::Server;
use mcp_runtime::server::ErrorKind;
use serde_json::json;
use tests::Version;
use tests::link::Hub;

use super::{ADMIN, Identity, READER, STAFF, server};

#[tokio::test]
async fn scopes_that_no_caller_could_have_over_http_are_an_error_at_the_start() {
    let error = server().serve_http("127.0.0.1:0").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let message = error.to_string();
    assert!(
        message.starts_with("`write_note` requires scopes"),
        "{message}"
    );
    assert!(message.contains("trust_anonymous"), "{message}");
}

#[tokio::test]
async fn anonymous_callers_may_be_trusted() {
    let hub = Hub::serve(server().trust_anonymous());
    let mut anonymous = Identity::Anonymous
        .connect(&hub, Version::V2026_07_28)
        .await;
    assert_eq!(anonymous.text("write_note", json!({})).await, "written");
    // A known caller is limited to what was granted.
    let mut reader = READER.connect(&hub, Version::V2026_07_28).await;
    let params = json!({"name": "write_note", "arguments": {}});
    reader.fails("tools/call", params, 403).await;
}

#[tokio::test]
async fn a_tag_may_require_scopes() {
    let hub = Hub::serve(server().require_scopes("identity", ["staff"]));
    for (who, tools) in [(READER, 0), (STAFF, 4), (ADMIN, 6)] {
        let mut client = who.connect(&hub, Version::V2026_07_28).await;
        let (seen, _) = client.list("tools/list", "tools").await;
        assert_eq!(seen.len(), tools, "{who:?}");
        if tools < 6 {
            let params = json!({"name": "write_note", "arguments": {}});
            let failure = client.fails("tools/call", params, 403).await;
            let needed = json!({"scopes": ["notes:read", "notes:write", "staff"]});
            assert_eq!(failure.data, needed);
        }
    }
    let (transport, _client) = mcp_runtime::transport::memory();
    let server = server().require_scopes("identiti", ["a"]);
    let error = server.serve(transport).await.unwrap_err().to_string();
    assert!(
        error.contains("no definition has the tag `identiti`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_scope_that_no_credentials_can_hold_is_an_error_at_the_start() {
    let server = || Server::new("s", "1").only([]);
    let (transport, _client) = mcp_runtime::transport::memory();
    let server = server().scope_implies("a b", ["", "fine"]);
    let error = server.serve(transport).await.unwrap_err().to_string();
    assert!(error.contains("scope `a b` contains a space"), "{error}");
    assert!(error.contains("scope is empty"), "{error}");
}
