//! Forms defined by types: what derived forms are made of, their rules, which are checked when the author's crate is
//! compiled, and the validation of answers.
#![expect(
    clippy::missing_panics_doc,
    reason = "checks panic only while the author's crate is being compiled"
)]

use serde_json::{Number, Value};

use crate::types::{Choice, Field, FieldInput, Form, Meta};

/// A type that describes a form. Derive it with `#[derive(Elicit)]` on a struct with named fields.
///
/// **Open**: hand-written forms are validated like derived forms.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be elicited with a form",
    label = "not a form",
    note = "write `#[derive(Elicit)]` on a struct with named fields"
)]
pub trait Elicit: Sized {
    /// Returns the form to fill in.
    fn form() -> Form;

    /// Converts an answer that is valid for the form into a value.
    ///
    /// # Errors
    ///
    /// If the answer is not acceptable, returns the reason. The form is then sent again.
    fn from_answer(answer: &Meta) -> Result<Self, String>;

    /// Converts the value into the answer that a user would give. Used in tests.
    fn to_answer(&self) -> Meta;
}

/// What a user enters into a form: a value of a type that is one, or JSON.
pub trait FormContent {
    /// Returns the `content` of the answer.
    fn into_content(self) -> Value;
}

impl<T: Elicit> FormContent for T {
    fn into_content(self) -> Value {
        Value::Object(self.to_answer())
    }
}

impl FormContent for Value {
    fn into_content(self) -> Value {
        self
    }
}

impl FormContent for Meta {
    fn into_content(self) -> Value {
        Value::Object(self)
    }
}

/// The type of a form field: `String`, numbers, `bool`, enums that derive `Elicit`, `Vec`s of
/// such enums or, with choices set at run time, of strings, and `Option`s of all of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form: forms are flat",
    label = "not a field of a form",
    note = "fields can be `String`, numbers, `bool`, enums that derive `Elicit`, a `Vec` of strings or such enums, or an `Option` of any of these"
)]
pub trait FormField: Sized {
    /// The kind of field.
    const KIND: FieldKind;
    /// `true` if the field may be left empty.
    const OPTIONAL: bool = false;

    /// Returns the field without a title or description.
    fn field() -> Field;

    /// Converts the field's answer into a value.
    fn from_value(value: &Value) -> Option<Self>;

    /// Converts the value into the field's answer, or into `null` if the field is left empty.
    fn to_value(&self) -> Value;

    /// Returns the value for a field that was left empty, or `None` if the field is required.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// A choice among several values: an enum that derives `Elicit` and whose variants do not
/// contain data.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a list item in a form",
    label = "not an enum that derives `Elicit`",
    note = "list items are choices among known values: use an enum that derives `Elicit`, or `Vec<String>` with `.field(\"…\", |field| field.choices(…))` on the question"
)]
pub trait FormChoice: Sized {
    /// Returns all choices.
    fn choices() -> Vec<Choice>;

    /// Converts a choice into its value. Returns `None` if the choice is unknown.
    fn from_choice(value: &str) -> Option<Self>;

    /// Returns the choice for this value.
    fn to_choice(&self) -> &'static str;
}

/// The kinds of form fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum FieldKind {
    Text,
    Integer,
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
            const KIND: FieldKind = FieldKind::Integer;

            fn field() -> Field {
                match size_of::<$type>() {
                    // Not every JSON parser represents the bounds of 64-bit integers exactly.
                    8.. => match <$type>::MIN {
                        0 => Field::integer().range(0..),
                        _ => Field::integer(),
                    },
                    _ => Field::integer().range(<$type>::MIN..=<$type>::MAX),
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
        #[allow(clippy::cast_possible_truncation, reason = "rounds to nearest")]
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

/// A list whose choices are set at run time, with [`Ask::field`](crate::context::Ask::field) and [`Field::choices`].
impl FormField for Vec<String> {
    const KIND: FieldKind = FieldKind::Many;

    fn field() -> Field {
        Field::many_of(Vec::<Choice>::new())
    }

    fn from_value(value: &Value) -> Option<Self> {
        let values = value.as_array()?.iter();
        values.map(|it| it.as_str().map(str::to_owned)).collect()
    }

    fn to_value(&self) -> Value {
        self.iter().map(String::as_str).collect()
    }
}

// --- Support for derived forms: functions that read fields, and rules that are checked when the author's crate is
// compiled.

/// The kind of literal used to write a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `"…"`
    Text,
    /// `1` or `1.5`
    Number,
    /// `true` or `false`
    Boolean,
    /// `["…"]`
    List,
}

/// One field of a derived form. Only the [`field`] function has a bound on the type.
#[derive(Debug)]
pub struct FieldMeta<T> {
    /// The kind of field.
    pub kind: FieldKind,
    optional: bool,
    field: fn() -> Field,
    from_value: fn(&Value) -> Option<T>,
    to_value: fn(&T) -> Value,
    absent: fn() -> Option<T>,
}

/// Returns the description of a field.
#[must_use]
pub const fn field<T: FormField>() -> FieldMeta<T> {
    FieldMeta {
        kind: T::KIND,
        optional: T::OPTIONAL,
        field: T::field,
        from_value: T::from_value,
        to_value: T::to_value,
        absent: T::absent,
    }
}

impl<T> FieldMeta<T> {
    /// Adds the field to a form. The field's type determines whether the field is optional.
    #[must_use]
    pub fn add(&self, form: Form, name: &str, describe: fn(Field) -> Field) -> Form {
        let field = describe((self.field)());
        if self.optional {
            form.optional(name, field)
        } else {
            form.field(name, field)
        }
    }

    /// Reads the value of the field from an answer that is valid for the form.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is missing or out of the type's range.
    pub fn take(&self, answer: &Meta, name: &str) -> Result<T, String> {
        match answer.get(name) {
            Some(value) => {
                (self.from_value)(value).ok_or_else(|| format!("`{name}` is out of range"))
            }
            None => (self.absent)().ok_or_else(|| format!("`{name}` is missing")),
        }
    }

    /// Returns a value of the field as JSON.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an expansion then has the author's expression as it is, whatever its precedence"
    )]
    pub fn to_json(&self, value: T) -> Value {
        (self.to_value)(&value)
    }

    /// Writes the value of the field, if any, into an answer.
    #[must_use]
    pub fn put(&self, mut answer: Meta, name: &str, value: &T) -> Meta {
        let value = (self.to_value)(value);
        if !value.is_null() {
            answer.insert(name.to_owned(), value);
        }
        answer
    }
}

/// Panics at the caller's location if a range does not apply to this kind of field.
#[track_caller]
pub const fn check_range(kind: FieldKind) {
    assert!(
        matches!(kind, FieldKind::Integer | FieldKind::Number),
        "`range` applies to numbers; for strings and lists use `length`"
    );
}

/// Panics at the caller's location if the range of this kind of field cannot exclude an end.
#[track_caller]
pub const fn check_excluded_end(kind: FieldKind) {
    assert!(
        !matches!(kind, FieldKind::Number),
        "the protocol's forms cannot exclude the end of a decimal range; write `range(0.0..=1.0)`"
    );
}

/// Panics at the caller's location if a length does not apply to this kind of field.
#[track_caller]
pub const fn check_length(kind: FieldKind) {
    assert!(
        matches!(kind, FieldKind::Text | FieldKind::Many),
        "`length` applies to strings and lists; for numbers use `range`"
    );
}

/// Panics at the caller's location if a format does not apply to this kind of field.
#[track_caller]
pub const fn check_format(kind: FieldKind) {
    assert!(
        matches!(kind, FieldKind::Text),
        "`format` applies to strings; remove it"
    );
}

/// Panics at the caller's location if this kind of default is not allowed for this kind of field.
#[track_caller]
pub const fn check_default(kind: FieldKind, literal: Literal) {
    match (kind, literal) {
        (FieldKind::Text | FieldKind::One, Literal::Text)
        | (FieldKind::Integer | FieldKind::Number, Literal::Number)
        | (FieldKind::Boolean, Literal::Boolean)
        | (FieldKind::Many, Literal::List) => {}
        (FieldKind::Text, _) => panic!("the default of a string field must be a string"),
        (FieldKind::Integer | FieldKind::Number, _) => {
            panic!("the default of a number field must be a number")
        }
        (FieldKind::Boolean, _) => {
            panic!("the default of a boolean field must be `true` or `false`")
        }
        (FieldKind::One, _) => {
            panic!("the default of a choice must be one of its values, as a string")
        }
        (FieldKind::Many, _) => {
            panic!("the default of a list must be a list of its values, as strings: `[\"…\"]`")
        }
    }
}

// --- Validates answers against their forms.
//
// Compensates for clients that do not validate answers themselves by parsing numbers sent as strings, filling in
// defaults, and removing members that are not fields of the form.

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
        FieldInput::Number {
            integer, min, max, ..
        } => {
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
            check_answer_length(length, *min, *max, "characters")?;
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
            check_answer_length(count, *min, *max, "choices")?;
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
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    match number.as_f64() {
        Some(size) if number.is_f64() && size.fract() == 0.0 && size.abs() < MAX_EXACT_INTEGER =>
        {
            #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
            Some(Number::from(size as i64))
        }
        Some(_) => Some(number),
        None => None,
    }
}

fn check_answer_length(
    length: u64,
    min: Option<u64>,
    max: Option<u64>,
    what: &str,
) -> Result<(), String> {
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

    use crate::context::form::*;

    fn check(form: &Form, answer: Value) -> Result<Value, String> {
        let Value::Object(answer) = answer else {
            panic!("an answer is an object")
        };
        check_answer(form, answer).map(Value::Object)
    }

    #[test]
    fn an_answer_gets_defaults_and_loses_unknown_fields() {
        let form = Form::new()
            .field("name", Field::text().length(1..=5))
            .field("days", Field::integer().range(1..=14).default(3))
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
    fn form_integers_are_bounded_by_their_type() {
        let form = Form::new().field("n", u8::field());
        assert!(check(&form, json!({"n": 256})).is_err());
        assert_eq!(u8::from_value(&json!(255)), Some(255));
        assert_eq!(u64::from_value(&json!(u64::MAX)), Some(u64::MAX));
        let form = Form::new().field("n", u64::field());
        assert!(check(&form, json!({"n": -1})).is_err());
    }
}
