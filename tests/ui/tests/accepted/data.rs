//! Every kind of type that `#[data]` accepts.

use std::collections::HashMap;

use mcp_runtime::prelude::*;

/// Rejects unknown fields by default.
#[data]
#[serde(rename_all = "camelCase")]
struct Place {
    zip_code: Option<String>,
}

/// Rejects unknown fields at the author's request.
#[data(input)]
#[serde(deny_unknown_fields)]
struct Said {
    city: String,
}

/// Accepts unknown fields, because the flattened field takes them.
#[data]
struct Flattening {
    city: String,
    #[serde(flatten)]
    rest: HashMap<String, u8>,
}

/// Accepts unknown fields at the author's request.
#[data(allow_unknown_fields)]
struct Open {
    city: String,
}

#[data]
#[serde(transparent)]
struct Name(String);

#[data]
struct Nothing;

#[data(display)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    FullMoon,
    #[serde(rename = "new")]
    NewMoon,
}

#[data]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Placed(Place),
    Point,
}

#[data]
#[serde(untagged)]
enum Either {
    Text(String),
    Place(Place),
}

fn read<T: mcp_runtime::serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    mcp_runtime::serde_json::from_str(text).ok()
}

#[test]
fn fields_are_read_as_their_options_say() {
    assert!(read::<Place>(r#"{"zipCode": "1"}"#).is_some_and(|place| place.zip_code.is_some()));
    assert!(read::<Place>(r#"{"zipcode": "1"}"#).is_none());
    assert!(read::<Said>(r#"{"city": "", "x": 1}"#).is_none_or(|said| said.city.is_empty()));
    let flattening = read::<Flattening>(r#"{"city": "", "x": 1}"#);
    assert!(flattening.is_some_and(|it| it.rest.len() == 1 && it.city.is_empty()));
    assert!(read::<Open>(r#"{"city": "", "x": 1}"#).is_some_and(|open| open.city.is_empty()));
    assert!(read::<Name>(r#""x""#).is_some_and(|name| name.0 == "x"));
    assert!(read::<Nothing>("null").is_some());
    for (text, fits) in [
        (r#"{"kind": "circle", "radius": 1}"#, true),
        (r#"{"kind": "circle", "radius": 1, "x": 1}"#, false),
        (r#"{"kind": "placed", "zipCode": "1"}"#, true),
        (r#"{"kind": "placed", "zipcode": "1"}"#, false),
        (r#"{"kind": "point"}"#, true),
    ] {
        assert_eq!(read::<Shape>(text).is_some(), fits, "{text}");
    }
    assert!(read::<Either>(r#"{"zipcode": "1"}"#).is_none());
}
