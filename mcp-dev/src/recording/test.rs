//! Writes a recording as a Rust test that uses the client in `mcp_runtime::testing`.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::read::{Answered, Recorded, Recording};
use super::replay::{chosen, hides_something};
use super::report::title;
use super::steady::is_steady;
use crate::session::Era;

/// Maximum length of a text that a test expects.
const MAX_EXPECTED: usize = 10_000;
/// Maximum number of entries and members for which `json!` compiles.
const MAX_MACRO: usize = 60;
const INDENT: &str = "    ";

/// Returns a recording as a test with this name, containing each call, its answers, and its result.
pub(super) fn write(recording: &Recording, name: &str) -> String {
    let count = |era| {
        recording
            .calls
            .iter()
            .filter(|call| call.era == era)
            .count()
    };
    let era = if count(Era::Legacy) > count(Era::Modern) {
        Era::Legacy
    } else {
        Era::Modern
    };
    let mut body = String::new();
    for call in chosen(&recording.calls, era) {
        if let Some(lines) = lines(call, recording.started) {
            body.push('\n');
            body.push_str(&lines);
        }
    }
    let word = |character: char| {
        if character.is_ascii_alphanumeric() {
            character.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(word).collect();
    let mut text = format!(
        "// Made of a recording by mcp-dev. `server()` returns your server, in its first state.\n\
        #[cfg(test)]\n#[tokio::test]\nasync fn as_in_{name}() {{\n"
    );
    // An unused import would cause a warning.
    for (word, import) in [
        ("json!(", "use mcp_runtime::prelude::json;"),
        ("Response::", "use mcp_runtime::testing::Response;"),
        ("TestClient::", "use mcp_runtime::testing::TestClient;"),
    ] {
        if body.contains(word) || word == "TestClient::" {
            let _ = writeln!(text, "{INDENT}{import}");
        }
    }
    let client = if body.contains("client.") {
        "client"
    } else {
        "_client"
    };
    let _ = write!(
        text,
        "\n{INDENT}let {client} = TestClient::each(server).await;\n{body}}}\n"
    );
    text
}

/// Returns a call as lines, or `None` if the test client has no such call or the call has no outcome.
fn lines(call: &Recorded, started: u64) -> Option<String> {
    let params = &call.params;
    let name = params["name"].as_str().or(params["uri"].as_str())?;
    let name = format!("{name:?}");
    let empty = Value::Object(serde_json::Map::new());
    let arguments = params.get("arguments").unwrap_or(&empty);
    let outcome = call.outcome.as_ref()?;
    let mut lines = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(lines, "{INDENT}{text}");
    };
    let (made, arguments) = match call.method.as_str() {
        "tools/call" => (format!("call({name}, "), Some(arguments)),
        "prompts/get" => (format!("prompt({name}, "), Some(arguments)),
        "resources/read" => (format!("read({name}"), None),
        _ => return None,
    };
    let arguments = match arguments.map(literal) {
        Some(Some(text)) => text,
        Some(None) => {
            line(&comment("A number is too large for a test", call));
            return Some(lines);
        }
        None => String::new(),
    };
    if hides_something(call) {
        line(&comment("A secret is hidden", call));
        return Some(lines);
    }
    let Some(answers) = call.answers.iter().map(answer).collect::<Option<Vec<_>>>() else {
        line(&comment(
            "A question was answered in a way that the test client does not have",
            call,
        ));
        return Some(lines);
    };
    for answer in answers {
        line(&format!("client.answer({answer});"));
    }
    let made = format!("client.{made}{arguments}).await");
    if outcome.kind == "error" {
        let message = outcome.value["message"].as_str();
        match message.filter(|text| is_expected(text, started)) {
            Some(message) => {
                line(&format!("let error = {made}.unwrap_err();"));
                line(&format!("assert_eq!(error.message, {message:?});"));
            }
            None => line(&format!("{made}.unwrap_err();")),
        }
        return Some(lines);
    }
    let result = &outcome.value;
    let text = text_of(&call.method, result);
    line(&format!("let result = {made}.unwrap();"));
    if result["isError"] == true {
        if is_expected(&text, started) {
            line(&format!("assert_eq!(result.error_text(), {text:?});"));
        } else {
            line("let _ = result.error_text();");
        }
    } else if let Some(structured) = result
        .get("structuredContent")
        .map(|value| unwrapped(call, value))
        && let Some(value) =
            literal(structured).filter(|_| is_expected(&structured.to_string(), started))
    {
        line(&format!("assert_eq!(result.json(), {value});"));
    } else if is_expected(&text, started) {
        line(&format!("assert_eq!(result.text(), {text:?});"));
    } else {
        line("let _ = result.text();");
    }
    Some(lines)
}

fn comment(reason: &str, call: &Recorded) -> String {
    format!("// {reason}: {}", title(call).replace('\n', " "))
}

/// Returns `true` if a text is the same in every run and is short enough.
fn is_expected(text: &str, started: u64) -> bool {
    text.len() <= MAX_EXPECTED && is_steady(text, started)
}

/// Returns the value that the tool returned. Older protocol versions wrap it if it is not an object.
fn unwrapped<'v>(call: &Recorded, structured: &'v Value) -> &'v Value {
    match structured.as_object() {
        Some(members) if call.era == Era::Legacy && members.len() == 1 => {
            members.get("result").unwrap_or(structured)
        }
        _ => structured,
    }
}

/// Returns an answer as an argument to `answer`, or `None` if that is not possible.
fn answer(answer: &Answered) -> Option<String> {
    let result = &answer.result;
    if let Some(roots) = result["roots"].as_array() {
        let uris = roots
            .iter()
            .map(|root| root["uri"].as_str().map(|uri| format!("{uri:?}")));
        let uris = uris.collect::<Option<Vec<_>>>()?.join(", ");
        return Some(format!(
            "Response::roots([{uris}] as [&str; {}])",
            roots.len()
        ));
    }
    match result["action"].as_str() {
        Some("accept") => match result
            .get("content")
            .filter(|content| content.as_object().is_some_and(|all| !all.is_empty()))
        {
            Some(content) => literal(content),
            None => Some("Response::agree()".to_owned()),
        },
        Some("decline") => Some("Response::decline()".to_owned()),
        Some("cancel") => Some("Response::cancel()".to_owned()),
        Some(_) => None,
        None => {
            result.get("content")?;
            Some(format!("Response::message({})", literal(result)?))
        }
    }
}

/// Returns all text in a result, as the test client does.
fn text_of(method: &str, result: &Value) -> String {
    let blocks = match method {
        "tools/call" => &result["content"],
        "prompts/get" => &result["messages"],
        _ => &result["contents"],
    };
    let texts = blocks.as_array().into_iter().flatten().filter_map(|block| {
        let block = if method == "prompts/get" {
            &block["content"]
        } else {
            block
        };
        let contents = match block["type"].as_str() {
            Some("text") | None => block,
            Some("resource") => &block["resource"],
            Some(_) => return None,
        };
        contents["text"].as_str()
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a value as an expression, or `None` if it contains a number that Rust cannot express.
fn literal(value: &Value) -> Option<String> {
    let mut text = String::new();
    let mut size = 0;
    write_json(value, &mut text, &mut size)?;
    if size <= MAX_MACRO {
        return Some(format!("json!({text})"));
    }
    let json = value.to_string();
    Some(format!(
        "{json:?}.parse::<mcp_runtime::serde_json::Value>().unwrap()"
    ))
}

/// Writes a value in the form that `json!` accepts, because Rust and JSON escape some characters in strings
/// differently.
fn write_json(value: &Value, text: &mut String, size: &mut usize) -> Option<()> {
    *size += 1;
    match value {
        Value::String(string) => {
            let _ = write!(text, "{string:?}");
        }
        Value::Number(number) => text.push_str(&number_literal(number)?),
        Value::Array(entries) => {
            text.push('[');
            for (at, entry) in entries.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write_json(entry, text, size)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                let _ = write!(text, "{}{name:?}: ", if at > 0 { ", " } else { "" });
                write_json(member, text, size)?;
            }
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
    Some(())
}

fn number_literal(number: &Number) -> Option<String> {
    let text = number.to_string();
    if let Some(number) = number.as_i64() {
        // An integer that does not fit into `i32` needs a type suffix.
        let suffix = if i32::try_from(number).is_ok() {
            ""
        } else {
            "_i64"
        };
        return Some(format!("{number}{suffix}"));
    }
    if number.as_u64().is_some() {
        return Some(format!("{text}_u64"));
    }
    // The number is a larger integer, or it has a fraction.
    let is_whole = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let float = text
        .parse::<f64>()
        .ok()
        .filter(|float| float.is_finite() && !is_whole)?;
    Some(format!("{float:?}"))
}
