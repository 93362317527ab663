//! Forms as types.
//!
//! Whether an answer fits its form is decided in `answer`.

mod answer;
mod format;

use serde_json::Value;

pub(crate) use answer::check_answer;

use crate::types::{Choice, Field, Form, Meta};

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
