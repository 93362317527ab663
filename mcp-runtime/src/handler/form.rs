//! What the derive of forms calls: reading fields, and rules that are checked while the author's crate is compiled.

use serde_json::Value;

use crate::context::{FieldKind, FormField};
use crate::types::{Field, Form, Meta};

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
    to_value: fn(&T) -> Value,
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
        to_value: T::to_value,
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

    /// Fills in the value of the field, if there is one.
    #[must_use]
    pub fn put(&self, mut answer: Meta, name: &str, value: &T) -> Meta {
        let value = (self.to_value)(value);
        if !value.is_null() {
            answer.insert(name.to_owned(), value);
        }
        answer
    }
}

/// What is wrong with a range on this kind of field; empty if nothing is.
#[must_use]
pub const fn range_problem(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Number => "",
        _ => "`range` applies to numbers; for text and lists use `length`",
    }
}

/// What is wrong with a length on this kind of field; empty if nothing is.
#[must_use]
pub const fn length_problem(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text | FieldKind::Many => "",
        _ => "`length` applies to text and lists; for numbers use `range`",
    }
}

/// What is wrong with a format on this kind of field; empty if nothing is.
#[must_use]
pub const fn format_problem(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text => "",
        _ => "`format` applies to text",
    }
}

/// What is wrong with a default of this kind of field; empty if nothing is.
#[must_use]
pub const fn default_problem(kind: FieldKind, literal: Literal) -> &'static str {
    match (kind, literal) {
        (FieldKind::Text | FieldKind::One, Literal::Text)
        | (FieldKind::Number, Literal::Number)
        | (FieldKind::Boolean, Literal::Boolean) => "",
        (FieldKind::Text, _) => "the default of text is text",
        (FieldKind::Number, _) => "the default of a number is a number",
        (FieldKind::Boolean, _) => "the default is `true` or `false`",
        (FieldKind::One, _) => "the default of a choice is its value, as text",
        (FieldKind::Many, _) => "a list has no default",
    }
}
