//! What the derive of forms calls: reading fields, and rules that are checked while the author's crate is compiled.

use serde_json::Value;

use crate::context::{FieldKind, FormField};
use crate::types::{Field, Form, Format, Meta};

/// A default, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `"…"`
    Text,
    /// `1` or `1.5`
    Number,
    /// `true` or `false`
    Boolean,
}

/// One field of a derived form. The type's bound is mentioned once, in [`field`].
#[derive(Debug)]
pub struct FieldMeta<T> {
    /// What kind of field it is.
    pub kind: FieldKind,
    optional: bool,
    field: fn() -> Field,
    from_value: fn(&Value) -> Option<T>,
    absent: fn() -> Option<T>,
}

/// Describes a field.
#[must_use]
pub const fn field<T: FormField>() -> FieldMeta<T> {
    FieldMeta {
        kind: T::KIND,
        optional: T::OPTIONAL,
        field: T::field,
        from_value: T::from_value,
        absent: T::absent,
    }
}

impl<T> FieldMeta<T> {
    /// Puts the field into a form, optional as its type says.
    #[must_use]
    pub fn add(&self, form: Form, name: &str, describe: fn(Field) -> Field) -> Form {
        let field = describe((self.field)());
        if self.optional {
            form.optional(name, field)
        } else {
            form.field(name, field)
        }
    }

    /// Takes the value of the field from an answer that fits the form.
    ///
    /// # Errors
    ///
    /// That it is missing, or not what the type takes.
    pub fn take(&self, answer: &Meta, name: &str) -> Result<T, String> {
        match answer.get(name) {
            Some(value) => {
                (self.from_value)(value).ok_or_else(|| format!("`{name}` is out of range"))
            }
            None => (self.absent)().ok_or_else(|| format!("`{name}` is missing")),
        }
    }
}

/// The format of this name.
///
/// # Panics
///
/// If there is none: while the author's crate is compiled.
#[must_use]
pub const fn format(name: &str) -> Format {
    match name.as_bytes() {
        b"email" => Format::Email,
        b"uri" => Format::Uri,
        b"date" => Format::Date,
        b"date-time" => Format::DateTime,
        _ => panic!("a form knows the formats `email`, `uri`, `date` and `date-time`"),
    }
}

/// Whether the kind of field has a range.
///
/// # Panics
///
/// If not: while the author's crate is compiled.
pub const fn check_range(kind: FieldKind) {
    assert!(
        matches!(kind, FieldKind::Number),
        "`range` applies to numbers; for text and lists use `length`"
    );
}

/// Whether the kind of field has a length.
///
/// # Panics
///
/// If not: while the author's crate is compiled.
pub const fn check_length(kind: FieldKind) {
    assert!(
        matches!(kind, FieldKind::Text | FieldKind::Many),
        "`length` applies to text and lists; for numbers use `range`"
    );
}

/// Whether the kind of field has a format.
///
/// # Panics
///
/// If not: while the author's crate is compiled.
pub const fn check_format(kind: FieldKind) {
    assert!(matches!(kind, FieldKind::Text), "`format` applies to text");
}

/// Whether the default can be one of this kind of field.
///
/// # Panics
///
/// If not: while the author's crate is compiled.
pub const fn check_default(kind: FieldKind, literal: Literal) {
    match kind {
        FieldKind::Text => assert!(
            matches!(literal, Literal::Text),
            "the default of text is text"
        ),
        FieldKind::Number => assert!(
            matches!(literal, Literal::Number),
            "the default of a number is a number"
        ),
        FieldKind::Boolean => assert!(
            matches!(literal, Literal::Boolean),
            "the default is `true` or `false`"
        ),
        FieldKind::One => assert!(
            matches!(literal, Literal::Text),
            "the default of a choice is its value, as text"
        ),
        FieldKind::Many => panic!("a list has no default"),
    }
}
