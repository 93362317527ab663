//! Finds the values that a Rust type refuses although they match its schema, such as those of `#[serde(try_from = …)]`.
//!
//! Serde stops at the first such value. The others are found by decoding the arguments again without it.

use std::any::Any;
use std::fmt::Write as _;

use mcp_schema::explain::{Fault, FaultSubject, quote};
use mcp_schema::format;
use serde_json::{Error, Value};

use super::pointer::pointer_at;
use super::serde_message;

/// Maximum number of refused values in one parameter, because each of them costs another run of the decoder.
const REFUSED: usize = 20;

/// A member name that sorts after all others and that no type has.
const LAST: &str = "\u{10ffff}";

/// A value that could not be decoded.
pub(super) struct RefusedValue<'a> {
    /// Decodes a value into the slot.
    pub(super) read: fn(&mut dyn Any, &str) -> serde_json::Result<usize>,
    /// The pointer to the value.
    pub(super) pointer: String,
    /// The value as it was received.
    pub(super) raw: &'a str,
    pub(super) value: &'a Value,
    pub(super) schema: &'a Value,
    pub(super) error: &'a Error,
}

impl RefusedValue<'_> {
    /// Returns an error for each value that the type refuses, except for those that `known` errors are about. If there
    /// are no known errors, there is at least one.
    pub(super) fn faults(&self, slot: &mut dyn Any, known: &[Fault]) -> Vec<Fault> {
        let mut found = Vec::new();
        let mut rest = self.value.clone();
        let is_known = |pointer: &str| {
            known.iter().any(|fault| match fault.about {
                FaultSubject::Value => {
                    is_inside(pointer, &fault.pointer) || is_inside(&fault.pointer, pointer)
                }
                _ => fault.pointer == pointer,
            })
        };
        for _ in 0..REFUSED {
            let Err(error) = (self.read)(slot, &rest.to_string()) else {
                break;
            };
            let inner = self.locate(slot, &rest, &error);
            let pointer = format!("{}{inner}", self.pointer);
            if !is_about_members(&error)
                && !inner.is_empty()
                && !is_known(&pointer)
                && let Some(received) = rest.pointer(&inner)
            {
                found.push(self.fault(&inner, received, &error));
            }
            if !remove_member(&mut rest, &inner) {
                break;
            }
        }
        if found.is_empty() && known.is_empty() {
            let inner = pointer_at(self.raw, self.error.line(), self.error.column());
            found.push(match self.value.pointer(&inner) {
                Some(received) => self.fault(&inner, received, self.error),
                None => self.fault("", self.value, self.error),
            });
        }
        found
    }

    /// Returns the pointer to the refused value in `rest`.
    ///
    /// If it is the last member of its object, serde's position is the end of the object. It is the member itself if
    /// another one follows.
    fn locate(&self, slot: &mut dyn Any, rest: &Value, error: &Error) -> String {
        let inner = pointer_at(&rest.to_string(), error.line(), error.column());
        if is_about_members(error) {
            return inner;
        }
        let mut longer = rest.clone();
        if let Some(Value::Object(members)) = longer.pointer_mut(&inner) {
            members.insert(LAST.to_owned(), Value::Null);
            let text = longer.to_string();
            if let Err(other) = (self.read)(slot, &text)
                && serde_message(&other) == serde_message(error)
            {
                let exact = pointer_at(&text, other.line(), other.column());
                if rest.pointer(&exact).is_some() {
                    return exact;
                }
            }
        }
        inner
    }

    /// Returns the error for a value inside this one.
    fn fault(&self, inner: &str, received: &Value, error: &Error) -> Fault {
        let mut message = format!("{}; received {}", serde_message(error), quote(received));
        if received.is_string()
            && let Some(format) = schema_at(self.schema, inner).and_then(format::of_schema)
        {
            let _ = write!(message, "; expected {}", format.phrase);
        }
        Fault::new(format!("{}{inner}", self.pointer), message)
    }
}

/// Returns `true` if an error is about the names of an object's members, which the schema explains better. An object
/// from which a refused value was removed lacks a member.
fn is_about_members(error: &Error) -> bool {
    let message = error.to_string();
    ["missing field ", "unknown field ", "duplicate field "]
        .iter()
        .any(|start| message.starts_with(start))
}

/// Returns `true` if a pointer leads to a value or into it. Errors about the arguments as a whole concern their names.
fn is_inside(pointer: &str, value: &str) -> bool {
    let rest = pointer.strip_prefix(value);
    !value.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Removes the value at a pointer or, if it is an item of a list, the list. Returns `false` if there is nothing to
/// remove.
fn remove_member(value: &mut Value, pointer: &str) -> bool {
    let mut pointer = pointer;
    while let Some((parent, token)) = pointer.rsplit_once('/') {
        if let Some(Value::Object(members)) = value.pointer_mut(parent) {
            let (name, before) = (unescaped(token), members.len());
            // `remove` may change the order, in which the values are reported.
            members.retain(|member, _| *member != name);
            return members.len() < before;
        }
        pointer = parent;
    }
    false
}

/// Returns the schema of the value at a pointer, or `None` if the path to it leads through a choice.
pub(super) fn schema_at<'s>(schema: &'s Value, pointer: &str) -> Option<&'s Value> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(schema, |schema, token| {
            let named = schema
                .get("properties")
                .and_then(|all| all.get(unescaped(token)));
            named
                .or_else(|| schema.get("items"))
                .or_else(|| schema.get("additionalProperties"))
        })
}

/// Returns the name of the member that a token of a pointer stands for.
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
