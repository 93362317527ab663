//! Arguments that are mirrored in headers, in objects, strings and lists.

use mcp_runtime::prelude::*;
use serde_json::Value;
use tests::http::Request;

use super::server;
use crate::http::support::{Served, serve_server};

/// A location.
#[data(input)]
struct Place {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// Takes a place.
#[tool(tags("arguments"))]
fn at(place: Place) -> String {
    place.region
}

/// Takes a place inside another object, with a hand-written schema.
#[tool(
    tags("arguments"),
    schema = r#"{"type": "object", "properties": {"outer": {"type": "object", "properties": {
        "place": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
        "tags": {"type": "array"}
    }}}}"#
)]
fn at_written(outer: Value) -> String {
    outer["place"]["region"].to_string()
}

/// Takes a place whose fields are arguments.
#[tool(tags("arguments"))]
fn at_flat(#[arg(flatten)] place: Outer) -> String {
    place.place.region
}

/// A place in something.
#[data(input)]
struct Outer {
    place: Place,
}

/// Takes a number that a header mirrors.
#[tool(tags("arguments"))]
fn counted(#[arg(header = "N")] n: i128) -> String {
    n.to_string()
}

/// Calls a tool over HTTP; returns the status, and the result or the error code.
async fn post(
    served: &Served,
    name: &str,
    arguments: &str,
    header: Option<(&str, &str)>,
) -> String {
    let mut request = Request::tool(name, json!("@text@"));
    let body = String::from_utf8(request.body).unwrap();
    request.body = body.replace("\"@text@\"", arguments).into_bytes();
    if let Some((header, value)) = header {
        request = request.header(header, value);
    }
    let (status, message) = served.message(&request).await;
    let said = match message.get("error") {
        Some(error) => error["code"].to_string(),
        None if message["result"]["isError"] == true => "refused".to_owned(),
        None => crate::http::support::text(&message).to_owned(),
    };
    format!("{status} {said}")
}

// Covers: HDR-07
#[tokio::test]
async fn a_mirrored_argument_inside_a_string_or_list_is_refused() {
    let served = serve_server(server()).await;
    let eu = Some(("Mcp-Param-Region", "eu"));
    for (tool, arguments) in [
        ("at", r#"{"place":{"region":"eu"}}"#),
        ("at_flat", r#"{"place":{"region":"eu"}}"#),
        ("at_written", r#"{"outer":{"place":{"region":"eu"}}}"#),
    ] {
        let answer = post(&served, tool, arguments, eu).await;
        assert!(
            answer.starts_with("200") && answer.contains("eu"),
            "{answer}"
        );
        assert_eq!(post(&served, tool, arguments, None).await, "400 -32020");
    }
    for (tool, arguments) in [
        ("at", r#"{"place":"{\"region\":\"eu\"}"}"#),
        ("at", r#"{"place":["eu"]}"#),
        ("at", r#"{"place":"[\"eu\"]"}"#),
        ("at_flat", r#"{"place":"{\"region\":\"eu\"}"}"#),
        ("at_flat", r#"{"place":["eu"]}"#),
        (
            "at_written",
            r#"{"outer":"{\"place\":{\"region\":\"eu\"}}"}"#,
        ),
        ("at_written", r#"{"outer":{"place":"{\"region\":\"eu\"}"}}"#),
    ] {
        assert_eq!(
            post(&served, tool, arguments, None).await,
            "200 refused",
            "{tool} {arguments}"
        );
    }
}

// Covers: HDR-08
#[tokio::test]
async fn numbers_in_headers_are_compared_digit_by_digit() {
    let served = serve_server(server()).await;
    for (n, header, same) in [
        ("42", "42.0", true),
        ("42.0", "4.2e1", true),
        // The limits of the range that every JSON reader represents exactly.
        ("9007199254740991", "9007199254740991", true),
        ("9007199254740991", "9007199254740990", false),
        ("9007199254740991", "9007199254740992", false),
        ("-9007199254740991", "-9007199254740991.0", true),
        ("-9007199254740991", "-9007199254740990", false),
        ("-9007199254740991", "9007199254740991", false),
        ("9007199254740993.0", "9007199254740993", true),
        ("9007199254740993.0", "9007199254740992", false),
        ("12345678901234567890", "12345678901234567890", true),
        ("12345678901234567890", "12345678901234567891", false),
        ("10000000000000000000001", "10000000000000000000001", true),
        ("10000000000000000000001", "10000000000000000000000", false),
        ("10000000000000000000001", "1e22", false),
    ] {
        let arguments = format!(r#"{{"n":{n}}}"#);
        let answer = post(
            &served,
            "counted",
            &arguments,
            Some(("Mcp-Param-N", header)),
        )
        .await;
        assert_eq!(answer.starts_with("200"), same, "{n} {header}: {answer}");
    }
}
