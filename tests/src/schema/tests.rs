//! The schemas reject invalid messages and only those.

use super::*;

#[test]
fn valid_messages_are_accepted() {
    let call = json!({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}});
    for version in Version::LEGACY {
        check(version, &call, Some("tools/call")).unwrap();
    }
    let mut modern = call;
    modern["result"]["resultType"] = json!("complete");
    check(Version::V2026_07_28, &modern, Some("tools/call")).unwrap();
    for version in Version::ALL {
        let error = json!({"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}});
        check(version, &error, None).unwrap();
        let error = json!({"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}});
        check(version, &error, None).unwrap();
    }
    let changed = json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"});
    check(Version::V2024_11_05, &changed, None).unwrap();
}

#[test]
fn bad_messages_are_found() {
    for (version, method, message) in [
        // `content` is required.
        (
            Version::V2025_11_25,
            "tools/call",
            json!({"jsonrpc":"2.0","id":1,"result":{}}),
        ),
        // Audio was introduced after this protocol version.
        (
            Version::V2024_11_05,
            "tools/call",
            json!({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"AA==","mimeType":"a/b"}]}}),
        ),
        // This field was introduced later.
        (
            Version::V2025_11_25,
            "ping",
            json!({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}),
        ),
        // Caching fields are required.
        (
            Version::V2026_07_28,
            "tools/list",
            json!({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}),
        ),
        // These error codes belong to the other era.
        (
            Version::V2026_07_28,
            "resources/read",
            json!({"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m"}}),
        ),
        (
            Version::V2025_11_25,
            "tools/call",
            json!({"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}),
        ),
        // The id must be echoed unless it could not be read, and must not be null.
        (
            Version::V2025_11_25,
            "ping",
            json!({"jsonrpc":"2.0","error":{"code":-32601,"message":"m"}}),
        ),
        (
            Version::V2025_11_25,
            "ping",
            json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}),
        ),
        // The progress token is missing.
        (
            Version::V2025_11_25,
            "",
            json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}),
        ),
    ] {
        check(version, &message, Some(method)).unwrap_err();
    }
}
