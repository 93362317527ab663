//! Values that do not have the type of an argument.

use serde_json::json;
use tests::Version;

use super::server;
use super::types::call;
use crate::support::connect;

// Covers: TOOL-10
#[tokio::test]
async fn values_that_are_not_of_the_type_are_refused_with_a_message_for_the_model() {
    let cases = [
        (
            "uuid",
            json!("67e55044"),
            "; expected UUID, such as `67e55044-10b1-426f-9247-bb680e5fe0c8`",
        ),
        ("uuid", json!(7), "expected string, received 7"),
        (
            "url",
            json!("example"),
            "; received \"example\"; expected absolute URI, such as `https://example.com/a`",
        ),
        ("decimal", json!(12.5), "expected string, received 12.5"),
        ("decimal", json!(12), "expected string, received 12"),
        (
            "decimal",
            json!("12,50"),
            "\"12,50\" does not match the pattern",
        ),
        ("decimal", json!("1e5"), "does not match the pattern"),
        (
            "decimal",
            json!("0.00000000000000000000000000001"),
            "at most 29",
        ),
        (
            "decimal",
            json!("79228162514264337593543950336"),
            "received \"79228162514264337593543950336\"",
        ),
        (
            "chrono_date",
            json!("2026-02-30"),
            "; received \"2026-02-30\"; expected date, such as `2026-07-28`",
        ),
        ("chrono_date", json!("28.07.2026"), "expected date, such as"),
        (
            "chrono_date",
            json!(20_260_728),
            "expected string, received 20260728",
        ),
        (
            "chrono_time",
            json!("25:00:00"),
            "expected time of day, such as `12:30:00`",
        ),
        (
            "chrono_utc",
            json!("2026-07-28T12:30:00"),
            "expected date and time with a time zone",
        ),
        ("jiff_date", json!("2026-02-30"), "expected date, such as"),
        (
            "jiff_timestamp",
            json!("2026-07-28T12:30:00"),
            "expected date and time with a time zone",
        ),
        (
            "jiff_zoned",
            json!("2026-07-28T12:30:00Z"),
            "expected date, time and time zone",
        ),
        ("jiff_duration", json!("soon"), "expected ISO 8601 duration"),
        (
            "duration",
            json!("soon"),
            "; expected length of time, such as `90s` or `1h 30m`",
        ),
        (
            "duration",
            json!("999999999999999999999y"),
            "; expected length of time",
        ),
        ("duration", json!("-5s"), "; expected length of time"),
        ("duration", json!(90), "expected string, received 90"),
        (
            "base64",
            json!("a b"),
            ": ' ' at byte 1 is not a Base64 character; received",
        ),
        ("base64", json!("A".repeat(136)), "more than 100 bytes"),
        ("base64", json!("A".repeat(137)), "at most 136"),
        (
            "base64",
            json!([1, 2]),
            "expected string, received an array of 2",
        ),
        ("ip", json!("300.0.0.1"), "; expected IPv4 or IPv6 address"),
        ("positive", json!(0), "0 is less than 1"),
        ("safe_path", json!("../a"), "received \"../a\""),
        (
            "shape",
            json!({"kind": "oval", "radius": 1}),
            "/kind: unknown value \"oval\"; allowed: \"circle\", \"square\"",
        ),
        (
            "shape",
            json!({"kind": "circle", "side": 1}),
            "missing property `radius`",
        ),
        (
            "unit",
            json!("kelvin"),
            "allowed: \"celsius\", \"fahrenheit\"",
        ),
    ];
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (tool, value, words) in &cases {
            let arguments = json!({"value": value, "field": {"value": value}});
            let refused = call(&mut client, tool, arguments).await.expect_err(tool);
            let faults: Vec<&str> = refused.lines().collect();
            for pointer in ["/value", "/field/value"] {
                let is_right = |fault: &&str| fault.starts_with(pointer) && fault.contains(words);
                assert!(faults.iter().any(is_right), "{tool} {value}: {refused}");
            }
        }
    }
}
