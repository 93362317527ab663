//! Each type that can be an argument, with its schema and a value. docs/types.md presents the same as a table.
//!
//! `.ci/renew` writes the table anew.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::PathBuf;

use mcp_runtime::prelude::*;
use mcp_runtime::values::{Base64, HumanDuration};
use serde_json::{Value, json};
use tests::{Client, Version};

use super::server;
use crate::results::Log;
use crate::support::connect;

/// A place on Earth.
#[data]
struct Place {
    city: String,
    country: Option<String>,
}

/// A unit of temperature.
#[data]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// A shape.
#[data]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

/// The number of an order.
#[data]
#[serde(transparent)]
struct OrderId(u32);

/// An id or a name.
#[data]
#[serde(untagged)]
enum Key {
    Id(u32),
    Name(String),
}

/// A place, and a note about it.
#[data]
struct Visit {
    #[serde(flatten)]
    place: Place,
    note: String,
}

/// Several items.
#[data]
struct Batch<T> {
    items: Vec<T>,
}

/// Creates a tool for each type, which takes a value both as an argument and in a field, and returns both.
macro_rules! tools {
    ($($name:ident: $type:ty;)*) => {$(
        mod $name {
            use super::*;

            #[data(input)]
            struct Field {
                value: $type,
            }

            #[data(output)]
            struct Both {
                value: $type,
                field: $type,
            }

            /// Returns two values.
            #[tool(tags("values"))]
            fn $name(value: $type, field: Field) -> Json<Both> {
                Json(Both { value, field: field.value })
            }
        }
    )*};
}

tools! {
    boolean: bool;
    integer: i64;
    byte: u8;
    positive: NonZeroU32;
    number: f64;
    text: String;
    character: char;
    list: Vec<String>;
    pair: [f64; 2];
    set: BTreeSet<String>;
    hash_set: HashSet<u8>;
    range: Range<u32>;
    map: BTreeMap<String, u32>;
    object: serde_json::Map<String, Value>;
    place: Place;
    visit: Visit;
    batch: Batch<u8>;
    order: OrderId;
    unit: Unit;
    shape: Shape;
    key: Key;
    path: PathBuf;
    safe_path: SafePath;
    ip: IpAddr;
    any: Value;
    base64: Base64<100>;
    duration: HumanDuration;
    uuid: ::uuid::Uuid;
    url: ::url::Url;
    decimal: rust_decimal::Decimal;
    decimals: Vec<Option<rust_decimal::Decimal>>;
    chrono_date: chrono::NaiveDate;
    chrono_time: chrono::NaiveTime;
    chrono_civil: chrono::NaiveDateTime;
    chrono_utc: chrono::DateTime<chrono::Utc>;
    chrono_offset: chrono::DateTime<chrono::FixedOffset>;
    jiff_timestamp: jiff::Timestamp;
    jiff_zoned: jiff::Zoned;
    jiff_date: jiff::civil::Date;
    jiff_time: jiff::civil::Time;
    jiff_civil: jiff::civil::DateTime;
    jiff_duration: jiff::SignedDuration;
    jiff_span: jiff::Span;
}

/// A row of the table: a tool, its type and feature as shown on the page, and a value.
type Row = (&'static str, &'static str, &'static str, Value);

fn rows() -> Vec<Row> {
    vec![
        ("boolean", "`bool`", "", json!(true)),
        ("integer", "`i64`", "", json!(-3)),
        ("byte", "`u8`", "", json!(3)),
        ("positive", "`NonZeroU32`", "", json!(3)),
        ("number", "`f64`", "", json!(1.5)),
        ("text", "`String`", "", json!("tea")),
        ("character", "`char`", "", json!("a")),
        ("list", "`Vec<String>`", "", json!(["a", "a"])),
        ("pair", "`[f64; 2]`", "", json!([1.5, 2.5])),
        ("set", "`BTreeSet<String>`", "", json!(["a", "b"])),
        ("hash_set", "`HashSet<u8>`", "", json!([1])),
        ("range", "`Range<u32>`", "", json!({"start": 1, "end": 3})),
        ("map", "`BTreeMap<String, u32>`", "", json!({"a": 1})),
        (
            "object",
            "`serde_json::Map<String, Value>`",
            "",
            json!({"a": [1]}),
        ),
        (
            "place",
            "a struct",
            "",
            json!({"city": "Paris", "country": "FR"}),
        ),
        (
            "visit",
            "a struct with `#[serde(flatten)]`",
            "",
            json!({"city": "Paris", "country": "FR", "note": "warm"}),
        ),
        (
            "batch",
            "a generic struct, `Batch<u8>`",
            "",
            json!({"items": [1, 2]}),
        ),
        (
            "order",
            "a newtype with `#[serde(transparent)]`",
            "",
            json!(7),
        ),
        ("unit", "an enum", "", json!("celsius")),
        (
            "shape",
            "an enum with data",
            "",
            json!({"kind": "circle", "radius": 1.5}),
        ),
        ("key", "an untagged enum", "", json!("tea")),
        ("path", "`PathBuf`", "", json!("/tmp/a")),
        ("safe_path", "`SafePath`", "", json!("notes/a.txt")),
        ("ip", "`IpAddr`", "", json!("192.0.2.1")),
        ("any", "`serde_json::Value`", "", json!([1, "a"])),
        ("base64", "`Base64<100>`", "", json!("aGVsbG8=")),
        ("duration", "`HumanDuration`", "duration", json!("1h 30m")),
        (
            "uuid",
            "`uuid::Uuid`",
            "uuid",
            json!("67e55044-10b1-426f-9247-bb680e5fe0c8"),
        ),
        ("url", "`url::Url`", "url", json!("https://example.com/a")),
        (
            "decimal",
            "`rust_decimal::Decimal`",
            "decimal",
            json!("12.50"),
        ),
        (
            "decimals",
            "`Vec<Option<Decimal>>`",
            "decimal",
            json!(["12.50", null]),
        ),
        (
            "chrono_date",
            "`chrono::NaiveDate`",
            "chrono",
            json!("2026-07-28"),
        ),
        (
            "chrono_time",
            "`chrono::NaiveTime`",
            "chrono",
            json!("12:30:00"),
        ),
        (
            "chrono_civil",
            "`chrono::NaiveDateTime`",
            "chrono",
            json!("2026-07-28T12:30:00"),
        ),
        (
            "chrono_utc",
            "`chrono::DateTime<Utc>`",
            "chrono",
            json!("2026-07-28T12:30:00Z"),
        ),
        (
            "chrono_offset",
            "`chrono::DateTime<FixedOffset>`",
            "chrono",
            json!("2026-07-28T12:30:00+02:00"),
        ),
        (
            "jiff_timestamp",
            "`jiff::Timestamp`",
            "jiff",
            json!("2026-07-28T12:30:00Z"),
        ),
        (
            "jiff_zoned",
            "`jiff::Zoned`",
            "jiff",
            json!("2026-07-28T12:30:00+00:00[UTC]"),
        ),
        (
            "jiff_date",
            "`jiff::civil::Date`",
            "jiff",
            json!("2026-07-28"),
        ),
        (
            "jiff_time",
            "`jiff::civil::Time`",
            "jiff",
            json!("12:30:00"),
        ),
        (
            "jiff_civil",
            "`jiff::civil::DateTime`",
            "jiff",
            json!("2026-07-28T12:30:00"),
        ),
        (
            "jiff_duration",
            "`jiff::SignedDuration`",
            "jiff",
            json!("PT1H30M"),
        ),
        ("jiff_span", "`jiff::Span`", "jiff", json!("P1DT2H")),
    ]
}

/// Calls a tool; returns its structured result, or the error if the call is refused.
pub(super) async fn call(
    client: &mut Client,
    tool: &str,
    arguments: Value,
) -> Result<Value, String> {
    let params = json!({"name": tool, "arguments": arguments});
    let result = client.request("tools/call", params).await.unwrap();
    match result["isError"].as_bool() {
        Some(true) => Err(result["content"][0]["text"].as_str().unwrap().to_owned()),
        _ => Ok(result["structuredContent"].clone()),
    }
}

/// Returns the schemas of the argument `value`, by tool.
async fn schemas(client: &mut Client) -> BTreeMap<String, Value> {
    let (tools, _) = client.list("tools/list", "tools").await;
    let schema = |tool: &Value| {
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, tool["inputSchema"]["properties"]["value"].clone())
    };
    tools.iter().map(schema).collect()
}

// Covers: TOOL-10
#[tokio::test]
async fn every_type_is_an_argument_a_field_and_a_result_in_both_eras() {
    let mut tables = Vec::new();
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let schemas = schemas(&mut client).await;
        let mut table =
            "| Type | Feature | A model writes | Schema |\n|---|---|---|---|\n".to_owned();
        for (tool, name, feature, value) in rows() {
            let arguments = json!({"value": value, "field": {"value": value}});
            let returned = call(&mut client, tool, arguments).await;
            let expected = json!({"value": value, "field": value});
            assert_eq!(returned, Ok(expected), "{tool} {version:?}");
            let feature = match feature {
                "" => String::new(),
                feature => format!("`{feature}`"),
            };
            let schema = schemas[tool].to_string();
            let schema = if schema.contains('`') {
                format!("`` {schema} ``")
            } else {
                format!("`{schema}`")
            };
            writeln!(table, "| {name} | {feature} | `{value}` | {schema} |").unwrap();
        }
        tables.push(table);
    }
    let [table, other] = tables.as_slice() else {
        panic!("one table for each era");
    };
    assert_eq!(table, other);
    tidy::generated::check_page("types.md", |page| {
        let (before, rest) = page.split_once("<!-- the types -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
        format!("{before}<!-- the types -->\n{table}<!-- end -->\n{after}")
    });
}

#[tokio::test]
async fn types_that_some_model_apis_refuse_are_logged() {
    let (log, _guard) = Log::begin();
    let mut client = connect(server(), Version::V2026_07_28).await;
    client.ok("tools/list", json!({})).await;
    let log = log.take();
    let warned = |tool: &str| {
        log.lines()
            .filter(|line| line.starts_with("WARN") && line.contains(&format!(" tool={tool} ")))
            .count()
    };
    assert!(warned("decimals") > 0, "{log}");
    assert!(log.contains("has several types"), "{log}");
    for tool in ["shape", "place", "batch", "list"] {
        assert_eq!(warned(tool), 0, "{log}");
    }
}
