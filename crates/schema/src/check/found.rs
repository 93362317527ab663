//! Collects the problems found by a check.

use std::fmt::Write as _;

use serde_json::Value;

use super::bounds::FAULTS;
use crate::explain::{Fault, FaultSubject, join_with_or, push_token, quote, unknown_value_message};

/// The position of a value, as a linked list on the stack. The list is converted to a JSON pointer only if there is a
/// problem to report.
pub(super) enum ValuePath<'a> {
    Root,
    /// The root of an argument object. Messages refer to its properties as arguments.
    Arguments,
    Key(&'a ValuePath<'a>, &'a str),
    Index(&'a ValuePath<'a>, usize),
}

impl ValuePath<'_> {
    pub(super) fn pointer(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Returns the noun that messages use for a property of this value.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Arguments => "argument",
            _ => "property",
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root | Self::Arguments => {}
            Self::Key(parent, key) => {
                parent.write(out);
                push_token(out, key);
            }
            Self::Index(parent, index) => {
                parent.write(out);
                let _ = write!(out, "/{index}");
            }
        }
    }
}

/// A problem without its message, so that the branches of a choice can be compared and merged.
pub(super) struct UnwordedFault {
    pub(super) pointer: String,
    pub(super) cause: FaultCause,
    received: String,
}

pub(super) enum FaultCause {
    /// The value does not have any of these types.
    Type(Vec<String>),
    /// The value is not one of `allowed`; `text` is the received value if it is a string.
    Value {
        allowed: Vec<Value>,
        text: Option<String>,
    },
    /// Any other problem, with its message.
    Other(String, FaultSubject),
}

impl UnwordedFault {
    pub(super) fn into_fault(self) -> Fault {
        let (message, about) = match self.cause {
            FaultCause::Other(message, about) => (message, about),
            FaultCause::Type(expected) => {
                let message = format!(
                    "expected {}, received {}",
                    join_with_or(&expected),
                    self.received
                );
                (message, FaultSubject::Type(expected))
            }
            FaultCause::Value { allowed, text } => {
                let message = unknown_value_message(&allowed, text.as_deref(), &self.received);
                (message, FaultSubject::Unlisted)
            }
        };
        Fault {
            pointer: self.pointer,
            message,
            about,
        }
    }
}

pub(super) fn push_fault(
    found: &mut Vec<UnwordedFault>,
    path: &ValuePath<'_>,
    cause: FaultCause,
    value: &Value,
) {
    if found.len() < FAULTS {
        found.push(UnwordedFault {
            pointer: path.pointer(),
            cause,
            received: quote(value),
        });
    }
}

pub(super) fn push_message(found: &mut Vec<UnwordedFault>, path: &ValuePath<'_>, message: String) {
    push_fault(
        found,
        path,
        FaultCause::Other(message, FaultSubject::Value),
        &Value::Null,
    );
}

/// Records that a property is missing or unknown.
pub(super) fn push_property_fault(
    found: &mut Vec<UnwordedFault>,
    path: &ValuePath<'_>,
    message: String,
    about: FaultSubject,
) {
    push_fault(found, path, FaultCause::Other(message, about), &Value::Null);
}
