//! A tool with every kind of argument decodes the same values as a derived struct, within the constraints of its
//! parameters; any leniency beyond that does not change the rest. Input: one JSON object.
#![no_main]

use std::any::Any;
use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use mcp_runtime::__private::{Bound, Constraints, ParameterMeta};
use mcp_runtime::fuzzing::{ArgumentDecoder, Arriving, parameter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    Rust,
    Go,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Filter {
    language: Option<Language>,
    limit: Option<u8>,
    tags: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: u16 },
}

/// The same arguments, as a derive reads them.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Derived {
    text: String,
    #[serde(default = "ten")]
    count: i64,
    small: Option<i8>,
    large: Option<u64>,
    weight: Option<f64>,
    truth: Option<bool>,
    letter: Option<char>,
    language: Option<Language>,
    filter: Option<Filter>,
    shape: Option<Shape>,
    list: Option<Vec<u32>>,
    pair: Option<(i32, String)>,
    map: Option<BTreeMap<String, i64>>,
    any: Option<Value>,
}

fn ten() -> i64 {
    10
}

static PARAMETERS: [ParameterMeta; 14] = [
    parameter::<String, _>("text", "").constraints(&Constraints {
        min_length: Some(1),
        max_length: Some(20),
        pattern: Some("^[^!]*$"),
        ..Constraints::NONE
    }),
    parameter::<i64, _>("count", "")
        .constraints(&Constraints {
            minimum: Some(Bound::Integer(1)),
            maximum: Some(Bound::Integer(100)),
            ..Constraints::NONE
        })
        .default_json("10"),
    parameter::<Option<i8>, _>("small", ""),
    parameter::<Option<u64>, _>("large", ""),
    parameter::<Option<f64>, _>("weight", ""),
    parameter::<Option<bool>, _>("truth", ""),
    parameter::<Option<char>, _>("letter", ""),
    parameter::<Option<Language>, _>("language", ""),
    parameter::<Option<Filter>, _>("filter", ""),
    parameter::<Option<Shape>, _>("shape", ""),
    parameter::<Option<Vec<u32>>, _>("list", ""),
    parameter::<Option<(i32, String)>, _>("pair", ""),
    parameter::<Option<BTreeMap<String, i64>>, _>("map", ""),
    parameter::<Option<Value>, _>("any", ""),
];

/// The decoded values, one for each parameter.
#[derive(Default)]
struct Slots {
    text: Option<String>,
    count: Option<i64>,
    small: Option<Option<i8>>,
    large: Option<Option<u64>>,
    weight: Option<Option<f64>>,
    truth: Option<Option<bool>>,
    letter: Option<Option<char>>,
    language: Option<Option<Language>>,
    filter: Option<Option<Filter>>,
    shape: Option<Option<Shape>>,
    list: Option<Option<Vec<u32>>>,
    pair: Option<Option<(i32, String)>>,
    map: Option<Option<BTreeMap<String, i64>>>,
    any: Option<Option<Value>>,
}

impl Slots {
    fn all(&mut self) -> [&mut dyn Any; 14] {
        [
            &mut self.text,
            &mut self.count,
            &mut self.small,
            &mut self.large,
            &mut self.weight,
            &mut self.truth,
            &mut self.letter,
            &mut self.language,
            &mut self.filter,
            &mut self.shape,
            &mut self.list,
            &mut self.pair,
            &mut self.map,
            &mut self.any,
        ]
    }

    fn into_derived(self) -> Option<Derived> {
        Some(Derived {
            text: self.text?,
            count: self.count?,
            small: self.small?,
            large: self.large?,
            weight: self.weight?,
            truth: self.truth?,
            letter: self.letter?,
            language: self.language?,
            filter: self.filter?,
            shape: self.shape?,
            list: self.list?,
            pair: self.pair?,
            map: self.map?,
            any: self.any?,
        })
    }
}

fn decode(decoder: &ArgumentDecoder, arguments: &str) -> Result<Derived, String> {
    let mut slots = Slots::default();
    decoder.decode(arguments, &mut slots.all())?;
    Ok(slots.into_derived().expect("every slot is filled"))
}

/// Returns `true` if structs are objects and variants without data are strings. A derive also accepts lists and objects
/// in their place, although the schema does not say so.
fn is_typed(text: &str) -> bool {
    let Ok(arguments) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let is_object = |name: &str| arguments[name].is_object() || arguments[name].is_null();
    let is_text = |value: &Value| value.is_string() || value.is_null();
    is_object("filter")
        && is_object("shape")
        && is_text(&arguments["language"])
        && is_text(&arguments["filter"]["language"])
}

/// Returns `true` if the parameters' constraints are satisfied.
fn holds(found: &Derived) -> bool {
    (1..=20).contains(&found.text.chars().count())
        && !found.text.contains('!')
        && (1..=100).contains(&found.count)
}

thread_local! {
    static STRICT: ArgumentDecoder = ArgumentDecoder::new(&PARAMETERS, Arriving::Strict);
    static LENIENT: ArgumentDecoder = ArgumentDecoder::new(&PARAMETERS, Arriving::Lenient);
    static TEXT: ArgumentDecoder = ArgumentDecoder::new(&PARAMETERS, Arriving::Text);
}

fuzz_target!(|text: &str| {
    // The envelope passes on only arguments that are a complete JSON object.
    if serde_json::from_str::<&RawValue>(text).is_err() || !text.trim_ascii().starts_with('{') {
        return;
    }
    let strict = STRICT.with(|decoder| decode(decoder, text));
    let lenient = LENIENT.with(|decoder| decode(decoder, text));
    let theirs = serde_json::from_str::<Derived>(text)
        .ok()
        .filter(holds)
        .filter(|_| is_typed(text));
    match (&strict, &theirs) {
        (Ok(ours), Some(theirs)) => assert_eq!(ours, theirs),
        (Err(problem), None) => assert!(!problem.is_empty()),
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
    match (strict, lenient) {
        (Ok(strict), lenient) => assert_eq!(lenient, Ok(strict)),
        (Err(_), Ok(lenient)) => assert!(holds(&lenient), "{lenient:?}"),
        (Err(_), Err(problem)) => assert!(!problem.is_empty()),
    }
    if let Ok(found) = TEXT.with(|decoder| decode(decoder, text)) {
        assert!(holds(&found), "{found:?}");
    }
});
