//! Requests for the methods of extensions, as operators see them.

use serde_json::json;
use tests::Version;

use crate::extension::gardener;
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
