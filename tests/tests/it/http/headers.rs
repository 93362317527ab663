//! Headers that repeat parts of the body: compared with it, in the order given by the specification.

use mcp_runtime::Context;
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use crate::http::support::serve;

// Covers: HTTP-12, HTTP-15, HDR-01, HDR-02, HDR-03, HDR-04, DISC-04
#[tokio::test]
async fn header_and_body_are_compared_in_the_order_of_the_specification() {
    let server = serve().await;
    let ok = Request::tool("echo", json!({"text": "x"}));
    let version = "MCP-Protocol-Version";
    let without_meta =
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}});
    let with_version = |date: &str| {
        let mut request = ok.clone();
        let body = String::from_utf8(request.body).unwrap();
        request.body = body.replace("2026-07-28", date).into_bytes();
        request
    };
    for (request, status, code) in [
        // First the version is checked: that it can be read, that header and body agree, and that it is supported.
        (
            Request::bare(&without_meta, Version::V2026_07_28).header(version, "2026-07-28"),
            400,
            -32602,
        ),
        (ok.clone().without(version), 400, -32020),
        (with_version("v999.0.0"), 400, -32020),
        (
            with_version("v999.0.0").with(version, "v999.0.0"),
            400,
            -32022,
        ),
        (
            with_version("2025-11-25").with(version, "2025-11-25"),
            400,
            -32022,
        ),
        // Then the method and the name.
        (ok.clone().without("Mcp-Method"), 400, -32020),
        (ok.clone().with("Mcp-Method", "TOOLS/CALL"), 400, -32020),
        (ok.clone().without("Mcp-Name"), 400, -32020),
        (ok.clone().with("Mcp-Name", "add"), 400, -32020),
        (
            Request::modern(1, "no/such", json!({})).with("Mcp-Method", "other"),
            400,
            -32020,
        ),
        // Then whether the method exists and whether its parameters are valid.
        (Request::modern(1, "no/such", json!({})), 404, -32601),
        (Request::modern(1, "ping", json!({})), 404, -32601),
        (Request::modern(1, "initialize", json!({})), 404, -32601),
        (
            Request::modern(1, "tools/call", json!({"name": "nobody"})),
            200,
            -32602,
        ),
        // Then the capabilities of the client.
        (Request::tool("needs_sampling", json!({})), 400, -32021),
    ] {
        server.refused(&request, status, code).await;
    }
    for request in [
        ok.clone().with("Mcp-Name", "  echo\t"),
        ok.clone()
            .without("Mcp-Method")
            .header("mCP-mETHOD", "tools/call"),
        ok.with("Mcp-Name", "=?base64?ZWNobw==?="),
        Request::modern(1, "server/discover", json!({})).header("Mcp-Name", "ignored"),
    ] {
        assert_eq!(server.message(&request).await.0, 200);
    }
}

// Covers: HDR-05, HDR-06, HDR-07, HDR-08, HDR-09, HDR-11
#[tokio::test]
async fn headers_that_mirror_arguments_have_the_values_of_the_arguments() {
    let server = serve().await;
    let arguments = json!({"region": "Hello", "count": 42, "urgent": true});
    let fields = |region: &str, count: &str, urgent: &str| {
        Request::tool("mirror", arguments.clone())
            .header("Mcp-Param-Region", region)
            .header("mcp-param-count", count)
            .header("MCP-PARAM-URGENT", urgent)
            .header("Mcp-Param-Unknown", "ignored")
    };
    for request in [
        fields("Hello", "42", "true"),
        fields("=?base64?SGVsbG8=?=", "42.0", "true"),
        Request::tool("mirror", json!({"region": null})),
        // A wrong type is for the model to correct.
        Request::tool("mirror", json!({"count": "many"})).header("Mcp-Param-Count", "many"),
    ] {
        let (status, message) = server.message(&request).await;
        assert_eq!((status, message.get("error")), (200, None), "{message}");
    }
    for request in [
        fields("hello", "42", "true"),
        fields("Hello", "43", "true"),
        fields("Hello", "42", "yes"),
        fields("=?base64?SGVsbG8?=", "42", "true"),
        fields("=?base64?SGVs!!!bG8=?=", "42", "true"),
        fields("Hello", "42", "true").without("Mcp-Param-Region"),
        fields("Hello", "42", "true").header("Mcp-Param-Region", "Hello"),
        Request::tool("mirror", json!({})).header("Mcp-Param-Region", "Hello"),
        fields("H\u{e9}llo", "42", "true"),
    ] {
        server.refused(&request, 400, -32020).await;
    }
}

// Covers: HDR-06, HDR-07, HDR-11
#[tokio::test]
async fn headers_mirror_arguments_of_tools_made_at_run_time_too() {
    let server = serve().await;
    let tools = server.handle.tools();
    let tool = |schema: Value| {
        let run = async |arguments: Arguments, _: Context| {
            arguments.text("region").unwrap_or("nowhere").to_owned()
        };
        DynamicTool::new("dynamic", schema, run)
    };
    let region = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"region": {"type": "string"}}});
        for (name, value) in more.as_object().unwrap() {
            schema["properties"]["region"][name] = value.clone();
        }
        schema
    };
    let call = Request::tool("dynamic", json!({"region": "eu"}));
    let with = |value: &str| call.clone().header("Mcp-Param-Region", value);
    let check = async |request: &Request, status: u16| {
        let (got, message) = server.message(request).await;
        assert_eq!(got, status, "{message}");
        if status == 400 {
            assert_eq!(message["error"]["code"], -32020);
        }
    };
    tools
        .insert(tool(region(json!({"x-mcp-header": "Region"}))))
        .unwrap();
    check(&with("eu"), 200).await;
    check(&with("=?base64?ZXU=?="), 200).await;
    check(&with("us"), 400).await;
    check(&call, 400).await;
    // Headers are checked before the arguments, whose errors the model would have to correct.
    let wrong = Request::tool("dynamic", json!({"region": 1}));
    check(&wrong, 400).await;
    check(&wrong.header("Mcp-Param-Region", "1"), 200).await;
    // Another definition mirrors a different header, or none.
    tools
        .replace(tool(region(json!({"x-mcp-header": "Place"}))))
        .unwrap();
    check(&with("us"), 400).await;
    check(&with("us").header("Mcp-Param-Place", "eu"), 200).await;
    tools.replace(tool(region(json!({})))).unwrap();
    check(&with("us"), 200).await;
    // A header that cannot be mirrored is the author's mistake, reported when the tool is registered.
    for faulty in [
        json!({"x-mcp-header": "no token"}),
        json!({"x-mcp-header": "Region", "type": "number"}),
        json!({"x-mcp-header": 1}),
    ] {
        let error = tools.replace(tool(region(faulty))).unwrap_err();
        assert!(error.to_string().contains("header"), "{error}");
    }
    check(&with("us"), 200).await;
}
