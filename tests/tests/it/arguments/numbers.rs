//! Whole numbers keep their value, regardless of how they are written.

use mcp_runtime::middleware::{Call, CallOutput, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::types::CallToolResult;
use serde_json::Value;
use serde_json::value::RawValue;
use tests::Version;

use super::{call, dynamic, send, server};
use crate::support::connect;

/// Takes a number from 0.
#[tool(tags("arguments"))]
fn natural(n: u64) -> String {
    n.to_string()
}

/// Takes a wide integer.
#[tool(tags("arguments"))]
fn wide(n: i128) -> String {
    n.to_string()
}

/// Takes a wide number from 0.
#[tool(tags("arguments"))]
fn huge(n: u128) -> String {
    n.to_string()
}

/// Takes numbers in an object.
#[tool(tags("arguments"))]
fn inside(all: Numbers) -> String {
    format!("{} {:?}", all.n, all.more)
}

/// Numbers.
#[data(input)]
struct Numbers {
    n: u64,
    more: Vec<i64>,
}

/// Takes numbers as arguments.
#[tool(tags("arguments"))]
fn flat(#[arg(flatten)] all: Numbers) -> String {
    format!("{} {:?}", all.n, all.more)
}

/// Takes any JSON.
#[tool(tags("arguments"))]
fn anything(value: Value) -> String {
    value.to_string()
}

/// JSON as text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Unread(#[schemars(with = "Value")] Box<RawValue>);

/// Takes any JSON as text.
#[tool(tags("arguments"))]
fn unread(value: Unread) -> String {
    value.0.get().to_owned()
}

/// Takes half of a number.
#[tool(tags("arguments"))]
fn half(of: f64) -> String {
    (of / 2.0).to_string()
}

/// Takes a bounded number.
#[tool(tags("arguments"))]
fn nights(#[arg(range(1..=14))] n: u32) -> String {
    n.to_string()
}

/// Returns a member of `_meta`.
#[tool(tags("arguments"))]
fn note(ctx: &Context) -> String {
    ctx.meta()["example.com/note"].to_string()
}

/// Returns the names of the extensions that the client declares.
#[tool(tags("arguments"))]
fn declared(ctx: &Context) -> String {
    let names = ctx.client_capabilities().extensions.keys();
    names.cloned().collect::<Vec<_>>().join(" ")
}

// Covers: TOOL-10
#[tokio::test]
async fn a_whole_number_is_decoded_exactly_in_any_notation() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let exact = "340282366920938463463374607431768211455";
        for (tool, n, expected) in [
            ("integer", "1e3", Some("1000")),
            ("integer", "-25.0e1", Some("-250")),
            ("integer", "0.0e9", Some("0")),
            ("integer", "9007199254740993.0", Some("9007199254740993")),
            (
                "integer",
                r#""9007199254740993.0""#,
                Some("9007199254740993"),
            ),
            (
                "integer",
                "9223372036854775807.0",
                Some("9223372036854775807"),
            ),
            ("integer", "9223372036854775808.0", None),
            ("integer", "9007199254740993.5", None),
            ("integer", "1e300", None),
            ("integer", r#""1e999999999999""#, None),
            ("integer", "1e-2", None),
            (
                "natural",
                "12345678901234567890.0",
                Some("12345678901234567890"),
            ),
            (
                "natural",
                r#"" 1.2345678901234567890e19 ""#,
                Some("12345678901234567890"),
            ),
            ("natural", "18446744073709551616.0", None),
            (
                "wide",
                "-10000000000000000000001.0",
                Some("-10000000000000000000001"),
            ),
            (
                "wide",
                r#""-10000000000000000000001""#,
                Some("-10000000000000000000001"),
            ),
            ("huge", &format!("{exact}.0"), Some(exact)),
            ("huge", &format!("\"{exact}\""), Some(exact)),
            ("huge", &format!("\"{exact}.0\""), Some(exact)),
            ("huge", "340282366920938463463374607431768211456.0", None),
            ("written", "9007199254740993.0", Some("9007199254740993")),
            ("written", "9007199254740994.0", None),
            (
                "written",
                r#""9007199254740993.0""#,
                Some("9007199254740993"),
            ),
            ("written", r#""9007199254740994.0""#, None),
        ] {
            let answer = call(&mut client, tool, &format!(r#"{{"n":{n}}}"#)).await;
            assert_eq!(answer.as_deref().ok(), expected, "{tool} {n}: {answer:?}");
        }
        let numbers =
            r#"{"n":12345678901234567890.0,"more":["9007199254740993.0",9007199254740993.0,1]}"#;
        let expected = "12345678901234567890 [9007199254740993, 9007199254740993, 1]";
        let quoted = Value::from(numbers).to_string();
        for (tool, arguments) in [
            ("inside", format!(r#"{{"all":{numbers}}}"#)),
            ("inside", format!(r#"{{"all":{quoted}}}"#)),
            ("flat", numbers.to_owned()),
        ] {
            let answer = call(&mut client, tool, &arguments).await;
            assert_eq!(answer.as_deref(), Ok(expected), "{tool} {arguments}");
        }
    }
}

#[tokio::test]
async fn a_dynamic_tool_gets_whole_numbers_exactly_or_not_at_all() {
    let mut client = connect(dynamic(), Version::V2026_07_28).await;
    for (n, expected) in [
        ("18446744073709551615", Some("18446744073709551615")),
        ("9007199254740993.0", Some("9007199254740993")),
        ("10000000000000000999999", None),
        ("18446744073709551617", None),
        ("18446744073709551617.0", None),
    ] {
        let answer = call(&mut client, "number", &format!(r#"{{"n":{n}}}"#)).await;
        assert_eq!(answer.as_deref().ok(), expected, "{n}: {answer:?}");
    }
}

#[tokio::test]
async fn a_number_that_the_type_cannot_hold_is_an_error_that_names_its_argument() {
    let digits = "7".repeat(400);
    let limit = "1.7976931348623157e308";
    let too_large = |what: &str| format!("{what} is too large for a number; ");
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let shown = format!("{}… (400 characters)", &digits[..40]);
        for (tool, arguments, expected) in [
            (
                "half",
                r#"{"of":1e309}"#.to_owned(),
                format!("/of: {}the limit is {limit}", too_large("1e309")),
            ),
            (
                "half",
                r#"{"of":-1e309}"#.to_owned(),
                format!("/of: -1e309 is too small for a number; the limit is -{limit}"),
            ),
            (
                "nights",
                r#"{"n":1e400}"#.to_owned(),
                format!("/n: {}expected integer 1 to 14", too_large("1e400")),
            ),
            (
                "anything",
                format!(r#"{{"value":{digits}}}"#),
                format!("/value: {}the limit is {limit}", too_large(&shown)),
            ),
            (
                "anything",
                r#"{"value":{"a":[1,"1e400"],"b":[0,1e400]}}"#.to_owned(),
                format!("/value/b/1: {}the limit is {limit}", too_large("1e400")),
            ),
            (
                "inside",
                r#"{"all":{"n":1e400,"more":[-1e400]}}"#.to_owned(),
                format!(
                    "/all/n: {}expected integer from 0\n/all/more/0: -1e400 is too small for a number; expected integer",
                    too_large("1e400")
                ),
            ),
            (
                "flat",
                r#"{"n":1,"more":[1e400]}"#.to_owned(),
                format!("/more/0: {}expected integer", too_large("1e400")),
            ),
            (
                "written",
                r#"{"n":1e400}"#.to_owned(),
                format!(
                    "/n: {}expected integer to 9007199254740993",
                    too_large("1e400")
                ),
            ),
        ] {
            let answer = call(&mut client, tool, &arguments).await;
            assert_eq!(answer, Err(expected), "{tool} {arguments}");
        }
        let answer = call(&mut client, "unread", r#"{"value":[1e400]}"#).await;
        assert_eq!(answer.as_deref(), Ok("[1e400]"));
        let mut client = connect(dynamic(), version).await;
        let answer = call(&mut client, "number", r#"{"n":1e400}"#).await;
        assert_eq!(
            answer,
            Err(format!("/n: {}the limit is {limit}", too_large("1e400")))
        );
    }
}

#[tokio::test]
async fn a_number_of_any_size_in_an_unread_member_is_accepted() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let huge = json!({"com.example/a": {"n": "@huge@"}, "com.example/b": {}});
        if version.is_modern() {
            client.capabilities = json!({"extensions": huge});
        }
        for (tool, expected) in [
            ("note", "\"seen\""),
            ("declared", "com.example/a com.example/b"),
        ] {
            let mut params = client.dress(json!({"name": tool, "arguments": {}}));
            params["_meta"]["example.com/note"] = json!("seen");
            params["_meta"]["example.com/huge"] = json!("@huge@");
            let message =
                json!({"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params});
            client.remember(&message);
            let line = message.to_string().replace("\"@huge@\"", "1e400");
            client.line(&line).await;
            let result = client.response(&json!(tool)).await.unwrap();
            if tool == "note" || version.is_modern() {
                assert_eq!(result["content"][0]["text"], expected, "{tool}");
            }
        }
        client.capabilities = json!({});
        // Every method answers under the id of its request.
        let unknown = send(&mut client, "no/such", json!({}), "n", "1e400").await;
        assert_eq!(unknown.unwrap_err().code, -32601);
        let list = send(&mut client, "tools/list", json!({}), "n", "-1e999").await;
        assert!(list.unwrap()["tools"].is_array());
    }
}

#[tokio::test]
async fn middleware_sees_the_text_of_a_number_that_is_out_of_range() {
    let server = server().middleware(async |call: Call, next: Next| {
        let seen = call.arguments().get::<Value>("value")?.to_string();
        next.run(call).await?;
        Ok(CallOutput::Tool(CallToolResult::text(seen)))
    });
    let mut client = connect(server, Version::V2026_07_28).await;
    let answer = call(
        &mut client,
        "unread",
        r#"{"value":{"path":"/etc","n":1e400}}"#,
    )
    .await;
    assert_eq!(answer.as_deref(), Ok(r#"{"path":"/etc","n":"1e400"}"#));
}
