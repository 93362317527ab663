//! Collects the problems found by a check and selects the problems to report if a value does not match any branch of a
//! choice.

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
    pointer: String,
    cause: FaultCause,
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
        let mut about = FaultSubject::Value;
        let message = match self.cause {
            FaultCause::Other(message, what) => {
                about = what;
                message
            }
            FaultCause::Type(expected) => {
                format!(
                    "expected {}, received {}",
                    join_with_or(&expected),
                    self.received
                )
            }
            FaultCause::Value { allowed, text } => {
                unknown_value_message(&allowed, text.as_deref(), &self.received)
            }
        };
        Fault {
            pointer: self.pointer,
            message,
            about,
        }
    }
}

/// Explains why a value does not match any branch. Lists the types or values that the branches allow, or the problems
/// found in the closest branch.
pub(super) fn explain_choice(
    mut failed: Vec<Vec<UnwordedFault>>,
    path: &ValuePath<'_>,
    value: &Value,
    found: &mut Vec<UnwordedFault>,
) {
    let pointer = path.pointer();
    // A `null` branch means only that the value is optional.
    if failed.len() > 1 {
        failed.retain(|wrong| !matches!(wrong.as_slice(), [UnwordedFault { cause: FaultCause::Type(names), .. }] if names.iter().all(|name| name == "null")));
    }
    let wrong_type = |wrong: &[UnwordedFault]| matches!(wrong, [UnwordedFault { cause: FaultCause::Type(_), pointer: at, .. }] if *at == pointer);
    if failed.iter().all(|wrong| wrong_type(wrong)) {
        let mut names: Vec<String> = Vec::new();
        for cause in failed.into_iter().flatten().map(|found| found.cause) {
            if let FaultCause::Type(more) = cause {
                for name in more {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        push_fault(found, path, FaultCause::Type(names), value);
        return;
    }
    failed.retain(|wrong| !wrong_type(wrong));
    // If every branch rejects a value at the same pointer, that value is the tag of a tagged union, so all allowed tags
    // are listed.
    let tag = |wrong: &[UnwordedFault]| {
        wrong.iter().find_map(|found| {
            matches!(found.cause, FaultCause::Value { .. }).then(|| found.pointer.clone())
        })
    };
    let first_tag = failed.first().and_then(|wrong| tag(wrong));
    if failed.len() > 1 && first_tag.is_some() && failed.iter().all(|wrong| tag(wrong) == first_tag)
    {
        let mut merged: Option<UnwordedFault> = None;
        for item in failed.into_iter().flatten() {
            if Some(&item.pointer) != first_tag.as_ref() {
                continue;
            }
            match (&mut merged, item) {
                (
                    Some(UnwordedFault {
                        cause: FaultCause::Value { allowed, .. },
                        ..
                    }),
                    UnwordedFault {
                        cause: FaultCause::Value { allowed: more, .. },
                        ..
                    },
                ) => allowed.extend(more),
                (
                    none @ None,
                    item @ UnwordedFault {
                        cause: FaultCause::Value { .. },
                        ..
                    },
                ) => *none = Some(item),
                _ => {}
            }
        }
        found.extend(merged);
        return;
    }
    // Otherwise, prefer branches whose tag matches, and of these, the branch with the fewest problems.
    let forms = failed.len();
    let best = failed
        .into_iter()
        .min_by_key(|wrong| (tag(wrong).is_some(), wrong.len()));
    for mut item in best.into_iter().flatten() {
        if forms > 1
            && item.pointer == pointer
            && let FaultCause::Other(message, _) = &mut item.cause
        {
            let _ = write!(message, " (in the closest of {forms} allowed forms)");
        }
        if found.len() < FAULTS {
            found.push(item);
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
