//! Requests for the methods of extensions, from an operator's point of view.

use mcp_runtime::extension::{Extension, ExtensionMethod, FilterMember};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;

use crate::extension::gardener;
use crate::support::raw;
use crate::telemetry::capture::Seen;

#[tokio::test]
async fn a_request_for_a_method_is_one_span_with_its_name() {
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let mut client = gardener(version).await;
        seen.clear();
        for (method, name) in [
            ("garden/water", "garden/water"),
            ("garden/missing", "_OTHER"),
        ] {
            drop(client.request(method, json!({"bed": "roses"})).await);
            let span = seen.request();
            assert_eq!(span.get("otel.name").map(String::as_str), Some(name));
            assert_eq!(span.get("mcp.method.name").map(String::as_str), Some(name));
            seen.clear();
        }
        client.capabilities = json!({});
        seen.clear();
        if version.is_modern() {
            client
                .fails("garden/water", json!({"bed": "roses"}), -32021)
                .await;
            let span = seen.request();
            assert_eq!(
                span.get("otel.name").map(String::as_str),
                Some("garden/water")
            );
        }
    }
}

/// Sends three notifications, each in the right way and in every wrong way.
async fn send(_: Value, ctx: Context) {
    const OF_CALL: &str = "notifications/garden/call";
    const OF_FLAG: &str = "notifications/garden/flag";
    const OF_KEYS: &str = "notifications/garden/keys";
    let notify = ctx.server().notify();
    for name in [OF_CALL, OF_FLAG, OF_KEYS, "notifications/garden/missing"] {
        ctx.notify(name, json!({"by": "call"}));
        notify.extension(name, json!({"by": "flag"}));
        notify.extension_key(name, "a", json!({"by": "keys"}));
    }
}

#[tokio::test]
async fn a_notification_sent_with_the_wrong_method_is_a_logged_error() {
    let mail = || {
        Extension::new("com.example/mail")
            .method(ExtensionMethod::new("garden/send", send))
            .call_notification("notifications/garden/call")
            .notification("notifications/garden/flag", FilterMember::flag("mail"))
            .notification("notifications/garden/keys", FilterMember::keys("mails"))
    };
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let server = new_server!().only(Selected::tag("extension")).with(mail());
        let mut client = raw(server, version);
        client.capabilities = json!({"extensions": {"com.example/mail": {}}});
        let mut client = client.connect().await;
        let mut expected = vec!["call", "flag"];
        if version.is_modern() {
            client
                .listen("mail", json!({"mail": true, "mails": ["a"]}))
                .await;
            expected.push("keys");
        }
        seen.clear();
        client.ok("garden/send", json!({})).await;
        let mut sent = client.drain().await;
        sent.sort_by_key(|message| message["method"].to_string());
        let ways: Vec<_> = sent
            .iter()
            .map(|message| &message["params"]["by"])
            .collect();
        assert_eq!(ways, expected, "{sent:?}");
        let count = |message| seen.events(message).len();
        assert_eq!(
            [
                count("no extension of this server declares this notification"),
                count(
                    "no extension of this server declares this notification with a filter member"
                ),
                count(
                    "clients ask for this notification in `subscriptions/listen`, so a call cannot send it; use `Notifier`"
                ),
                count(
                    "clients ask for this notification with a flag; send it with `Notifier::extension`"
                ),
                count(
                    "clients ask for this notification with keys; send it with `Notifier::extension_key`"
                ),
            ],
            [1, 4, 2, 1, 1]
        );
    }
}
