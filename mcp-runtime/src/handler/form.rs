//! Support for derived forms: functions that read fields, and rules that are checked when the author's crate is
//! compiled.

#![expect(
    clippy::missing_panics_doc,
    reason = "checks panic only while the author's crate is being compiled"
)]

use serde_json::Value;

use crate::context::{FieldKind, FormField};
use crate::types::{Field, Form, Meta};

/// The kind of literal used to write a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `"…"`
    Text,
    /// `1` or `1.5`
    Number,
    /// `true` or `false`
    Boolean,
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
        matches!(kind, FieldKind::Number),
        "`range` applies to numbers; for strings and lists use `length`"
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
        "`format` applies to strings"
    );
}

/// Panics at the caller's location if this kind of default is not allowed for this kind of field.
#[track_caller]
pub const fn check_default(kind: FieldKind, literal: Literal) {
    match (kind, literal) {
        (FieldKind::Text | FieldKind::One, Literal::Text)
        | (FieldKind::Number, Literal::Number)
        | (FieldKind::Boolean, Literal::Boolean) => {}
        (FieldKind::Text, _) => panic!("the default of a string field must be a string"),
        (FieldKind::Number, _) => panic!("the default of a number field must be a number"),
        (FieldKind::Boolean, _) => {
            panic!("the default of a boolean field must be `true` or `false`")
        }
        (FieldKind::One, _) => {
            panic!("the default of a choice must be one of its values, as a string")
        }
        (FieldKind::Many, _) => panic!("a list cannot have a default"),
    }
}
