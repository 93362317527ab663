//! Forms for users to fill in: flat, with fields that hold strings, numbers, booleans or choices.
//!
//! The types are neutral; [`input`](crate::input) decides which parts of a form each protocol version sees.
//!
//! Specification: 2026-07-28, client/elicitation, "Requested Schema".

use serde_json::Value;

use crate::types::Format;

/// A form for a user to fill in: fields in order, each under the name that it has in the answer.
///
/// Usually derived from a struct with `Elicit`; built by hand if the fields are known only at run
/// time.
///
/// ```
/// # extern crate mcp_runtime_protocol as mcp_runtime;
/// use mcp_runtime::types::{Field, Form};
///
/// let form = Form::new()
///     .field("city", Field::text().title("City").length(1, 80))
///     .field("days", Field::integer().range(1.0, 14.0).default(3))
///     .optional("units", Field::one_of([("c", "Celsius"), ("f", "Fahrenheit")]));
/// ```
///
/// A form must not ask for secrets: no passwords, keys, tokens or payment details. Send the user to a URL for these.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Form {
    #[doc(hidden)]
    pub fields: Vec<(String, Field)>,
}

impl Form {
    /// Creates a form without fields, which asks only for consent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field, required unless it has a default. It replaces an earlier field of the same name.
    #[must_use]
    pub fn field(self, name: impl Into<String>, field: Field) -> Self {
        let required = field.default.is_none();
        self.push(name.into(), Field { required, ..field })
    }

    /// Adds an optional field. It replaces an earlier field of the same name.
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

/// One field of a [`Form`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    #[doc(hidden)]
    pub title: Option<String>,
    #[doc(hidden)]
    pub description: Option<String>,
    #[doc(hidden)]
    pub required: bool,
    #[doc(hidden)]
    pub default: Option<Value>,
    #[doc(hidden)]
    pub input: FieldInput,
}

/// The kind of input that a field takes.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum FieldInput {
    /// A string.
    Text {
        /// Minimum number of characters.
        min: Option<u64>,
        /// Maximum number of characters.
        max: Option<u64>,
        /// The format, if it must have one.
        format: Option<Format>,
    },
    /// A number.
    Number {
        /// `true` if it must be an integer.
        integer: bool,
        /// Minimum.
        min: Option<f64>,
        /// Maximum.
        max: Option<f64>,
    },
    /// Yes or no.
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
        /// Minimum number of choices.
        min: Option<u64>,
        /// Maximum number of choices.
        max: Option<u64>,
    },
}

/// One of the choices of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    #[doc(hidden)]
    pub value: String,
    #[doc(hidden)]
    pub title: Option<String>,
}

#[doc(hidden)]
impl Choice {
    /// Returns the title; the value if there is none.
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
        })
    }

    /// Creates an integer field.
    #[must_use]
    pub fn integer() -> Self {
        Self::new(FieldInput::Number {
            integer: true,
            min: None,
            max: None,
        })
    }

    /// Creates a boolean field.
    #[must_use]
    pub fn boolean() -> Self {
        Self::new(FieldInput::Boolean)
    }

    /// Creates a field for one of several choices: values, or pairs of a value and a display title.
    #[must_use]
    pub fn one_of<C: Into<Choice>>(choices: impl IntoIterator<Item = C>) -> Self {
        Self::new(FieldInput::One {
            choices: choices.into_iter().map(Into::into).collect(),
            names: false,
        })
    }

    /// Creates a field for any number of choices: values, or pairs of a value and a display title.
    ///
    /// Clients of 2025-06-18 do not have such a field: they receive a string field whose description lists the choices, and
    /// the answer is split at commas.
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

    /// Sets the description: what to fill in.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the default value, and makes the field optional. Booleans' defaults are sent to all clients, others to clients
    /// of 2025-11-25 and later.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self.required = false;
        self
    }

    /// Sets the smallest and the largest number; an infinity means no bound. Has no effect on other fields.
    #[must_use]
    pub fn range(mut self, min: f64, max: f64) -> Self {
        if let FieldInput::Number {
            min: lower,
            max: upper,
            ..
        } = &mut self.input
        {
            *lower = Some(min).filter(|min| min.is_finite());
            *upper = Some(max).filter(|max| max.is_finite());
        }
        self
    }

    /// Sets the smallest and the largest number of characters of a string, or of choices made. Has no effect on other
    /// fields.
    #[must_use]
    pub fn length(mut self, min: impl Into<Option<u64>>, max: impl Into<Option<u64>>) -> Self {
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
        *lower = min.into();
        *upper = max.into();
        self
    }

    /// Sets the format of a string. Has no effect on other fields.
    #[must_use]
    pub fn format(mut self, looks: Format) -> Self {
        if let FieldInput::Text { format, .. } = &mut self.input {
            *format = Some(looks);
        }
        self
    }

    /// Sends the titles of choices as `enumNames`, as in 2025-06-18, to every client: for clients that support only these.
    #[must_use]
    pub fn enum_names(mut self) -> Self {
        if let FieldInput::One { names, .. } = &mut self.input {
            *names = true;
        }
        self
    }
}
