//! Forms as types, and whether an answer fits its form.
//!
//! What a client does not do is done here: numbers that arrive as text are read, defaults are filled in, members nobody
//! asked for are left out.

use serde_json::{Number, Value};

use crate::types::{Choice, Field, Form, Format, Input, Meta};

/// A form as a type. Derive it: `#[derive(Elicit)]` on a struct with named fields.
///
/// **Open**, but what a hand-written one gives is checked like any other form.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for with a form",
    label = "not a form",
    note = "write `#[derive(Elicit)]` on a struct with named fields"
)]
pub trait Elicit: Sized {
    /// What the person fills in.
    fn form() -> Form;

    /// Takes the value from what was filled in, which fits the form.
    ///
    /// # Errors
    ///
    /// What is wrong with it; it is asked for again then.
    fn from_answer(answer: &Meta) -> Result<Self, String>;

    /// What a person would fill in to give this value: the other way round, for tests that answer.
    fn to_answer(&self) -> Meta;
}

/// What can be a field of a form: text, numbers, `bool`, enums that derive [`Elicit`](macro@crate::Elicit), `Vec` of such
/// enums, and `Option` of each.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form: forms are flat",
    label = "not a field of a form",
    note = "fields are text, numbers, `bool`, enums that derive `Elicit`, `Vec` of such enums, and `Option` of each"
)]
pub trait FormField: Sized {
    /// What kind of field it is.
    const KIND: FieldKind;
    /// Whether it may be left empty.
    const OPTIONAL: bool = false;

    /// The field, with nothing said about it.
    fn field() -> Field;

    /// Takes the value from what was filled in.
    fn from_value(value: &Value) -> Option<Self>;

    /// What is filled in for this value; null if nothing is.
    fn to_value(&self) -> Value;

    /// The value if nothing was filled in.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// One of several choices: an enum without data that derives [`Elicit`](macro@crate::Elicit).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no choice",
    label = "not an enum that derives `Elicit`",
    note = "a list in a form is a choice among known values: derive `Elicit` for an enum"
)]
pub trait FormChoice: Sized {
    /// All that can be chosen.
    fn choices() -> Vec<Choice>;

    /// The value of this choice.
    fn from_choice(value: &str) -> Option<Self>;

    /// The choice of this value.
    fn to_choice(&self) -> &'static str;
}

/// The kinds of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum FieldKind {
    Text,
    Number,
    Boolean,
    One,
    Many,
}

impl FormField for String {
    const KIND: FieldKind = FieldKind::Text;

    fn field() -> Field {
        Field::text()
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn to_value(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl FormField for bool {
    const KIND: FieldKind = FieldKind::Boolean;

    fn field() -> Field {
        Field::boolean()
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn to_value(&self) -> Value {
        Value::from(*self)
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl FormField for $type {
            const KIND: FieldKind = FieldKind::Number;

            fn field() -> Field {
                #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "the ends of 64 bits are left out")]
                match size_of::<$type>() {
                    // Not every reader keeps these apart.
                    8.. => match <$type>::MIN {
                        0 => Field::integer().range(0.0, f64::INFINITY),
                        _ => Field::integer(),
                    },
                    _ => Field::integer().range(<$type>::MIN as f64, <$type>::MAX as f64),
                }
            }

            fn from_value(value: &Value) -> Option<Self> {
                let signed = value.as_i64().and_then(|number| number.try_into().ok());
                signed.or_else(|| value.as_u64().and_then(|number| number.try_into().ok()))
            }

            fn to_value(&self) -> Value {
                Value::from(*self)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl FormField for f64 {
    const KIND: FieldKind = FieldKind::Number;

    fn field() -> Field {
        Field::number()
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_f64()
    }

    fn to_value(&self) -> Value {
        Value::from(*self)
    }
}

impl FormField for f32 {
    const KIND: FieldKind = FieldKind::Number;

    fn field() -> Field {
        Field::number()
    }

    fn from_value(value: &Value) -> Option<Self> {
        #[allow(clippy::cast_possible_truncation, reason = "as near as the type gets")]
        value.as_f64().map(|number| number as Self)
    }

    fn to_value(&self) -> Value {
        Value::from(*self)
    }
}

impl<T: FormField> FormField for Option<T> {
    const KIND: FieldKind = T::KIND;
    const OPTIONAL: bool = true;

    fn field() -> Field {
        T::field()
    }

    fn from_value(value: &Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: FormChoice> FormField for Vec<T> {
    const KIND: FieldKind = FieldKind::Many;

    fn field() -> Field {
        Field::many_of(T::choices())
    }

    fn from_value(value: &Value) -> Option<Self> {
        let values = value.as_array()?.iter();
        values
            .map(|value| T::from_choice(value.as_str()?))
            .collect()
    }

    fn to_value(&self) -> Value {
        self.iter().map(T::to_choice).collect()
    }
}

/// Whether what was filled in fits the form; gives it with defaults, and without what was not asked for.
pub(crate) fn check_answer(form: &Form, mut answer: Meta) -> Result<Meta, String> {
    let mut checked = Meta::new();
    let mut faults = Vec::new();
    for (name, field) in &form.fields {
        let given = answer
            .get_mut(name)
            .map(Value::take)
            .filter(|value| !value.is_null());
        // A person who leaves an optional field empty may be reported as empty text.
        let is_empty = |value: &Value| !field.required && value == "" && !accepts_empty(field);
        match given.filter(|value| !is_empty(value)) {
            Some(value) => match check_value(field, value) {
                Ok(value) => drop(checked.insert(name.clone(), value)),
                Err(problem) => faults.push(format!("`{name}` {problem}")),
            },
            None if let Some(default) = &field.default => {
                checked.insert(name.clone(), default.clone());
            }
            None if field.required => faults.push(format!("`{name}` is missing")),
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
        field.input,
        Input::Text {
            min: None | Some(0),
            format: None,
            ..
        }
    )
}

fn check_value(field: &Field, value: Value) -> Result<Value, String> {
    match &field.input {
        Input::Boolean => match value {
            Value::Bool(_) => Ok(value),
            Value::String(text) if text == "true" || text == "false" => {
                Ok(Value::Bool(text == "true"))
            }
            _ => Err("is neither true nor false".into()),
        },
        Input::Number { integer, min, max } => {
            let number = read_number(&value).ok_or("is no number")?;
            let size = number.as_f64().unwrap_or(f64::NAN);
            if *integer && !(number.is_i64() || number.is_u64()) {
                return Err("is no whole number".into());
            }
            if min.is_some_and(|min| size < min) || max.is_some_and(|max| size > max) {
                return Err(match (min, max) {
                    (Some(min), Some(max)) => format!("is not within {min} to {max}"),
                    (Some(min), None) => format!("is less than {min}"),
                    (_, max) => format!("is more than {}", max.unwrap_or_default()),
                });
            }
            Ok(Value::Number(number))
        }
        Input::Text { min, max, format } => {
            let Value::String(text) = &value else {
                return Err("is no text".into());
            };
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            check_length(length, *min, *max, "characters")?;
            match format {
                Some(format) if !looks_like(text, *format) => {
                    Err(format!("is no {}", format.as_str()))
                }
                _ => Ok(value),
            }
        }
        Input::One { choices, .. } => {
            let chosen = value.as_str().and_then(|value| choice(choices, value));
            chosen.ok_or_else(|| not_among(choices)).map(Value::from)
        }
        Input::Many { choices, min, max } => {
            let values: Vec<&str> = match &value {
                Value::Array(values) => {
                    let texts: Option<_> = values.iter().map(Value::as_str).collect();
                    texts.ok_or("holds something that is no text")?
                }
                // From clients that know no such field.
                Value::String(text) => {
                    let values = text.split(',').map(str::trim);
                    values.filter(|value| !value.is_empty()).collect()
                }
                _ => return Err("is no list".into()),
            };
            let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
            check_length(count, *min, *max, "choices")?;
            let chosen: Option<Vec<&str>> = values
                .into_iter()
                .map(|value| choice(choices, value))
                .collect();
            chosen.ok_or_else(|| not_among(choices)).map(Value::from)
        }
    }
}

/// A number, also one that arrives as text, and a whole one without a fraction.
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

/// The value of a choice; its title stands for it too.
fn choice<'a>(choices: &'a [Choice], said: &str) -> Option<&'a str> {
    let by_value = choices.iter().find(|choice| choice.value == said);
    let found = by_value.or_else(|| {
        let mut titles = choices.iter();
        titles.find(|choice| choice.title.as_deref() == Some(said))
    });
    found.map(|choice| choice.value.as_str())
}

fn not_among(choices: &[Choice]) -> String {
    let values: Vec<_> = choices.iter().map(|choice| choice.value.as_str()).collect();
    format!("is none of {}", values.join(", "))
}

/// A look at the shape, no more: what is behind an address only its owner can tell.
fn looks_like(text: &str, format: Format) -> bool {
    match format {
        Format::Email => text.split_once('@').is_some_and(|(name, host)| {
            let is_plain = |part: &str| !part.is_empty() && !part.contains(['@', ' ', '\n', '\r']);
            is_plain(name) && is_plain(host)
        }),
        Format::Uri => text.split_once(':').is_some_and(|(scheme, rest)| {
            let mut letters = scheme.bytes();
            letters
                .next()
                .is_some_and(|first| first.is_ascii_alphabetic())
                && letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
                && !rest.is_empty()
                && !rest.contains(char::is_whitespace)
        }),
        Format::Date => is_date(text),
        Format::DateTime => text
            .split_once(['T', 't'])
            .is_some_and(|(date, time)| is_date(date) && is_time(time)),
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let Some(year) = digits(year, 4) else {
        return false;
    };
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match digits(month, 2) {
        Some(2) if leap => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        Some(1..=12) => 31,
        _ => return false,
    };
    digits(day, 2).is_some_and(|day| (1..=days).contains(&day))
}

fn is_time(text: &str) -> bool {
    let Some(zone) = text.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (time, zone) = text.split_at(zone);
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let clock = |text: &str, seconds: bool| {
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            [h, m] if !seconds => in_range(h, 23) && in_range(m, 59),
            [h, m, s] if seconds => in_range(h, 23) && in_range(m, 59) && in_range(s, 60),
            _ => false,
        }
    };
    let zone_fits = match zone.get(1..) {
        Some("") => zone.eq_ignore_ascii_case("z"),
        Some(offset) => clock(offset, false),
        None => false,
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    clock(whole, true) && is_fraction && zone_fits
}

fn in_range(text: &str, most: u32) -> bool {
    digits(text, 2).is_some_and(|number| number <= most)
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let fits = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
                    "`name` has fewer than 1 characters; `days` is no whole number; `units` is none of c, f; `tags` is none of a, b; `sure` is neither true nor false",
                ),
            ),
            (
                json!({"days": 15}),
                Err("`name` is missing; `days` is not within 1 to 14"),
            ),
        ] {
            assert_eq!(check(&form, answer), expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn formats_are_looked_at() {
        for (format, text, fits) in [
            (Format::Email, "a@b.c", true),
            (Format::Email, "a@b@c", false),
            (Format::Email, "@b", false),
            (Format::Uri, "https://x", true),
            (Format::Uri, "urn:x", true),
            (Format::Uri, "x y:z", false),
            (Format::Uri, "x", false),
            (Format::Date, "2024-02-29", true),
            (Format::Date, "2023-02-29", false),
            (Format::Date, "2023-13-01", false),
            (Format::Date, "23-1-1", false),
            (Format::DateTime, "2026-07-28T12:00:00Z", true),
            (Format::DateTime, "2026-07-28T12:00:00.5+02:00", true),
            (Format::DateTime, "2026-07-28T12:00:00", false),
            (Format::DateTime, "2026-07-28T25:00:00Z", false),
            (Format::DateTime, "2026-07-28", false),
        ] {
            assert_eq!(looks_like(text, format), fits, "{text}");
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
