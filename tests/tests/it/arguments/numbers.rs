//! Whole numbers keep their value, regardless of how they are written.

use mcp_runtime::prelude::*;
use serde_json::Value;
use tests::Version;

use super::{call, dynamic, server};
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

// Covers: TOOL-10
#[tokio::test]
async fn a_whole_number_is_the_one_that_was_sent_however_it_is_written() {
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
async fn a_tool_made_at_run_time_gets_whole_numbers_as_they_were_sent_or_none() {
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
