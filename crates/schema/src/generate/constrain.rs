//! Writes the constraints from `#[arg(…)]` into the schema of an argument.

use serde_json::{Map, Value};

use crate::constraint::{Bound, Constraints, PATTERN, SizeUnit, compile_pattern};
use crate::format::describe_unlisted;
use crate::query::allows;

/// Merges the constraints from `#[arg(…)]` into a schema. Adds a message to `problems` for each constraint that does
/// not apply to the schema.
pub(super) fn apply_constraints(
    schema: &mut Value,
    constraints: &Constraints,
    problems: &mut Vec<String>,
) {
    let decimals = allows(schema, "number");
    let any_number = decimals || allows(schema, "integer");
    let (text, list) = (allows(schema, "string"), allows(schema, "array"));
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for (keyword, bound) in constraints.bounds() {
        if !any_number {
            let remedy = if text {
                "; if its strings are numbers, as those of `Decimal` are, take a newtype whose `TryFrom` checks the range, with \
                 `#[serde(try_from = \"…\")]`"
            } else {
                ""
            };
            problems.push(format!(
                "`range` applies to numbers, but the schema does not allow numbers{remedy}"
            ));
            break;
        }
        let (keyword, bound) = if decimals {
            (keyword, bound)
        } else {
            keyword.inclusive(bound)
        };
        let Some(number) = bound.to_json() else {
            problems.push(format!("`range`: {bound:?} cannot be written as JSON"));
            continue;
        };
        let present = object.get(keyword.name()).and_then(Value::as_number);
        // A bound that is wider than the type's own bound is redundant.
        if present.is_none_or(|present| keyword.is_satisfied(bound, Bound::from_number(present))) {
            object.insert(keyword.name().to_owned(), Value::Number(number));
        }
    }
    for (length, on_text, on_list) in [
        (
            constraints.min_length,
            SizeUnit::Characters.keywords().0,
            SizeUnit::Items.keywords().0,
        ),
        (
            constraints.max_length,
            SizeUnit::Characters.keywords().1,
            SizeUnit::Items.keywords().1,
        ),
    ] {
        let Some(length) = length else { continue };
        if !text && !list {
            problems.push(
                "`length` applies to strings and lists, but the schema allows neither".to_owned(),
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
        (PATTERN, constraints.pattern),
        ("format", constraints.format),
    ] {
        let Some(value) = value else { continue };
        if !text {
            problems.push(format!(
                "`{name}` applies to strings, but the schema does not allow strings"
            ));
            continue;
        }
        if name == PATTERN
            && let Err(error) = compile_pattern(value)
        {
            problems.push(error);
            continue;
        }
        object.insert(name.to_owned(), value.into());
    }
    describe_unlisted(object);
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
            apply_constraints(items, inner, problems);
        } else {
            problems
                .push("`items` applies to lists, but the schema does not allow lists".to_owned());
        }
    }
}
