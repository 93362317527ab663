//! Flat forms for users to fill in, with fields for strings, numbers, booleans and choices.
//!
//! The types are independent of the protocol version; [`input`](crate::input) decides which parts of a form are sent in
//! each version.
//!
//! Specification: 2026-07-28, client/elicitation, "Requested Schema".

use std::ops::{Bound, RangeBounds};

use serde_json::Value;

use crate::types::FieldFormat;

/// A form for a user to fill in: an ordered list of fields. Each field has a name, which identifies the field's value
/// in the answer.
///
/// Usually derived from a struct with `Elicit`. Build a form by hand if its fields are known only at run time. The methods
/// of a [`Field`] have the names of the options in `#[arg(…)]`.
///
/// ```
/// # extern crate mcp_runtime_protocol as mcp_runtime;
/// use mcp_runtime::types::{Field, Form};
///
/// let form = Form::new()
///     .field("city", Field::text().title("City").length(1..=80))
///     .field("days", Field::integer().range(1..=14).default(3))
///     .optional("units", Field::one_of([("c", "Celsius"), ("f", "Fahrenheit")]));
/// ```
///
/// A form must not ask for secrets such as passwords, keys, tokens or payment details. To obtain such data, send the
/// user to a URL instead.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Form {
    pub(crate) fields: Vec<(String, Field)>,
}

// Used by `mcp-runtime` to check answers against a form.
#[doc(hidden)]
impl Form {
    /// Returns the fields with their names.
    #[must_use]
    pub fn fields(&self) -> &[(String, Field)] {
        &self.fields
    }

    /// Changes the field with this name. Returns `false` if there is no such field.
    pub fn change_field(&mut self, name: &str, change: impl FnOnce(Field) -> Field) -> bool {
        let field = self.fields.iter_mut().find(|(other, _)| other == name);
        field.is_some_and(|(_, field)| {
            *field = change(field.clone());
            true
        })
    }
}

#[doc(hidden)]
impl Field {
    /// Returns `true` if an answer must contain the field.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Returns the default value.
    #[must_use]
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Returns the kind of input.
    #[must_use]
    pub fn input(&self) -> &FieldInput {
        &self.input
    }
}

impl Form {
    /// Creates a form without fields, which only asks for the user's consent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field, which is required unless it has a default. Replaces any earlier field with the same name.
    #[must_use]
    pub fn field(self, name: impl Into<String>, field: Field) -> Self {
        let required = field.default.is_none();
        self.push(name.into(), Field { required, ..field })
    }

    /// Adds an optional field. Replaces any earlier field with the same name.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, field: Field) -> Self {
        self.push(
            name.into(),
            Field {
                required: false,
                ..field
            },
        )
    }

    fn push(mut self, name: String, field: Field) -> Self {
        self.fields.retain(|(other, _)| *other != name);
        self.fields.push((name, field));
        self
    }
}

/// A field in a [`Form`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) input: FieldInput,
}

/// The kind of input that a field accepts.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum FieldInput {
    /// A string.
    Text {
        /// The minimum number of characters.
        min: Option<u64>,
        /// The maximum number of characters.
        max: Option<u64>,
        /// The required format, if any.
        format: Option<FieldFormat>,
    },
    /// A number.
    Number {
        /// `true` if the number must be an integer.
        integer: bool,
        /// The minimum value.
        min: Option<f64>,
        /// The maximum value.
        max: Option<f64>,
        /// `true` if the range excludes the end of decimal numbers, which a form cannot express.
        excludes_decimal: bool,
    },
    /// A boolean.
    Boolean,
    /// One of several choices.
    One {
        /// The choices, in order.
        choices: Vec<Choice>,
        /// `true` if titles are sent as `enumNames` in every protocol version.
        names: bool,
    },
    /// Any number of choices.
    Many {
        /// The choices, in order.
        choices: Vec<Choice>,
        /// The minimum number of choices.
        min: Option<u64>,
        /// The maximum number of choices.
        max: Option<u64>,
    },
}

/// A choice offered by a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    pub(crate) value: String,
    pub(crate) title: Option<String>,
}

#[doc(hidden)]
impl Choice {
    /// Returns the value that an answer contains.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the title, if there is one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the title, or the value if there is no title.
    #[must_use]
    pub fn title_or_value(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

impl From<&str> for Choice {
    fn from(value: &str) -> Self {
        Self {
            value: value.to_owned(),
            title: None,
        }
    }
}

impl From<String> for Choice {
    fn from(value: String) -> Self {
        Self { value, title: None }
    }
}

impl<V: Into<String>, T: Into<String>> From<(V, T)> for Choice {
    fn from((value, title): (V, T)) -> Self {
        Self {
            value: value.into(),
            title: Some(title.into()),
        }
    }
}

/// Returns the end of a range. `beside` returns the whole number beside an end that the range excludes.
fn inclusive<N: Into<Value> + Clone>(end: Bound<&N>, beside: fn(f64) -> f64) -> Option<f64> {
    let read = |end: &N| end.clone().into().as_f64();
    match end {
        Bound::Included(end) => read(end),
        Bound::Excluded(end) => read(end).map(beside),
        Bound::Unbounded => None,
    }
}

fn whole_above(end: f64) -> f64 {
    end.floor() + 1.0
}

fn whole_below(end: f64) -> f64 {
    end.ceil() - 1.0
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length is far below 2^53, and a negative one becomes 0"
)]
fn to_length(end: f64) -> u64 {
    end as u64
}

impl Field {
    fn new(input: FieldInput) -> Self {
        Self {
            title: None,
            description: None,
            required: true,
            default: None,
            input,
        }
    }

    /// Creates a string field.
    #[must_use]
    pub fn text() -> Self {
        Self::new(FieldInput::Text {
            min: None,
            max: None,
            format: None,
        })
    }

    /// Creates a number field.
    #[must_use]
    pub fn number() -> Self {
        Self::new(FieldInput::Number {
            integer: false,
            min: None,
            max: None,
            excludes_decimal: false,
        })
    }

    /// Creates an integer field.
    #[must_use]
    pub fn integer() -> Self {
        Self::new(FieldInput::Number {
            integer: true,
            min: None,
            max: None,
            excludes_decimal: false,
        })
    }

    /// Creates a boolean field.
    #[must_use]
    pub fn boolean() -> Self {
        Self::new(FieldInput::Boolean)
    }

    /// Creates a field that accepts exactly one of several choices. Each choice is a value or a pair of a value and a
    /// display title.
    #[must_use]
    pub fn one_of<C: Into<Choice>>(choices: impl IntoIterator<Item = C>) -> Self {
        Self::new(FieldInput::One {
            choices: choices.into_iter().map(Into::into).collect(),
            names: false,
        })
    }

    /// Creates a field that accepts any number of choices. Each choice is a value or a pair of a value and a display
    /// title.
    ///
    /// Revision 2025-06-18 does not support such fields. Clients of that revision receive a string field whose
    /// description lists the choices, and the answer is split at commas.
    #[must_use]
    pub fn many_of<C: Into<Choice>>(choices: impl IntoIterator<Item = C>) -> Self {
        Self::new(FieldInput::Many {
            choices: choices.into_iter().map(Into::into).collect(),
            min: None,
            max: None,
        })
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description, which tells the user what to enter.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the default value and makes the field optional. Defaults for booleans are sent to all clients; other
    /// defaults are sent only to clients of revision 2025-11-25 or later.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into()).filter(|value| !value.is_null());
        self.required = false;
        self
    }

    /// Sets the allowed numbers for a number field: `1..=14`, `0.5..` or `..10`. Has no effect on other kinds of fields.
    ///
    /// A form cannot exclude the end of a range of decimal numbers. A question with such a field fails before it is sent.
    #[must_use]
    pub fn range<N: Into<Value> + Clone>(mut self, range: impl RangeBounds<N>) -> Self {
        if let FieldInput::Number {
            integer,
            min,
            max,
            excludes_decimal,
        } = &mut self.input
        {
            let (start, end) = (range.start_bound(), range.end_bound());
            let excludes = matches!(start, Bound::Excluded(_)) || matches!(end, Bound::Excluded(_));
            *excludes_decimal = excludes && !*integer;
            *min = inclusive(start, whole_above);
            *max = inclusive(end, whole_below);
        }
        self
    }

    /// Sets the allowed number of characters for a string field, or of choices for a [`many_of`](Self::many_of) field:
    /// `1..=80`, `..=500`, or `5..=5` for exactly five. Has no effect on other kinds of fields.
    #[must_use]
    pub fn length<N: Into<Value> + Clone>(mut self, range: impl RangeBounds<N>) -> Self {
        let (FieldInput::Text {
            min: lower,
            max: upper,
            ..
        }
        | FieldInput::Many {
            min: lower,
            max: upper,
            ..
        }) = &mut self.input
        else {
            return self;
        };
        *lower = inclusive(range.start_bound(), whole_above).map(to_length);
        *upper = inclusive(range.end_bound(), whole_below).map(to_length);
        self
    }

    /// Keeps only the choices whose value meets a condition, with their titles. Has no effect on fields without choices.
    #[must_use]
    pub fn keep_choices(mut self, keep: impl Fn(&str) -> bool) -> Self {
        if let FieldInput::One { choices, .. } | FieldInput::Many { choices, .. } = &mut self.input
        {
            choices.retain(|choice| keep(&choice.value));
        }
        self
    }

    /// Sets the choices that the field accepts. Each choice is a value or a pair of a value and a display title. A string field becomes a [`one_of`](Self::one_of) field. Has no effect on
    /// numbers and booleans.
    #[must_use]
    pub fn choices<C: Into<Choice>>(mut self, offered: impl IntoIterator<Item = C>) -> Self {
        let offered = offered.into_iter().map(Into::into).collect();
        match &mut self.input {
            FieldInput::One { choices, .. } | FieldInput::Many { choices, .. } => {
                *choices = offered;
            }
            FieldInput::Text { .. } => {
                self.input = FieldInput::One {
                    choices: offered,
                    names: false,
                }
            }
            FieldInput::Number { .. } | FieldInput::Boolean => {}
        }
        self
    }

    /// Sets the format for a string field. Has no effect on other kinds of fields.
    #[must_use]
    pub fn format(mut self, looks: FieldFormat) -> Self {
        if let FieldInput::Text { format, .. } = &mut self.input {
            *format = Some(looks);
        }
        self
    }

    /// Sends choice titles as `enumNames` to every client, as in revision 2025-06-18. Use this for clients that support
    /// only `enumNames`.
    #[must_use]
    pub fn enum_names(mut self) -> Self {
        if let FieldInput::One { names, .. } = &mut self.input {
            *names = true;
        }
        self
    }
}
