//! Writes the constraints of `#[arg(…)]` into the schema of an argument.

use serde_json::{Map, Number, Value};

use crate::check::compile;
use crate::constraint::{Bound, Constraints};
use crate::query::allows;

/// Merges the constraints of `#[arg(…)]` into a schema. Constraints that do not apply to it are added to `problems`.
pub(super) fn constrain(schema: &mut Value, constraints: &Constraints, problems: &mut Vec<String>) {
    let any_number = allows(schema, "number") || allows(schema, "integer");
    let (text, list) = (allows(schema, "string"), allows(schema, "array"));
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for (keyword, bound, upper) in [
        ("minimum", constraints.minimum, false),
        ("maximum", constraints.maximum, true),
    ] {
        let Some(bound) = bound else { continue };
        if !any_number {
            problems.push("`range` applies to numbers, but its schema allows none".to_owned());
            break;
        }
        let Some(number) = number(bound) else {
            problems.push(format!("`range`: {bound:?} cannot be written as JSON"));
            continue;
        };
        let present = object.get(keyword).and_then(Value::as_f64);
        let given = number.as_f64();
        let narrower = match (present, given) {
            (Some(present), Some(given)) if upper => given <= present,
            (Some(present), Some(given)) => given >= present,
            _ => true,
        };
        if narrower {
            object.insert(keyword.to_owned(), Value::Number(number));
        }
    }
    for (length, on_text, on_list) in [
        (constraints.min_length, "minLength", "minItems"),
        (constraints.max_length, "maxLength", "maxItems"),
    ] {
        let Some(length) = length else { continue };
        if !text && !list {
            problems.push(
                "`length` applies to strings and lists, but its schema allows neither".to_owned(),
            );
            break;
        }
        if text {
            object.insert(on_text.to_owned(), length.into());
        }
        if list {
            object.insert(on_list.to_owned(), length.into());
        }
    }
    for (name, value) in [
        ("pattern", constraints.pattern),
        ("format", constraints.format),
    ] {
        let Some(value) = value else { continue };
        if !text {
            problems.push(format!(
                "`{name}` applies to strings, but its schema allows none"
            ));
            continue;
        }
        if name == "pattern"
            && let Err(error) = compile(value)
        {
            problems.push(error);
            continue;
        }
        object.insert(name.to_owned(), value.into());
    }
    if let Some(example) = constraints.example {
        match serde_json::from_str::<Value>(example) {
            Ok(example) => {
                object.insert("examples".to_owned(), Value::Array(vec![example]));
            }
            Err(error) => problems.push(format!("the example is not JSON: {error}")),
        }
    }
    if let Some(inner) = constraints.items {
        if list {
            let items = object
                .entry("items")
                .or_insert_with(|| Value::Object(Map::new()));
            constrain(items, inner, problems);
        } else {
            problems.push("`items` applies to lists, but its schema allows none".to_owned());
        }
    }
}

fn number(bound: Bound) -> Option<Number> {
    match bound {
        Bound::Integer(whole) => Number::from_i128(whole),
        Bound::Float(float) => Number::from_f64(float),
    }
}
