//! Tests for decoding arguments: accepted values, corrected mistakes, and messages about all other mistakes.
#![allow(
    clippy::items_after_statements,
    reason = "each case is next to the type it tests"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use mcp_schema::constraint::{Bound, Constraints};
use mcp_schema::explain::describe_faults;
use proptest::prelude::*;
use schemars::{JsonSchema, Schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::*;
use crate::handler::parameter::{Argument, Parameter, ParameterMeta, Probe};
use crate::limits::MessageLimits;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    Rust,
    Go,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Filter {
    language: Option<Language>,
    limit: Option<u8>,
    tags: Option<Vec<String>>,
}

/// A text that its type refuses while it is read, so that the error has its position.
#[derive(Clone, JsonSchema)]
#[schemars(transparent)]
struct Word(#[expect(dead_code, reason = "only decoded")] String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor;

        impl Visitor<'_> for WordVisitor {
            type Value = Word;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a word")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Word, E> {
                let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase());
                let word = is_word.then(|| Word(text.to_owned()));
                word.ok_or_else(|| E::custom("the word has more than small letters"))
            }
        }

        deserializer.deserialize_str(WordVisitor)
    }
}

const LENIENT: ArgumentStyle = ArgumentStyle::Tool { strict: false };
const STRICT: ArgumentStyle = ArgumentStyle::Tool { strict: true };

static LENGTH: Constraints = Constraints {
    min_length: Some(1),
    max_length: Some(20),
    ..Constraints::NONE
};

static SEARCH: [ParameterMeta; 6] = [
    ParameterMeta::of::<String, _>("query", "Words to look for").constraints(&LENGTH),
    ParameterMeta::of::<u32, _>("limit", "")
        .constraints(&Constraints {
            minimum: Some(Bound::Integer(1)),
            maximum: Some(Bound::Integer(100)),
            ..Constraints::NONE
        })
        .default_json("10"),
    ParameterMeta::of::<Option<Language>, _>("language", ""),
    ParameterMeta::of::<Option<Filter>, _>("filter", ""),
    ParameterMeta::of::<Option<Vec<String>>, _>("tags", ""),
    ParameterMeta::of::<Option<f64>, _>("weight", ""),
];

type Search = (
    String,
    u32,
    Option<Language>,
    Option<Filter>,
    Option<Vec<String>>,
    Option<f64>,
);

fn decoder(parameters: &'static [ParameterMeta], style: ArgumentStyle) -> Decoder {
    Decoder::new(parameters, style, None).unwrap()
}

fn no_context() -> Context {
    panic!("nothing here needs a context")
}

fn said(refusal: CallRefusal) -> String {
    match refusal {
        CallRefusal::Arguments(faults) => describe_faults(&faults),
        CallRefusal::Error(error) => panic!("{error:?}"),
    }
}

fn search(decoder: &Decoder, arguments: &str) -> Result<Search, String> {
    let (mut query, mut limit, mut language, mut filter, mut tags, mut weight) = (
        None::<String>,
        None::<u32>,
        None::<Option<Language>>,
        None::<Option<Filter>>,
        None::<Option<Vec<String>>>,
        None::<Option<f64>>,
    );
    decoder
        .decode(
            arguments,
            &mut [
                &mut query,
                &mut limit,
                &mut language,
                &mut filter,
                &mut tags,
                &mut weight,
            ],
            &no_context,
        )
        .map_err(said)?;
    Ok((
        query.unwrap(),
        limit.unwrap(),
        language.unwrap(),
        filter.unwrap(),
        tags.unwrap(),
        weight.unwrap(),
    ))
}

fn one<T: Clone + 'static>(decoder: &Decoder, arguments: &str) -> Result<T, String> {
    let mut slot = None::<T>;
    decoder
        .decode(arguments, &mut [&mut slot], &no_context)
        .map_err(said)?;
    Ok(slot.unwrap())
}

#[test]
fn ordinary_arguments_are_decoded() {
    let decoder = decoder(&SEARCH, LENIENT);
    let (query, limit, language, filter, tags, weight) = search(
        &decoder,
        r#" { "tags" : ["a","b"] , "qu\u0065ry":"x\ny", "filter":{"limit":3,"other":1}, "language":"go","weight":1 } "#,
    )
    .unwrap();
    assert_eq!(
        (query.as_str(), limit, language, weight),
        ("x\ny", 10, Some(Language::Go), Some(1.0))
    );
    assert_eq!(filter.unwrap().limit, Some(3));
    assert_eq!(tags.unwrap(), ["a", "b"]);
}

#[test]
fn common_mistakes_of_models_are_accepted_unless_strict() {
    let (lenient, strict) = (decoder(&SEARCH, LENIENT), decoder(&SEARCH, STRICT));
    for arguments in [
        r#"{"query":"x","limit":"5"}"#,
        r#"{"query":"x","limit":5.0}"#,
        r#"{"query":"x","limit":"5.0"}"#,
        r#"{"query":"x","tags":"[\"a\"]"}"#,
        r#"{"query":"x","filter":"{\"limit\":1.0}"}"#,
        r#"{"query":"x","limit":null}"#,
    ] {
        assert!(
            search(&lenient, arguments).is_ok(),
            "{arguments}: {:?}",
            search(&lenient, arguments)
        );
        assert!(search(&strict, arguments).is_err(), "{arguments}");
    }
    assert_eq!(
        search(&lenient, r#"{"query":"x","limit":"5"}"#).unwrap().1,
        5
    );
    assert_eq!(search(&lenient, r#"{"query":"5"}"#).unwrap().0, "5");
}

#[test]
fn a_long_list_in_a_string_is_accepted() {
    static NUMBERS: [ParameterMeta; 1] = [ParameterMeta::of::<Vec<u32>, _>("numbers", "")];
    let numbers: Vec<u32> = (0..2_000).collect();
    let quoted: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let arguments = json!({"numbers": quoted}).to_string();
    let decoder = decoder(&NUMBERS, LENIENT);
    assert!(one::<Vec<u32>>(&decoder, &arguments) == Ok(numbers));
}

#[test]
fn json_inside_a_string_keeps_the_limits_of_messages() {
    let limits = |max_depth, max_values| ParseLimits {
        max_depth,
        max_values,
        ..MessageLimits::default().parse_limits()
    };
    let tags = r#"{"query":"x","tags":"[\"a\",\"b\"]"}"#;
    let inside = r#"{"query":"x","filter":{"tags":"[\"a\",\"b\"]"}}"#;
    let each = r#"{"query":"x","filter":{"tags":"[\"a\",\"b\"]","limit":"1"}}"#;
    for (arguments, limits, fits) in [
        (tags, limits(1, 3), true),
        (tags, limits(0, 3), false),
        (tags, limits(1, 2), false),
        // The whole argument counts, not only the string.
        (inside, limits(2, 5), true),
        (inside, limits(1, 5), false),
        (inside, limits(2, 4), false),
        (each, limits(2, 7), true),
        (each, limits(2, 6), false),
    ] {
        let decoder = decoder(&SEARCH, LENIENT).with_limits(limits);
        let found = search(&decoder, arguments);
        assert_eq!(found.is_ok(), fits, "{arguments} {limits:?}: {found:?}");
    }
}

#[test]
fn all_invalid_arguments_are_reported_together() {
    let decoder = decoder(&SEARCH, LENIENT);
    for (arguments, expected) in [
        ("", "missing argument `query`; expected string"),
        ("[]", "the arguments must be a JSON object"),
        (
            r#"{"query":"x""#,
            "the arguments are not valid JSON: EOF while parsing an object",
        ),
        (
            r#"{"query":"x","query":"y"}"#,
            "argument `query` is given twice",
        ),
        (
            r#"{"query":"","limit":0}"#,
            "/query: has 0 characters, but must have 1 to 20\n/limit: 0 is less than 1",
        ),
        (
            r#"{"query":"x","limit":"500"}"#,
            "/limit: 500 is more than 100",
        ),
        (
            r#"{"qurey":"x"}"#,
            "unknown argument `qurey`; did you mean `query`? (known: `query`, `limit`, `language`, `filter`, `tags`, `weight`)",
        ),
        (
            r#"{"query":"x","limt":1,"language":"rsut"}"#,
            "unknown argument `limt`; did you mean `limit`? (known: `query`, `limit`, `language`, `filter`, `tags`, `weight`)\n/language: unknown value \"rsut\"; did you mean \"rust\"? (allowed: \"rust\", \"go\")",
        ),
        // An argument that is already there is not suggested, but it is listed.
        (
            r#"{"query":"x","qurey":"y"}"#,
            "unknown argument `qurey`; known: `query`, `limit`, `language`, `filter`, `tags`, `weight`",
        ),
        (r#"{"query":3}"#, "/query: expected string, received 3"),
        (
            r#"{"query":"x","filter":{"language":"c","limit":300,"tags":["a",3]}}"#,
            "/filter/language: unknown value \"c\"; allowed: \"rust\", \"go\"\n/filter/limit: 300 is more than 255\n/filter/tags/1: expected string, received 3",
        ),
        (
            r#"{"query":"x","tags":"a, b"}"#,
            "/tags: expected array, received \"a, b\"",
        ),
        (r#"{"query":"x","limit":-1}"#, "/limit: -1 is less than 1"),
    ] {
        assert_eq!(
            search(&decoder, arguments).unwrap_err(),
            expected,
            "{arguments}"
        );
    }
}

#[test]
fn an_error_of_the_type_is_reported_in_its_own_words() {
    static WORD: [ParameterMeta; 1] = [ParameterMeta::of::<Word, _>("word", "")];
    let decoder = decoder(&WORD, LENIENT);
    assert_eq!(
        one::<Word>(&decoder, r#"{"word":"two words"}"#)
            .err()
            .unwrap(),
        "/word: the word has more than small letters; received \"two words\""
    );
}

#[test]
fn an_error_of_a_nested_type_has_its_json_pointer() {
    #[derive(Clone, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoded")]
    struct Copy {
        from: Vec<Word>,
        over: bool,
    }
    static COPY: [ParameterMeta; 1] = [ParameterMeta::of::<Copy, _>("copy", "")];
    let decoder = decoder(&COPY, LENIENT);
    assert_eq!(
        one::<Copy>(
            &decoder,
            "{\"copy\":{\"from\":[\"a\",\n \"B\", \"c\"],\"over\":true}}"
        )
        .err()
        .unwrap(),
        "/copy/from/1: the word has more than small letters; received \"B\""
    );
}

#[test]
fn reporting_errors_decodes_a_large_value_only_a_few_times() {
    thread_local! {
        static DECODED: Cell<usize> = const { Cell::new(0) };
    }
    #[derive(Clone, Deserialize, JsonSchema)]
    #[serde(try_from = "String")]
    #[schemars(with = "String")]
    struct Counted;
    impl TryFrom<String> for Counted {
        type Error = String;
        fn try_from(_: String) -> Result<Self, String> {
            DECODED.set(DECODED.get() + 1);
            Ok(Self)
        }
    }
    #[derive(Clone, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoded")]
    struct Upload {
        content: Counted,
        words: BTreeMap<String, Word>,
    }
    static UPLOAD: [ParameterMeta; 1] = [ParameterMeta::of::<Upload, _>("upload", "")];
    let decoder = decoder(&UPLOAD, LENIENT);
    let mistakes_of = |length: usize| {
        let words: BTreeMap<String, &str> = (0..15).map(|n| (format!("w{n:02}"), "No")).collect();
        let upload = json!({"content": "x".repeat(length), "words": words});
        let arguments = json!({"upload": upload}).to_string();
        DECODED.set(0);
        let said = one::<Upload>(&decoder, &arguments).err().unwrap();
        (said.lines().count(), DECODED.get())
    };
    let (mistakes, _) = mistakes_of(10);
    assert_eq!(mistakes, 15);
    let (mistakes, runs) = mistakes_of(1 << 20);
    assert!(mistakes >= 1 && runs <= 8, "{mistakes} {runs}");
}

#[test]
fn the_schema_follows_the_parameters() {
    let decoder = decoder(&SEARCH, LENIENT);
    let schema = decoder.schema();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["query", "limit", "language", "filter", "tags", "weight"]
    );
    assert_eq!(schema["required"], serde_json::json!(["query"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(
        super::Decoder::new(&[], LENIENT, None)
            .unwrap()
            .schema()
            .to_string(),
        r#"{"type":"object","properties":{},"additionalProperties":false}"#
    );
    let language = decoder
        .arguments()
        .iter()
        .find(|argument| argument.name == "language")
        .unwrap();
    assert_eq!(language.candidates, ["rust", "go"]);
    assert!(!language.required);
}

#[test]
fn a_default_that_its_schema_refuses_is_a_mistake() {
    #[derive(Debug, Deserialize)]
    struct Amount(#[expect(dead_code, reason = "only read")] Value);
    impl JsonSchema for Amount {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Amount".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
            schemars::json_schema!({"type": "string", "maxLength": 3})
        }
    }
    static NUMBER: [ParameterMeta; 1] =
        [ParameterMeta::of::<Amount, _>("amount", "").default_json("0")];
    assert_eq!(
        Decoder::new(&NUMBER, LENIENT, None).unwrap_err(),
        [
            "argument `amount`: the default `0` is not allowed by the argument's schema: expected string, received 0"
        ]
    );
    static TEXT: [ParameterMeta; 1] =
        [ParameterMeta::of::<Amount, _>("amount", "").default_json("\"0\"")];
    decoder(&TEXT, LENIENT);
}

#[test]
fn duplicates_are_refused_where_items_are_unique() {
    #[derive(Clone, Debug, Deserialize, JsonSchema)]
    struct Unique {
        #[schemars(extend("uniqueItems" = true))]
        names: Vec<String>,
    }
    static ALONE: [ParameterMeta; 1] = [ParameterMeta::of::<Unique, _>("all", "")];
    static FLAT: [ParameterMeta; 1] = [ParameterMeta::of::<Unique, _>("all", "").flatten()];
    for (parameters, wrap) in [
        (&ALONE, (r#"{"all":{"names":"#, "}}")),
        (&FLAT, (r#"{"names":"#, "}")),
    ] {
        let decoder = decoder(parameters, LENIENT);
        let schema = decoder.schema().to_string();
        assert!(!schema.contains("uniqueItems"), "{schema}");
        assert!(schema.contains("without duplicates"), "{schema}");
        let call = |names| one::<Unique>(&decoder, &format!("{}{names}{}", wrap.0, wrap.1));
        assert_eq!(call(r#"["a","b"]"#).unwrap().names, ["a", "b"]);
        let refused = call(r#"["a","a"]"#).unwrap_err();
        assert!(refused.contains("items must be unique"), "{refused}");
    }
}

#[test]
fn a_flattened_parameter_is_the_argument_object() {
    static FLAT: [ParameterMeta; 1] = [ParameterMeta::of::<Filter, _>("filter", "").flatten()];
    let flat = decoder(&FLAT, LENIENT);
    assert_eq!(flat.schema()["properties"].as_object().unwrap().len(), 3);
    assert_eq!(
        one::<Filter>(&flat, r#"{"limit":3}"#).unwrap().limit,
        Some(3)
    );
    assert_eq!(
        one::<Filter>(&flat, r#"{"limit":"3"}"#).unwrap().limit,
        Some(3)
    );
    assert_eq!(one::<Filter>(&flat, "").unwrap(), Filter::default());
    assert_eq!(
        one::<Filter>(&flat, r#"{"limt":3}"#).unwrap_err(),
        "unknown argument `limt`; did you mean `limit`? (known: `language`, `limit`, `tags`)"
    );
    assert_eq!(
        one::<Filter>(&flat, r#"{"limit":300}"#).unwrap_err(),
        "/limit: 300 is more than 255"
    );

    static MIXED: [ParameterMeta; 2] = [
        ParameterMeta::of::<Filter, _>("filter", "").flatten(),
        ParameterMeta::of::<String, _>("name", ""),
    ];
    let mixed = decoder(&MIXED, LENIENT);
    let (mut filter, mut name) = (None::<Filter>, None::<String>);
    mixed
        .decode(
            r#"{"name":"a","limit":3}"#,
            &mut [&mut filter, &mut name],
            &no_context,
        )
        .unwrap();
    assert_eq!(
        (filter.unwrap().limit, name.unwrap().as_str()),
        (Some(3), "a")
    );
}

#[test]
fn a_handwritten_schema_is_served_unchanged_and_enforced() {
    static RAW: [ParameterMeta; 1] = [ParameterMeta::of::<Value, _>("arguments", "").flatten()];
    let text = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}},"if":{"required":["a"]},"then":{"required":["b"]}}"##;
    let schema = || Schema::try_from(serde_json::from_str::<Value>(text).unwrap()).unwrap();
    let decoder = Decoder::new(&RAW, LENIENT, Some(schema())).unwrap();
    assert_eq!(decoder.schema().to_string(), text);
    assert_eq!(
        one::<Value>(&decoder, r#"{"a":1,"b":2}"#).unwrap(),
        serde_json::json!({"a": 1, "b": 2})
    );
    assert_eq!(
        one::<Value>(&decoder, r#"{"a":"1","b":2}"#).unwrap(),
        serde_json::json!({"a": 1, "b": 2})
    );
    assert_eq!(
        one::<Value>(&decoder, r#"{"a":1}"#).unwrap_err(),
        "missing argument `b`"
    );
    assert_eq!(
        one::<Value>(&decoder, r#"{"a":"x","b":1}"#).unwrap_err(),
        "/a: expected integer, received \"x\""
    );
}

#[test]
fn text_arguments_are_converted_to_the_type_of_the_parameter() {
    static TEXT: [ParameterMeta; 6] = [
        ParameterMeta::of::<String, _>("query", ""),
        ParameterMeta::of::<u32, _>("limit", "").default_json("10"),
        ParameterMeta::of::<Option<Language>, _>("language", ""),
        ParameterMeta::of::<Option<Filter>, _>("filter", ""),
        ParameterMeta::of::<Option<Vec<String>>, _>("tags", ""),
        ParameterMeta::of::<Option<f64>, _>("weight", ""),
    ];
    let decoder = decoder(&TEXT, ArgumentStyle::Text);
    let json = decoder
        .from_strings(r#"{"query":"12","limit":"9","language":"go","weight":"","other":"x"}"#)
        .unwrap();
    assert_eq!(
        json,
        r#"{"query":"12","limit":9,"language":"go","other":"x"}"#
    );
    let found = search(&decoder, &json).unwrap();
    assert_eq!(
        (found.0.as_str(), found.1, found.2),
        ("12", 9, Some(Language::Go))
    );
    let wrong = decoder.from_pairs([("query", "x"), ("limit", "007")]);
    assert_eq!(
        search(&decoder, &wrong).unwrap_err(),
        "/limit: expected integer, received \"007\""
    );
    let faults = decoder.from_strings(r#"{"query":3}"#).unwrap_err();
    assert_eq!(
        describe_faults(&faults),
        "/query: expected string, received 3"
    );
    assert_eq!(
        decoder
            .from_decodable_pairs([("query", "x"), ("limit", "y")])
            .as_deref(),
        Some(r#"{"query":"x"}"#)
    );
    assert_eq!(decoder.from_decodable_pairs([("limit", "1")]), None);
}

#[test]
fn mistakes_of_the_author_are_found_at_start_up() {
    static WRONG: [ParameterMeta; 6] = [
        ParameterMeta::of::<u8, _>("a", "").default_json("\"x\""),
        ParameterMeta::of::<u8, _>("a", ""),
        ParameterMeta::of::<f64, _>("b", "").header("B"),
        ParameterMeta::of::<String, _>("c", "").header("a b"),
        ParameterMeta::of::<String, _>("d", "").header("X"),
        ParameterMeta::of::<bool, _>("e", "").header("x"),
    ];
    let problems = Decoder::new(&WRONG, LENIENT, None).unwrap_err().join("\n");
    for expected in [
        "the default `\"x\"`",
        "`a` is defined twice",
        "`b`: a header can mirror",
        "`a b` is not a valid header name",
        "header `x` mirrors two",
    ] {
        assert!(problems.contains(expected), "{expected}: {problems}");
    }
    static FLAT: [ParameterMeta; 2] = [
        ParameterMeta::of::<Filter, _>("a", "").flatten(),
        ParameterMeta::of::<Filter, _>("b", "").flatten(),
    ];
    assert!(
        Decoder::new(&FLAT, LENIENT, None)
            .unwrap_err()
            .join("\n")
            .contains("only one can")
    );
    static RANGE: [ParameterMeta; 1] = [ParameterMeta::of::<u8, _>("a", "")
        .default_json("9")
        .constraints(&Constraints {
            maximum: Some(Bound::Integer(3)),
            ..Constraints::NONE
        })];
    assert_eq!(
        Decoder::new(&RANGE, LENIENT, None).unwrap_err(),
        ["argument `a`: the default `9` is not allowed by the argument's schema: 9 is more than 3"]
    );
    let schema =
        Schema::try_from(serde_json::json!({"type": "object", "$ref": "http://x/y"})).unwrap();
    assert!(
        Decoder::new(&[], LENIENT, Some(schema))
            .unwrap_err()
            .join("\n")
            .contains("leaves the document")
    );
}

#[test]
fn a_long_number_is_the_one_the_client_wrote() {
    static NUMBER: [ParameterMeta; 1] = [ParameterMeta::of::<f64, _>("a", "")];
    let decoder = decoder(&NUMBER, STRICT);
    for number in ["1111111111111111111111", "1.1111111111111111e21"] {
        let found: Result<f64, _> = one(&decoder, &format!(r#"{{"a":{number}}}"#));
        assert_eq!(found, Ok(number.parse().unwrap()));
    }
}

#[test]
fn headers_are_listed_with_their_paths() {
    static HEADERS: [ParameterMeta; 1] =
        [ParameterMeta::of::<Option<String>, _>("region", "").header("Region")];
    assert_eq!(
        decoder(&HEADERS, LENIENT).headers(),
        [HeaderArgument {
            path: vec!["region".into()],
            header: "Region".into()
        }]
    );
}

/// The same arguments, decoded by a derived implementation.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Derived {
    query: String,
    #[serde(default = "ten")]
    limit: u32,
    language: Option<Language>,
    filter: Option<Filter>,
    tags: Option<Vec<String>>,
    weight: Option<f64>,
}

fn ten() -> u32 {
    10
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_decoder_accepts_the_same_as_serde_derive(
        base in prop::sample::select(vec![
            r#"{"query":"x","limit":5,"language":"rust","filter":{"language":"go","limit":1,"tags":["a"]},"tags":["b","c"],"weight":1.5}"#,
            r#"{"query":"ab\u00e9\n","limit":100}"#,
            r#"{ "tags" : [ ] , "query" : "z" , "filter" : null }"#,
        ]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(br#"{}[]",:\ 01.-eanulltruex"#.to_vec()), 0_u8..3), 0..4),
    ) {
        let mut bytes = base.as_bytes().to_vec();
        for (at, byte, kind) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => {
                    bytes.remove(at);
                }
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        // The envelope extracts the arguments, so the decoder receives only complete JSON. Absent arguments become an
        // empty object.
        if serde_json::from_str::<&RawValue>(&text).is_err() {
            return Ok(());
        }
        thread_local! { static DECODER: Decoder = decoder(&SEARCH, STRICT); }
        let ours = DECODER.with(|decoder| search(decoder, &text));
        let theirs = serde_json::from_str::<Derived>(&text).ok().filter(|found| {
            // A derived struct also accepts a sequence, but arguments are objects. Only this decoder checks
            // constraints.
            text.trim().starts_with('{') && (1..=20).contains(&found.query.chars().count()) && (1..=100).contains(&found.limit)
        });
        match (ours, theirs) {
            (Ok((query, limit, language, filter, tags, weight)), Some(theirs)) => {
                prop_assert_eq!(Derived { query, limit, language, filter, tags, weight }, theirs);
            }
            (Err(_), None) => {}
            (ours, theirs) => prop_assert!(false, "{} {:?} {:?}", text, ours, theirs),
        }
    }
}

/// Values as clients write them, some of them in several ways.
const SPELLINGS: [&str; 52] = [
    "7",
    "7.0",
    "7e0",
    "70e-1",
    r#""7""#,
    r#"" 7""#,
    r#""7.0""#,
    r#""7e0""#,
    "8",
    r#""8""#,
    "0",
    "-0",
    r#""0""#,
    "10",
    r#""1e1""#,
    "0.1",
    "0.10",
    "1e-1",
    r#""0.1""#,
    "0.1000000000000000000001",
    "18446744073709551616",
    "18446744073709551617",
    "null",
    "true",
    r#""true""#,
    r#""a""#,
    r#""\u0061""#,
    r#""rust""#,
    r#""golang""#,
    r#""go""#,
    "[7]",
    "[7.0]",
    r#"["7"]"#,
    r#""[7]""#,
    "[7, 8]",
    "[8, 7]",
    r#""[8.0, 7]""#,
    "[]",
    "{}",
    r#""{}""#,
    r#"{"limit": 7}"#,
    r#"{"limit": 7.0}"#,
    r#"{"limit": "7"}"#,
    r#""{\"limit\": 7}""#,
    r#"{"limit": 7, "tags": null}"#,
    r#"{"tags": null, "limit": 7, "language": null}"#,
    r#"{"limit": 10}"#,
    r#"{"language": "go"}"#,
    r#"[{"limit": 7}]"#,
    r#"["{\"limit\": 7.0}"]"#,
    r#"{"b": 7, "a": 8}"#,
    r#"{"a": 8.0, "b": "7"}"#,
];

/// A value with defaults, and with two names for one of its members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Page {
    #[serde(default = "ten", alias = "max")]
    limit: u32,
    language: Option<Alias>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Alias {
    Rust,
    #[serde(alias = "golang")]
    Go,
}

/// Checks for all pairs of texts that they have the same identity if, and only if, they are decoded to the same value.
fn check_identities<T: Clone + Debug + PartialEq + Parameter<Argument> + 'static>(
    parameter: ParameterMeta,
    is_written: bool,
) {
    let parameters = Box::leak(Box::new([parameter]));
    let decoder = decoder(parameters, LENIENT);
    let is_struct = decoder.schema()["properties"]["value"]
        .get("properties")
        .is_some()
        || decoder.schema().get("$defs").is_some();
    // According to its schema, a type that is only read could keep members that its schema does not name.
    let is_named = |value: &&str| is_written || !value.contains(r#""b""#) || !is_struct;
    let texts = SPELLINGS.into_iter().filter(is_named);
    let texts = texts.map(|value| format!("{{\"value\": {value}}}"));
    let all = texts.chain(["{}".to_owned()]);
    let cases: Vec<_> = all
        .filter_map(|text| {
            let value = one::<T>(&decoder, &text).ok();
            let identities = decoder.identities(&text);
            assert_eq!(value.is_some(), identities.is_some(), "{text}");
            let given = identities?.into_iter().filter(|(_, it)| !it.is_default);
            let given: Vec<(Value, Option<String>)> = given
                .map(|(_, it)| {
                    let text = slow::without_fractions(&it.text).unwrap_or(it.text);
                    let value: Value = serde_json::from_str(&text).unwrap();
                    // A long integer is compared as text, because a `Value` does not hold it. A type that is only read
                    // may not hold it either.
                    let is_integer = is_written && text.bytes().all(|byte| byte.is_ascii_digit());
                    (value, is_integer.then_some(text))
                })
                .collect();
            Some((text, value?, given))
        })
        .collect();
    assert!(cases.len() > 1, "some texts are decoded");
    for (text, value, identity) in &cases {
        for (other_text, other_value, other_identity) in &cases {
            let place = format!("{text} and {other_text}: {identity:?} and {other_identity:?}");
            if value == other_value {
                assert_eq!(identity, other_identity, "{place}");
            } else if is_written {
                assert_ne!(identity, other_identity, "{place}");
            }
        }
    }
}

macro_rules! check_identities {
    ($($type:ty $(= $default:literal)?;)*) => {$(
        {
            let new = || ParameterMeta::of::<$type, Argument>("value", "") $(.default_json($default))?;
            check_identities::<$type>(new().identity(Probe::<$type>::IDENTITY), true);
        }
    )*};
}

#[test]
fn texts_that_are_decoded_to_one_value_have_one_identity() {
    check_identities! {
        u32; i64; u128; f64; f32; bool; String; Option<u32>; Option<String>; Vec<u32>; Vec<f64>; Filter; Page;
        Option<Page>; Vec<Filter>; Alias; std::collections::BTreeMap<String, u32>;
        std::collections::HashMap<String, u32>; std::collections::HashSet<u32>;
        u32 = "10"; Option<u32> = "10"; Filter = "{\"limit\":7}"; String = "\"a\"";
    }
}

#[test]
fn values_that_a_schema_makes_equal_have_one_identity_for_input_types() {
    macro_rules! check_read {
        ($($type:ty;)*) => {$(
            check_identities::<$type>(ParameterMeta::of::<$type, Argument>("value", ""), false);
        )*};
    }
    check_read! {
        u32; i64; bool; String; Option<u32>; Vec<u32>; Filter; Vec<Filter>;
        std::collections::BTreeMap<String, u32>; std::collections::HashSet<u32>; Value;
    }
}
