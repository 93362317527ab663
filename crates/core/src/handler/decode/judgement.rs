//! Tests that the report of a refused call agrees with the decoder: what is accepted alone is not a mistake beside
//! another one, and each mistake is one line with its place.

use std::collections::BTreeMap;

use mcp_schema::explain::Fault;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ArgumentStyle, Decoder};
use crate::context::Context;
use crate::handler::handler_error::CallRefusal;
use crate::handler::parameter::ParameterMeta;

/// A closed record with every way to leave a member out.
#[derive(Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    bound(deserialize = "A: Deserialize<'de>, B: Deserialize<'de> + Default")
)]
#[expect(dead_code, reason = "only decoded")]
struct Record<A, B: Default> {
    must: A,
    may: Option<B>,
    #[serde(default)]
    list: Vec<A>,
    #[serde(default = "yes")]
    flag: bool,
    #[serde(default, alias = "other_name", alias = "third_name")]
    named: B,
    #[serde(alias = "duty")]
    required: Option<Level>,
    /// The schema requires what the type does not.
    #[schemars(with = "String")]
    stricter: Option<String>,
}

/// An open record.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
struct Open<A: Default> {
    value: A,
    #[schemars(range(min = 1, max = 9))]
    count: Option<u8>,
    #[schemars(length(min = 2))]
    text: Option<String>,
}

fn yes() -> bool {
    true
}

/// Values with another name, and one that stands for all others.
#[derive(Deserialize, JsonSchema, Default, Clone)]
#[serde(rename_all = "lowercase")]
enum Level {
    #[default]
    #[serde(alias = "minimal")]
    Low,
    High,
    #[serde(other)]
    Unknown,
}

/// A value that only the type refuses.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(try_from = "String")]
struct Code(#[expect(dead_code, reason = "only decoded")] String);

impl TryFrom<String> for Code {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_short = text.len() < 4;
        is_short.then_some(Self(text)).ok_or("too long".to_owned())
    }
}

/// A value that both its type and its schema bound.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("maxLength" = 12))]
struct Word(#[expect(dead_code, reason = "only decoded")] String);

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let fits = text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        fits.then_some(Self(text)).ok_or("not a word".to_owned())
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    deny_unknown_fields,
    bound(deserialize = "A: Deserialize<'de>")
)]
#[expect(dead_code, reason = "only decoded")]
enum Tagged<A> {
    Full {
        value: A,
        #[serde(default)]
        list: Vec<A>,
        may: Option<u8>,
    },
    Small {
        size: u8,
    },
    Empty,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "data", rename_all = "lowercase")]
#[expect(dead_code, reason = "only decoded")]
enum Adjacent<A> {
    Full { value: A, may: Option<u8> },
    Number(u8),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[expect(dead_code, reason = "only decoded")]
enum Outside<A> {
    Full {
        value: A,
        #[serde(default)]
        count: u8,
    },
    Number(u8),
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only decoded")]
enum Either {
    Number(f64),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only decoded")]
struct Category {
    name: String,
    #[serde(default)]
    children: Vec<Category>,
    level: Option<Level>,
}

/// A change to one place of a value.
#[derive(Clone, Debug)]
enum Mutation {
    Set(String, Value),
    Remove(String, String),
    Add(String, String, Value),
    Rename(String, String, String),
}

impl Mutation {
    fn apply(&self, value: &mut Value) -> Option<()> {
        match self {
            Self::Set(pointer, new) => *value.pointer_mut(pointer)? = new.clone(),
            Self::Remove(pointer, name) => {
                value
                    .pointer_mut(pointer)?
                    .as_object_mut()?
                    .shift_remove(name)?;
            }
            Self::Add(pointer, name, new) => {
                let members = value.pointer_mut(pointer)?.as_object_mut()?;
                members.insert(name.clone(), new.clone());
            }
            Self::Rename(pointer, name, new) => {
                let members = value.pointer_mut(pointer)?.as_object_mut()?;
                let member = members.shift_remove(name)?;
                members.insert(new.clone(), member);
            }
        }
        Some(())
    }

    /// The pointer to the place that changes.
    fn place(&self) -> String {
        match self {
            Self::Set(pointer, _) => pointer.clone(),
            Self::Remove(pointer, name) | Self::Add(pointer, name, _) => {
                format!("{pointer}/{name}")
            }
            Self::Rename(pointer, name, _) => format!("{pointer}/{name}"),
        }
    }

    /// The pointers to all places that change.
    fn places(&self) -> Vec<String> {
        let mut places = vec![self.place()];
        if let Self::Rename(pointer, _, new) = self {
            places.push(format!("{pointer}/{new}"));
        }
        places
    }

    /// Returns `true` if a line of the report is about this change.
    fn is_named_by(&self, fault: &Fault) -> bool {
        let (pointer, names) = match self {
            Self::Set(pointer, _) => return is_inside(&fault.pointer, pointer),
            Self::Remove(pointer, name) | Self::Add(pointer, name, _) => (pointer, vec![name]),
            Self::Rename(pointer, name, new) => (pointer, vec![name, new]),
        };
        names.into_iter().any(|name| {
            is_inside(&fault.pointer, &format!("{pointer}/{name}"))
                || fault.pointer == *pointer
                    && [
                        "missing property",
                        "missing argument",
                        "unknown property",
                        "unknown argument",
                    ]
                    .iter()
                    .any(|start| fault.message.starts_with(&format!("{start} `{name}`")))
        })
    }
}

fn is_inside(pointer: &str, outer: &str) -> bool {
    let rest = pointer.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns changes of every place in a value.
fn mutations(value: &Value, pointer: &str, found: &mut Vec<Mutation>) {
    if !pointer.is_empty() {
        let quoted = value.to_string();
        for new in [
            Value::Null,
            json!("text"),
            json!("minimal"),
            json!("unheard"),
            json!(7),
            json!(7.0),
            json!(-1),
            json!(300),
            json!(1.5),
            json!(true),
            json!("7"),
            json!([]),
            json!({}),
            json!(quoted),
        ] {
            found.push(Mutation::Set(pointer.to_owned(), new));
        }
    }
    match value {
        Value::Object(members) => {
            let place = pointer.to_owned();
            for name in ["extra", "may", "list"] {
                if !members.contains_key(name) {
                    found.push(Mutation::Add(place.clone(), name.to_owned(), json!(null)));
                    found.push(Mutation::Add(place.clone(), name.to_owned(), json!("7")));
                }
            }
            for (name, member) in members {
                found.push(Mutation::Remove(place.clone(), name.clone()));
                found.push(Mutation::Rename(
                    place.clone(),
                    name.clone(),
                    format!("{name}x"),
                ));
                for alias in ["other_name", "duty"] {
                    found.push(Mutation::Rename(
                        place.clone(),
                        name.clone(),
                        alias.to_owned(),
                    ));
                }
                mutations(member, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                mutations(item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Decodes a value, and checks the report if it is refused.
fn report<T: 'static>(decoder: &Decoder, arguments: &Value) -> Option<Vec<Fault>> {
    let mut slot = None::<T>;
    let no_context = || -> Context { panic!("nothing here needs a context") };
    match decoder.decode(&arguments.to_string(), &mut [&mut slot], &no_context) {
        Ok(()) => None,
        Err(CallRefusal::Arguments(faults)) => {
            assert!(!faults.is_empty(), "{arguments}");
            Some(faults)
        }
        Err(CallRefusal::Error(error)) => panic!("{error:?}"),
    }
}

/// Checks a type with changes of a value that it accepts.
fn check<T: 'static>(parameter: fn() -> ParameterMeta, base: &Value) {
    for strict in [false, true] {
        let parameters: &'static [ParameterMeta] = Box::leak(Box::new([parameter()]));
        let decoder = Decoder::new(parameters, ArgumentStyle::Tool { strict }, None).unwrap();
        assert!(
            report::<T>(&decoder, base).is_none(),
            "{base}: {:?}",
            report::<T>(&decoder, base)
        );
        let mut all = Vec::new();
        mutations(base, "", &mut all);
        let mut problems = Vec::new();
        let mut accepted = Vec::new();
        let mut refused = Vec::new();
        for mutation in all {
            let mut value = base.clone();
            if mutation.apply(&mut value).is_none() || value == *base {
                continue;
            }
            match report::<T>(&decoder, &value) {
                None => accepted.push(mutation),
                Some(faults) => {
                    problems.extend(report_problem(&mutation, &faults));
                    refused.push(mutation);
                }
            }
        }
        assert!(!refused.is_empty(), "{base}");
        // Every accepted change is tried beside several that are refused.
        for (index, harmless) in accepted.iter().enumerate() {
            let step = refused.len() / 6 + 1;
            for mistake in refused.iter().skip(index % step).step_by(step) {
                let touch =
                    |one: &String, other: &String| is_inside(one, other) || is_inside(other, one);
                let (ours, theirs) = (harmless.places(), mistake.places());
                if ours
                    .iter()
                    .any(|one| theirs.iter().any(|other| touch(one, other)))
                {
                    continue;
                }
                let mut value = base.clone();
                if harmless.apply(&mut value).is_none() || mistake.apply(&mut value).is_none() {
                    continue;
                }
                // A member with an alias may make up for one that was removed.
                let Some(faults) = report::<T>(&decoder, &value) else {
                    continue;
                };
                if faults.iter().any(|fault| harmless.is_named_by(fault)) {
                    problems.push(format!(
                        "{harmless:?} is accepted alone, but beside {mistake:?}: {faults:?}"
                    ));
                }
            }
        }
        let count = problems.len();
        problems.truncate(8);
        assert!(
            problems.is_empty(),
            "strict: {strict}, {count} problems with {base}:\n{}",
            problems.join("\n")
        );
    }
}

/// Returns the problem with a report about a single change.
fn report_problem(mutation: &Mutation, faults: &[Fault]) -> Option<String> {
    let names_place = faults
        .iter()
        .any(|fault| mutation.is_named_by(fault) || fault.pointer == parent(&mutation.place()));
    if !names_place {
        return Some(format!("{mutation:?} has no place: {faults:?}"));
    }
    // The members of a new object, also of one in a string, are mistakes of their own, and so is a name that was not meant.
    let may_be_several = match mutation {
        Mutation::Set(_, new) => new.is_object() || new.is_string(),
        Mutation::Rename(_, name, new) => *new != format!("{name}x"),
        _ => false,
    };
    (faults.len() > 1 && !may_be_several)
        .then(|| format!("{mutation:?} is one mistake: {faults:?}"))
}

fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Checks types as the only argument and, if they are objects, in place of all arguments.
macro_rules! judged {
    ($($name:ident: $type:ty = $base:expr;)*) => { $(
        #[test]
        fn $name() {
            let base: Value = $base;
            check::<$type>(|| ParameterMeta::of::<$type, _>("it", ""), &json!({"it": base}));
            if base.is_object() {
                check::<$type>(|| ParameterMeta::of::<$type, _>("it", "").flatten(), &base);
            }
        }
    )* };
}

#[expect(clippy::needless_pass_by_value, reason = "shorter where it is called")]
fn record(must: Value, may: Value) -> Value {
    json!({"must": must, "may": may, "list": [must], "flag": true, "named": may, "required": "low", "stricter": "s"})
}

judged! {
    numbers_and_words: Record<u8, String> = record(json!(1), json!("a"));
    words_and_levels: Record<String, Level> = record(json!("a"), json!("high"));
    codes_in_open_records: Record<Code, Open<Code>> = record(json!("a"), json!({"value": "b", "count": 3, "text": "ab"}));
    levels_in_open_records: Open<Level> = json!({"value": "low", "count": 1, "text": "abc"});
    records_in_records: Record<Record<i64, f64>, u8> = record(record(json!(-3), json!(0.5)), json!(2));
    maps_and_tuples: Record<(u8, String), BTreeMap<String, u8>> = record(json!([1, "a"]), json!({"a": 1}));
    bounded_words_and_lists: Record<Word, Vec<Level>> = record(json!("aGVs"), json!(["low", "high"]));
    tagged_variants: Tagged<u8> = json!({"kind": "full", "value": 1, "list": [2], "may": 3});
    tagged_variants_without_data: Tagged<u8> = json!({"kind": "empty"});
    tagged_variants_in_records: Record<Tagged<Code>, u8> = record(json!({"kind": "full", "value": "a", "may": 3}), json!(1));
    records_in_tagged_variants: Tagged<Record<u8, u8>> = json!({"kind": "full", "value": record(json!(1), json!(2))});
    adjacent_variants: Adjacent<Open<u8>> = json!({"kind": "full", "data": {"value": {"value": 1}, "may": 1}});
    outside_variants: Record<Outside<u8>, u8> = record(json!({"full": {"value": 1, "count": 2}}), json!(1));
    either: Record<Either, Vec<Either>> = record(json!(1), json!([1, "a"]).as_array().cloned().unwrap_or_default().into());
    trees: Category = json!({"name": "a", "children": [{"name": "b", "children": []}], "level": "low"});
    members_of_any_name: BTreeMap<String, Record<u8, u8>> = json!({"a": record(json!(1), json!(2))});
}

/// Lines for the mistakes in the arguments of a type.
fn lines<T: 'static>(parameter: ParameterMeta, arguments: &Value) -> Vec<String> {
    let parameters: &'static [ParameterMeta] = Box::leak(Box::new([parameter]));
    let style = ArgumentStyle::Tool { strict: false };
    let decoder = Decoder::new(parameters, style, None).unwrap();
    let faults = report::<T>(&decoder, arguments).unwrap_or_default();
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn error_lines_name_the_path_the_allowed_values_and_a_correction() {
    let tagged = |value: Value| {
        lines::<Tagged<u8>>(
            ParameterMeta::of::<Tagged<u8>, _>("it", ""),
            &json!({ "it": value }),
        )
    };
    let flat = |value: Value| {
        lines::<Tagged<u8>>(
            ParameterMeta::of::<Tagged<u8>, _>("it", "").flatten(),
            &value,
        )
    };
    let outside = |value: Value| {
        lines::<Outside<u8>>(
            ParameterMeta::of::<Outside<u8>, _>("it", ""),
            &json!({ "it": value }),
        )
    };
    let open = |value: Value| {
        lines::<Open<u8>>(
            ParameterMeta::of::<Open<u8>, _>("it", ""),
            &json!({ "it": value }),
        )
    };
    for (found, expected) in [
        (
            tagged(json!({"kind": "smal", "size": 1})),
            r#"/it/kind: unknown value "smal"; did you mean "small"? (allowed: "full", "small", "empty")"#,
        ),
        (
            tagged(json!({"size": 1})),
            r#"/it: missing property `kind`; allowed: "full", "small", "empty""#,
        ),
        (
            tagged(json!({"kind": "small", "sise": 1})),
            "/it: unknown property `sise`; did you mean `size`? (known: `kind`, `size`)",
        ),
        (
            tagged(json!({"kind": "empty", "size": 1})),
            "/it: unknown property `size`; known: `kind`",
        ),
        (
            flat(json!({"kind": "empty", "size": 1})),
            "unknown argument `size`; known: `kind`",
        ),
        (
            flat(json!({"kind": "small", "size": 1, "other": 1})),
            "unknown argument `other`; known: `kind`, `size`",
        ),
        (
            flat(json!({"kind": "small"})),
            "missing argument `size`; expected integer",
        ),
        (
            outside(json!({"ful": {"value": 1}})),
            "/it: unknown property `ful`; did you mean `full`? (known: `full`, `number`)",
        ),
        (
            outside(json!({})),
            "/it: missing property: one of `full`, `number`",
        ),
        (
            outside(json!({"full": {"value": 1}, "number": 1})),
            "/it: has the properties `full`, `number`, but must have exactly one of `full`, `number`",
        ),
        (
            outside(json!({"number": "x"})),
            "/it/number: expected integer, received \"x\"",
        ),
        (
            outside(json!("full")),
            r#"/it: unknown value "full"; allowed: "nothing", {"full":"…"}, {"number":"…"}"#,
        ),
        (open(json!({"count": 0})), "/it/count: 0 is less than 1"),
    ] {
        assert_eq!(found, [expected]);
    }
}

#[test]
fn null_counts_as_absent_where_a_default_is_known() {
    type Deep = Record<Record<u8, u8>, u8>;
    let none = json!({"must": 1, "may": null, "list": null, "flag": null, "named": null, "required": null});
    let deep = json!({"it": {"must": none, "list": [none], "flag": null, "named": null}});
    let parameter = || ParameterMeta::of::<Deep, _>("it", "");
    assert_eq!(lines::<Deep>(parameter(), &deep), [""; 0]);
    let mut wrong = deep;
    wrong["it"]["list"][0]["must"] = json!("x");
    let expected = ["/it/list/0/must: expected integer, received \"x\""];
    assert_eq!(lines::<Deep>(parameter(), &wrong), expected);
    let tagged = Map::from_iter([(
        "it".to_owned(),
        json!({"kind": "full", "value": 1, "list": null, "may": null}),
    )]);
    let parameter = ParameterMeta::of::<Tagged<u8>, _>("it", "");
    assert_eq!(lines::<Tagged<u8>>(parameter, &tagged.into()), [""; 0]);
}
