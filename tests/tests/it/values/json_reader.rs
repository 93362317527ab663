//! JSON from files, which is read by the same rules as arguments.

use mcp_runtime::prelude::*;
use mcp_runtime::server::{ErrorKind, Selected};
use mcp_runtime::values::JsonReader;
use serde_json::json;
use tests::Version;

use crate::support::connect;

/// What was seen.
#[data]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Species {
    Wren,
    Heron,
}

/// Where it was seen.
#[data]
#[derive(Debug, PartialEq)]
struct Place {
    #[arg(length(2..))]
    name: String,
}

/// A line of a file.
#[data]
#[derive(Debug, PartialEq)]
struct Sighting {
    species: Species,
    #[arg(range(1..=500))]
    count: u32,
    place: Option<Place>,
}

fn refused<T: serde::de::DeserializeOwned + mcp_runtime::schemars::JsonSchema + 'static>(
    json: &str,
) -> String {
    let reader = JsonReader::<T>::new().unwrap();
    reader.read(json).err().unwrap().to_string()
}

#[test]
fn values_that_match_are_read() {
    let reader = JsonReader::<Sighting>::new().unwrap();
    let sighting = Sighting {
        species: Species::Wren,
        count: 3,
        place: None,
    };
    for json in [
        r#"{"species":"wren","count":3}"#,
        r#"  {"species":"wren","count":3,"place":null} "#,
    ] {
        assert_eq!(reader.read(json).unwrap(), sighting);
    }
    let numbers = JsonReader::<Vec<u8>>::new().unwrap();
    assert_eq!(numbers.read("[1,2]").unwrap(), [1, 2]);
    let text = JsonReader::<String>::new().unwrap();
    assert_eq!(text.read(r#""a\nb""#).unwrap(), "a\nb");
    let absent = JsonReader::<Option<Species>>::new().unwrap();
    assert_eq!(absent.read("null").unwrap(), None);
}

#[test]
fn all_mistakes_are_explained_with_their_place() {
    assert_eq!(
        refused::<Sighting>(r#"{"species":"wern","count":900,"place":{"name":"x"}}"#),
        "/species: unknown value \"wern\"; did you mean \"wren\"? (allowed: \"wren\", \"heron\")\n\
         /count: 900 is more than 500\n\
         /place/name: has 1 character, but must have at least 2"
    );
    assert_eq!(
        refused::<Vec<Sighting>>(r#"[{"species":"wren","count":1},{"species":"wren"}]"#),
        "/1: missing property `count`; expected integer"
    );
    // Nothing is corrected, unlike in arguments, which models write.
    assert_eq!(
        refused::<Sighting>(r#"{"species":"wren","count":"3"}"#),
        "/count: expected integer, received \"3\""
    );
    assert_eq!(refused::<u8>("300"), "300 is more than 255");
    assert_eq!(refused::<u8>("null"), "expected integer, received null");
}

#[test]
fn json_with_text_around_its_value_is_refused() {
    for json in ["", "  ", "{", "1,\"value\":2", "1}", "1 2", "1,\"x\":{}"] {
        let error = refused::<u8>(json);
        assert!(error.starts_with("not valid JSON: "), "{json:?}: {error}");
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let error = refused::<Sighting>(&deep);
    assert!(error.contains("recursion limit"), "{error}");
}

#[data]
struct Unreadable {
    #[schemars(extend("minLength" = "two"))]
    text: String,
}

#[test]
fn a_type_without_a_valid_schema_has_no_reader() {
    let error = JsonReader::<Unreadable>::new().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("minLength"), "{error}");
}

/// Reads a line.
#[tool(tags("values-reader"))]
fn read_line(line: &str, expose: bool) -> Result<u32> {
    let read = JsonReader::<Sighting>::new()?.read(line);
    let sighting = if expose { read.expose()? } else { read? };
    Ok(sighting.count)
}

#[tokio::test]
async fn a_tool_decides_whether_its_client_sees_the_mistake() {
    for version in Version::ERAS {
        let server = new_server!().only(Selected::tag("values-reader"));
        let mut client = connect(server, version).await;
        let call = |line: &str, expose: bool| json!({"line": line, "expose": expose});
        let right = call(r#"{"species":"wren","count":7}"#, true);
        assert_eq!(client.text("read_line", right).await, "7");
        let wrong = r#"{"species":"wren","count":0}"#;
        let shown = client.refused("read_line", call(wrong, true)).await;
        assert_eq!(shown, "/count: 0 is less than 1");
        let hidden = client.refused("read_line", call(wrong, false)).await;
        assert!(!hidden.contains("count"), "{hidden}");
    }
}

#[test]
fn mistakes_are_read_one_by_one() {
    let reader = JsonReader::<Sighting>::new().unwrap();
    let mistakes = |json: &str| -> Vec<(String, String)> {
        let error = reader.read(json).err().unwrap();
        let mistakes = error.mistakes();
        mistakes
            .map(|(pointer, message)| (pointer.to_owned(), message.to_owned()))
            .collect()
    };
    let both = mistakes(r#"{"species":"wren","count":900,"place":{"name":"x"}}"#);
    let pointers: Vec<_> = both.iter().map(|(pointer, _)| &**pointer).collect();
    assert_eq!(pointers, ["/count", "/place/name"]);
    assert_eq!(both[0].1, "900 is more than 500");
    let [(pointer, message)] = &mistakes(r#"{"species":"#)[..] else {
        panic!("there is one mistake");
    };
    assert!(pointer.is_empty() && message.starts_with("not valid JSON: "));
}
