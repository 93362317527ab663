//! Validates answers against their forms.
//!
//! Compensates for clients that do not validate answers themselves by parsing numbers sent as strings, filling in
//! defaults, and removing members that are not fields of the form.

use serde_json::{Number, Value};

use crate::types::{Choice, Field, FieldInput, Form, Meta};

/// Validates an answer against its form. Returns the answer with defaults filled in and unknown members removed.
pub(crate) fn check_answer(form: &Form, mut answer: Meta) -> Result<Meta, String> {
    let mut checked = Meta::new();
    let mut faults = Vec::new();
    for (name, field) in form.fields() {
        let given = answer
            .get_mut(name)
            .map(Value::take)
            .filter(|value| !value.is_null());
        // Some clients report an optional field that the user left empty as an empty string.
        let is_empty = |value: &Value| !field.is_required() && value == "" && !accepts_empty(field);
        match given.filter(|value| !is_empty(value)) {
            Some(value) => match check_value(field, value) {
                Ok(value) => drop(checked.insert(name.clone(), value)),
                Err(problem) => faults.push(format!("`{name}` {problem}")),
            },
            None if let Some(default) = field.default_value() => {
                checked.insert(name.clone(), default.clone());
            }
            None if field.is_required() => faults.push(format!("`{name}` is missing")),
            None => {}
        }
    }
    if faults.is_empty() {
        Ok(checked)
    } else {
        Err(faults.join("; "))
    }
}

fn accepts_empty(field: &Field) -> bool {
    matches!(
        field.input(),
        FieldInput::Text {
            min: None | Some(0),
            format: None,
            ..
        }
    )
}

fn check_value(field: &Field, value: Value) -> Result<Value, String> {
    match field.input() {
        FieldInput::Boolean => match value {
            Value::Bool(_) => Ok(value),
            Value::String(text) if text == "true" || text == "false" => {
                Ok(Value::Bool(text == "true"))
            }
            _ => Err("is neither true nor false".into()),
        },
        FieldInput::Number { integer, min, max } => {
            let number = read_number(&value).ok_or("is not a number")?;
            let size = number.as_f64().unwrap_or(f64::NAN);
            if *integer && !(number.is_i64() || number.is_u64()) {
                return Err("is not a whole number".into());
            }
            if min.is_some_and(|min| size < min) || max.is_some_and(|max| size > max) {
                return Err(match (min, max) {
                    (Some(min), Some(max)) => format!("is not between {min} and {max}"),
                    (Some(min), None) => format!("is less than {min}"),
                    (_, max) => format!("is more than {}", max.unwrap_or_default()),
                });
            }
            Ok(Value::Number(number))
        }
        FieldInput::Text { min, max, format } => {
            let Value::String(text) = &value else {
                return Err("is not a string".into());
            };
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            check_length(length, *min, *max, "characters")?;
            match format {
                Some(format) if !format.fits(text) => {
                    Err(format!("is not a valid {}", format.as_str()))
                }
                _ => Ok(value),
            }
        }
        FieldInput::One { choices, .. } => {
            let chosen = value.as_str().and_then(|value| find_choice(choices, value));
            chosen
                .ok_or_else(|| not_among_message(choices))
                .map(Value::from)
        }
        FieldInput::Many { choices, min, max } => {
            let values: Vec<&str> = match &value {
                Value::Array(values) => {
                    let texts: Option<_> = values.iter().map(Value::as_str).collect();
                    texts.ok_or("contains a value that is not a string")?
                }
                // Clients without support for multi-value fields send a string instead.
                Value::String(text) => {
                    let values = text.split(',').map(str::trim);
                    values.filter(|value| !value.is_empty()).collect()
                }
                _ => return Err("is not a list".into()),
            };
            let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
            check_length(count, *min, *max, "choices")?;
            let chosen: Option<Vec<&str>> = values
                .into_iter()
                .map(|value| find_choice(choices, value))
                .collect();
            chosen
                .ok_or_else(|| not_among_message(choices))
                .map(Value::from)
        }
    }
}

/// Reads a number, which the client may have sent as a string. Converts a number such as `7.0` to an integer.
fn read_number(value: &Value) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    match number.as_f64() {
        Some(size) if number.is_f64() && size.fract() == 0.0 && size.abs() < EXACT =>
        {
            #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            Some(Number::from(size as i64))
        }
        Some(_) => Some(number),
        None => None,
    }
}

fn check_length(length: u64, min: Option<u64>, max: Option<u64>, what: &str) -> Result<(), String> {
    match (min, max) {
        (Some(min), _) if length < min => Err(format!("has fewer than {min} {what}")),
        (_, Some(max)) if length > max => Err(format!("has more than {max} {what}")),
        _ => Ok(()),
    }
}

/// Returns the value of the choice with this value or title.
fn find_choice<'a>(choices: &'a [Choice], text: &str) -> Option<&'a str> {
    let by_value = choices.iter().find(|choice| choice.value() == text);
    let found = by_value.or_else(|| {
        let mut titles = choices.iter();
        titles.find(|choice| choice.title() == Some(text))
    });
    found.map(Choice::value)
}

fn not_among_message(choices: &[Choice]) -> String {
    let values: Vec<_> = choices.iter().map(Choice::value).collect();
    format!("is not one of {}", values.join(", "))
}
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::context::FormField as _;

    fn check(form: &Form, answer: Value) -> Result<Value, String> {
        let Value::Object(answer) = answer else {
            panic!("an answer is an object")
        };
        check_answer(form, answer).map(Value::Object)
    }

    #[test]
    fn an_answer_is_completed_and_cleaned() {
        let form = Form::new()
            .field("name", Field::text().length(1, 5))
            .field("days", Field::integer().range(1.0, 14.0).default(3))
            .optional(
                "units",
                Field::one_of([("c", "Celsius"), ("f", "Fahrenheit")]),
            )
            .optional("tags", Field::many_of(["a", "b"]))
            .optional("sure", Field::boolean());
        for (answer, expected) in [
            (json!({"name": "x"}), Ok(json!({"name": "x", "days": 3}))),
            (
                json!({"name": "x", "days": "7", "units": "Celsius", "tags": "a, b", "sure": "true", "more": 1}),
                Ok(json!({"name": "x", "days": 7, "units": "c", "tags": ["a", "b"], "sure": true})),
            ),
            (
                json!({"name": "x", "days": 7.0, "units": "", "tags": ["b"], "sure": null}),
                Ok(json!({"name": "x", "days": 7, "tags": ["b"]})),
            ),
            (
                json!({"name": "", "days": 7.5, "units": "k", "tags": ["c"], "sure": 1}),
                Err(
                    "`name` has fewer than 1 characters; `days` is not a whole number; `units` is not one of c, f; `tags` is not one of a, b; `sure` is neither true nor false",
                ),
            ),
            (
                json!({"days": 15}),
                Err("`name` is missing; `days` is not between 1 and 14"),
            ),
        ] {
            assert_eq!(check(&form, answer), expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn the_ends_of_integers_are_bounds() {
        let form = Form::new().field("n", u8::field());
        assert!(check(&form, json!({"n": 256})).is_err());
        assert_eq!(u8::from_value(&json!(255)), Some(255));
        assert_eq!(u64::from_value(&json!(u64::MAX)), Some(u64::MAX));
        let form = Form::new().field("n", u64::field());
        assert!(check(&form, json!({"n": -1})).is_err());
    }
}
