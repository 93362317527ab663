//! Forms defined by types.
//!
//! The `answer` module validates answers.

mod answer;

use serde_json::Value;

pub(crate) use answer::check_answer;

use crate::types::{Choice, Field, Form, Meta};

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

/// The type of a form field: `String`, numbers, `bool`, enums that derive [`Elicit`](macro@crate::Elicit), `Vec`s of
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

/// A choice among several values: an enum that derives [`Elicit`](macro@crate::Elicit) and whose variants do not
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
                #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "64-bit bounds are not converted")]
                match size_of::<$type>() {
                    // Not every JSON parser represents the bounds of 64-bit integers exactly.
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

/// A list whose choices are set at run time, with [`Ask::field`](crate::elicit::Ask::field) and [`Field::choices`].
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
