//! Arguments: a handler gets the value that was sent, with the type of its schema, or the call is refused.

use std::collections::BTreeMap;

use mcp_runtime::dynamic::{Arguments, DynamicPrompt, DynamicTool};
use mcp_runtime::prelude::*;
use serde_json::Value;
use tests::http::Request;
use tests::{Client, Failure, Revision};

use crate::http_support::{Served, serve_server};
use crate::support::connect;

fn server() -> Server {
    Server::new("arguments", "1").tags(["arguments"])
}

/// Sends a request with one member of `params` as raw JSON text, which `Value` could not represent; returns the answer.
async fn send(
    client: &mut Client,
    method: &str,
    params: Value,
    member: &str,
    text: &str,
) -> Result<Value, Failure> {
    let mut params = client.dress(params);
    params[member] = json!("@text@");
    let message = json!({"jsonrpc": "2.0", "id": "text", "method": method, "params": params});
    client.remember(&message);
    let message = message.to_string().replace("\"@text@\"", text);
    client.line(&message).await;
    client.response(&json!("text")).await
}

/// Calls a tool with arguments as raw JSON text; returns its result, or the reason why it was refused.
async fn call(client: &mut Client, name: &str, arguments: &str) -> Result<String, String> {
    let params = json!({"name": name});
    let result = send(client, "tools/call", params, "arguments", arguments).await;
    let result = result.unwrap_or_else(|failure| panic!("{name} {arguments}: {failure:?}"));
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    match result["isError"].as_bool() {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

/// Takes an integer.
#[tool(tags("arguments"))]
fn integer(n: i64) -> String {
    n.to_string()
}

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

/// Takes a number, with a hand-written schema.
#[tool(
    tags("arguments"),
    schema = r#"{"type": "object", "properties": {"n": {"type": "integer", "maximum": 9007199254740993}}}"#
)]
fn written(n: u128) -> String {
    n.to_string()
}

// Covers: TOOL-10
#[tokio::test]
async fn a_whole_number_is_the_one_that_was_sent_however_it_is_written() {
    for revision in Revision::ERAS {
        let mut client = connect(server(), revision).await;
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

/// A type that serde also reads from a number.
#[data(input)]
#[serde(untagged)]
enum Either {
    Number(f64),
    Text(String),
}

/// An amount of money, as a string.
#[data(input)]
#[serde(transparent)]
struct Amount(#[schemars(with = "String", regex(pattern = r"^\d{1,10}(\.\d{1,2})?$"))] Either);

impl Amount {
    fn text(self) -> String {
        match self.0 {
            Either::Number(number) => format!("number {number}"),
            Either::Text(text) => text,
        }
    }
}

/// A bill to pay.
#[data(input)]
struct Bill {
    amount: Amount,
    note: Option<String>,
    #[schemars(range(min = 1, max = 9))]
    copies: Option<u8>,
}

/// A way to pay.
#[data(input)]
#[serde(tag = "how", rename_all = "lowercase")]
enum Payment {
    Once {
        amount: Amount,
        note: Option<String>,
    },
    Number {
        amount: f64,
    },
}

/// Pays an amount.
#[tool(tags("arguments"))]
fn pay(amount: Amount) -> String {
    amount.text()
}

/// Pays an amount, or nothing.
#[tool(tags("arguments"))]
fn pay_some(amount: Option<Amount>) -> String {
    amount.map_or("nothing".to_owned(), Amount::text)
}

/// Pays amounts.
#[tool(tags("arguments"))]
fn pay_all(amounts: Vec<Amount>, named: Option<BTreeMap<String, Amount>>) -> String {
    let named = named.unwrap_or_default().into_values();
    let all: Vec<String> = amounts.into_iter().chain(named).map(Amount::text).collect();
    all.join(" ")
}

/// Pays a bill.
#[tool(tags("arguments"))]
fn pay_bill(bill: Bill) -> String {
    let Bill {
        amount,
        note,
        copies,
    } = bill;
    format!("{} {note:?} {copies:?}", amount.text())
}

/// Pays a bill.
#[tool(tags("arguments"))]
fn pay_flat(#[arg(flatten)] bill: Bill) -> String {
    pay_bill(bill)
}

/// Pays in one way or another.
#[tool(tags("arguments"))]
fn pay_somehow(payment: Payment) -> String {
    match payment {
        Payment::Once { amount, note } => format!("{} {note:?}", amount.text()),
        Payment::Number { amount } => amount.to_string(),
    }
}

// Covers: TOOL-10
#[tokio::test]
async fn the_type_that_a_schema_says_is_enforced_where_the_rust_type_takes_more() {
    for revision in Revision::ERAS {
        let mut client = connect(server(), revision).await;
        for (tool, arguments, expected) in [
            ("pay", r#"{"amount":"12.50"}"#, Ok("12.50")),
            ("pay", r#"{"amount":12.5}"#, Err("/amount: expected string")),
            ("pay", r#"{"amount":"12.555"}"#, Err("does not match")),
            ("pay_some", r#"{"amount":"1"}"#, Ok("1")),
            ("pay_some", r#"{"amount":null}"#, Ok("nothing")),
            (
                "pay_some",
                r#"{"amount":1}"#,
                Err("/amount: expected string"),
            ),
            ("pay_all", r#"{"amounts":["1","2"]}"#, Ok("1 2")),
            (
                "pay_all",
                r#"{"amounts":["1",2]}"#,
                Err("/amounts/1: expected string"),
            ),
            (
                "pay_all",
                r#"{"amounts":[],"named":{"a":"1","b":2}}"#,
                Err("/named/b: expected string"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":"1","note":null,"copies":9}}"#,
                Ok("1 None Some(9)"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":1}}"#,
                Err("/bill/amount: expected string"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":"1,5"}}"#,
                Err("does not match"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":"1","copies":10}}"#,
                Err("/bill/copies: 10 is more than 9"),
            ),
            (
                "pay_bill",
                r#"{"bill":["1",null,1]}"#,
                Err("/bill: expected object"),
            ),
            (
                "pay_bill",
                r#"{"bill":"{\"amount\":1}"}"#,
                Err("/bill/amount: expected string"),
            ),
            (
                "pay_bill",
                r#"{"bill":"{\"amount\":\"1\"}"}"#,
                Ok("1 None None"),
            ),
            (
                "pay_flat",
                r#"{"amount":"1","note":null}"#,
                Ok("1 None None"),
            ),
            (
                "pay_flat",
                r#"{"amount":1}"#,
                Err("/amount: expected string"),
            ),
            (
                "pay_somehow",
                r#"{"payment":{"how":"once","amount":"1","note":null}}"#,
                Ok("1 None"),
            ),
            (
                "pay_somehow",
                r#"{"payment":{"how":"number","amount":1.5}}"#,
                Ok("1.5"),
            ),
            (
                "pay_somehow",
                r#"{"payment":{"how":"once","amount":1}}"#,
                Err("/payment"),
            ),
        ] {
            let answer = call(&mut client, tool, arguments).await;
            match expected {
                Ok(expected) => assert_eq!(answer.as_deref(), Ok(expected), "{tool} {arguments}"),
                Err(words) => {
                    let refusal = answer.expect_err(arguments);
                    assert!(refusal.contains(words), "{tool} {arguments}: {refusal}");
                }
            }
        }
    }
}

/// Returns its arguments.
#[prompt(tags("arguments"))]
fn greet(name: String, style: Option<String>) -> String {
    format!("{name} {style:?}")
}

fn dynamic() -> Server {
    let server = server();
    let handle = server.handle();
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = DynamicTool::new(
        "weather",
        schema,
        async |arguments: Arguments, _: Context| {
            arguments.text("city").unwrap_or("nowhere").to_owned()
        },
    );
    handle.tools().insert(tool).unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = DynamicTool::new(
        "number",
        schema,
        async |arguments: Arguments, _: Context| arguments.get::<Value>("n").map(|n| n.to_string()),
    );
    handle.tools().insert(tool).unwrap();
    let prompt = DynamicPrompt::new("hello", async |arguments: Arguments, _: Context| {
        format!("{:?} {:?}", arguments.text("name"), arguments.text("style"))
    });
    let prompt = prompt.required("name", "Whom").optional("style", "How");
    handle.prompts().insert(prompt).unwrap();
    server
}

#[tokio::test]
async fn an_argument_given_twice_is_refused_whoever_made_the_tool_or_prompt() {
    for revision in Revision::ALL {
        let mut client = connect(dynamic(), revision).await;
        for (tool, arguments, name) in [
            ("weather", r#"{"city":"Oslo","city":"Bergen"}"#, "city"),
            ("weather", r#"{"city":"Oslo","cit\u0079":"Bergen"}"#, "city"),
            ("integer", r#"{"n":1,"n":1}"#, "n"),
            ("written", r#"{"n":1,"n":1}"#, "n"),
        ] {
            let refusal = call(&mut client, tool, arguments).await;
            let words = format!("argument `{name}` is given twice");
            assert_eq!(refusal, Err(words), "{tool} {arguments}");
        }
        for prompt in ["hello", "greet"] {
            for arguments in [
                r#"{"name":"a","name":"b"}"#,
                r#"{"name":null,"name":"b"}"#,
                r#"{"name":"a","name":null}"#,
            ] {
                let params = json!({"name": prompt});
                let refusal = send(&mut client, "prompts/get", params, "arguments", arguments);
                let refusal = refusal.await.expect_err(arguments);
                assert_eq!(refusal.code, -32602, "{prompt} {arguments}");
                let words = "argument `name` is given twice";
                assert!(refusal.message.contains(words), "{}", refusal.message);
            }
        }
    }
}

#[tokio::test]
async fn null_is_the_same_as_an_optional_argument_that_is_left_out_of_a_prompt() {
    for revision in Revision::ALL {
        let mut client = connect(dynamic(), revision).await;
        for (prompt, expected) in [("hello", "Some(\"a\") None"), ("greet", "a None")] {
            let arguments = json!({"name": "a", "style": null});
            let params = json!({"name": prompt, "arguments": arguments});
            let result = client.ok("prompts/get", params).await;
            assert_eq!(result["messages"][0]["content"]["text"], expected);
            let params = json!({"name": prompt, "arguments": {"name": null}});
            client.fails("prompts/get", params, -32602).await;
        }
    }
}

#[tokio::test]
async fn a_tool_made_at_run_time_gets_whole_numbers_as_they_were_sent_or_none() {
    let mut client = connect(dynamic(), Revision::V2026_07_28).await;
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
async fn an_answer_given_twice_is_refused() {
    let mut client = connect(server(), Revision::V2026_07_28).await;
    for (answers, well) in [
        (r#"{"who":{"action":"decline"}}"#, true),
        (
            r#"{"who":{"action":"decline"},"who":{"action":"cancel"}}"#,
            false,
        ),
        (
            r#"{"who":{"action":"decline"},"wh\u006f":{"action":"cancel"}}"#,
            false,
        ),
    ] {
        let params = json!({"name": "integer", "arguments": {"n": 1}});
        let answer = send(&mut client, "tools/call", params, "inputResponses", answers).await;
        assert_eq!(
            answer.map_err(|failure| failure.code).err(),
            (!well).then_some(-32602),
            "{answers}"
        );
    }
}

#[tokio::test]
async fn null_is_the_same_as_an_optional_member_that_is_left_out() {
    for revision in Revision::ALL {
        let mut client = connect(dynamic(), revision).await;
        for method in ["tools/list", "prompts/list"] {
            let left_out = client.ok(method, json!({})).await;
            assert_eq!(client.ok(method, json!({"cursor": null})).await, left_out);
        }
        let result = client
            .ok("tools/call", json!({"name": "weather", "arguments": null}))
            .await;
        assert_eq!(result["content"][0]["text"], "nowhere");
        let missing = client
            .fails("prompts/get", json!({"name": "greet"}), -32602)
            .await;
        let null = json!({"name": "greet", "arguments": null});
        let null = client.fails("prompts/get", null, -32602).await;
        assert_eq!(null.message, missing.message);
        if revision.is_modern() {
            let params = json!({
                "name": "weather", "arguments": {}, "inputResponses": null, "requestState": null
            });
            client.ok("tools/call", params).await;
            let filter = json!({"toolsListChanged": null, "resourceSubscriptions": null});
            let params = json!({"notifications": filter});
            let id = client.start("subscriptions/listen", params).await;
            let told = client.notification("notifications/subscriptions/acknowledged");
            assert_eq!(told.await["notifications"], json!({}));
            client.cancel(&id).await;
        } else {
            let params = json!({"name": "weather", "_meta": null});
            client.ok("tools/call", params).await;
            client.ok("ping", json!({"_meta": null})).await;
        }
        // A required member that is null still counts as missing, and a wrong type is still refused.
        for (method, params) in [
            ("tools/call", json!({"name": null})),
            ("prompts/get", json!({"name": null})),
            ("tools/list", json!({"cursor": 1})),
            ("tools/call", json!({"name": "weather", "arguments": []})),
        ] {
            client.fails(method, params, -32602).await;
        }
    }
}

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
        None => crate::http_support::text(&message).to_owned(),
    };
    format!("{status} {said}")
}

// Covers: HDR-07
#[tokio::test]
async fn an_argument_that_a_header_mirrors_cannot_hide_in_a_string_or_list() {
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
