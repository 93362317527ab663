//! Finds what a Rust type refuses, also where the value matches its schema, as with `#[serde(try_from = …)]`.
//!
//! Serde stops at the first mistake. The others are found by decoding the value again, with an allowed value in its
//! place. The type also has the last word about names: it may accept an alias that its schema does not mention. What it
//! accepts is not reported as a mistake, whatever else is wrong.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write as _;

use mcp_schema::explain::{Fault, FaultSubject, missing_name_message, push_token, quote};
use mcp_schema::format;
use mcp_schema::sample::sample;
use serde_json::{Error, Value};

use crate::handler::decode::{FAULTS, pointer_to, serde_message};
use crate::jsonrpc::Scan;

/// Maximum number of mistakes to find in one parameter, because each of them costs another run of the decoder.
const MAX_MISTAKES: usize = 40;

/// Maximum number of values to replace in order to find one that is refused.
const MAX_REPLACED_VALUES: usize = 200;

/// Number of bytes after which nothing is decoded again, so that an explanation costs about as much as a call.
const MAX_DECODED_AGAIN_BYTES: usize = 2 << 20;

/// A member name that sorts after all others and that no type has.
const LAST: &str = "\u{10ffff}";

/// A value that could not be decoded, or that does not match its schema.
pub(super) struct RefusedValue<'a> {
    /// Decodes a value into the slot.
    pub(super) read: fn(&mut dyn Any, &str) -> serde_json::Result<usize>,
    /// The pointer to the value.
    pub(super) pointer: &'a str,
    /// The word for members of the value itself.
    pub(super) noun: &'static str,
    /// The value, with the corrections that are made.
    pub(super) text: &'a str,
    pub(super) value: &'a Value,
    pub(super) schema: &'a Value,
    /// The schema to whose definitions references lead.
    pub(super) root: &'a Value,
    pub(super) type_decides: TypeDecides,
    /// Number of bytes that were decoded.
    pub(super) decoded: Cell<usize>,
}

/// What a type decides even if its schema says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeDecides {
    /// Nothing: what does not match the schema is refused.
    Nothing,
    /// Which names are members, and which names are values.
    Names,
    /// Everything: the schema only explains what the type refuses.
    All,
}

impl RefusedValue<'_> {
    /// Returns all mistakes. `known` are those that the schema shows.
    pub(super) fn faults(&self, slot: &mut dyn Any, mut known: Vec<Fault>) -> Vec<Fault> {
        let mut rest = self.value.clone();
        // What the schema refuses is put right, so that it hides nothing else.
        let mut repaired: Vec<String> = Vec::new();
        for fault in known.iter().filter(|fault| !self.is_left_to_type(fault)) {
            self.repair(&mut rest, fault);
            repaired.push(repaired_place(fault));
        }
        let mut confirmed: Vec<usize> = Vec::new();
        let mut found = Vec::new();
        let mut removed: Vec<String> = Vec::new();
        let mut tries = MAX_REPLACED_VALUES;
        let mut is_complete = false;
        for _ in 0..MAX_MISTAKES {
            if self.is_costly() {
                break;
            }
            let Err(error) = self.decode(slot, &rest.to_string()) else {
                is_complete = true;
                break;
            };
            let refused = Refusal::new(&error);
            let mut inner = self.locate(slot, &rest, &error);
            if self.type_decides == TypeDecides::Nothing && matches!(refused, Refusal::Value) {
                self.narrow(slot, &rest, &error, &mut inner, &mut tries);
            }
            // What is wrong now is that something was removed.
            let is_gone = |gone: &String| is_within(gone, &inner);
            if matches!(refused, Refusal::Value) && removed.iter().any(is_gone) {
                break;
            }
            let pointer = format!("{}{inner}", self.pointer);
            let position = known.iter().enumerate().position(|(index, fault)| {
                self.is_left_to_type(fault)
                    && !confirmed.contains(&index)
                    && refused.is_about(fault, &pointer)
                    && (refused != Refusal::Twice || self.causes(slot, &rest, fault, &error))
            });
            if let Some(index) = position {
                confirmed.push(index);
                if let Some(fault) = known.get(index) {
                    self.repair(&mut rest, fault);
                    repaired.push(repaired_place(fault));
                }
                continue;
            }
            let is_new = !inner.is_empty() && !known.iter().any(|fault| covers(fault, &pointer));
            match &refused {
                Refusal::Missing(name)
                    if self.type_decides != TypeDecides::Nothing
                        && !removed.contains(&format!("{inner}{}", pointer_to(name))) =>
                {
                    let fault = self.missing(&inner, name);
                    if !self.repair(&mut rest, &fault) {
                        break;
                    }
                    repaired.push(repaired_place(&fault));
                    found.push(fault);
                }
                Refusal::Value if is_new => {
                    // What took the place of another value is not what the client sent.
                    let is_sent = !repaired.iter().any(|place| is_within(&pointer, place));
                    if let Some(received) = rest.pointer(&inner).filter(|_| is_sent) {
                        found.push(self.fault(&inner, received, &error));
                    }
                    if is_sent && self.replace(&mut rest, &inner) {
                        repaired.push(pointer);
                    } else if remove_member(&mut rest, &inner) {
                        removed.push(inner);
                    } else {
                        break;
                    }
                }
                _ if remove_member(&mut rest, &inner) => removed.push(inner),
                _ => break,
            }
        }
        if is_complete {
            let mut index = 0_usize;
            known.retain(|fault| {
                let is_mistake = !self.is_left_to_type(fault) || confirmed.contains(&index);
                index = index.saturating_add(1);
                is_mistake
            });
        }
        known.append(&mut found);
        known.truncate(FAULTS);
        if known.is_empty()
            && let Err(error) = self.decode(slot, self.text)
        {
            let inner = pointer_at(self.text, error.line(), error.column());
            known.push(match self.value.pointer(&inner) {
                Some(received) => self.fault(&inner, received, &error),
                None => self.fault("", self.value, &error),
            });
        }
        known
    }

    fn decode(&self, slot: &mut dyn Any, text: &str) -> serde_json::Result<usize> {
        self.decoded
            .set(self.decoded.get().saturating_add(text.len()));
        (self.read)(slot, text)
    }

    /// Returns `true` if so much was decoded that the rest of the mistakes are not worth the time. What is known by then
    /// is reported.
    fn is_costly(&self) -> bool {
        self.decoded.get() > MAX_DECODED_AGAIN_BYTES
    }

    /// Returns `true` if the type decides whether this is a mistake.
    fn is_left_to_type(&self, fault: &Fault) -> bool {
        let is_name = matches!(
            fault.about,
            FaultSubject::Missing(_) | FaultSubject::Unknown { .. } | FaultSubject::Unlisted
        );
        match self.type_decides {
            TypeDecides::Nothing => false,
            TypeDecides::Names => is_name,
            TypeDecides::All => true,
        }
    }

    /// Changes a value so that a mistake is gone. Returns `false` if that is not possible.
    fn repair(&self, rest: &mut Value, fault: &Fault) -> bool {
        let Some(inner) = fault.pointer.strip_prefix(self.pointer) else {
            return false;
        };
        match &fault.about {
            FaultSubject::Missing(name) => self.insert(rest, inner, name),
            FaultSubject::Unknown { name, meant } => {
                if let Some(Value::Object(members)) = rest.pointer_mut(inner) {
                    // `remove` may change the order, in which the values are reported.
                    members.shift_remove(name);
                }
                match meant {
                    Some(meant) => self.insert(rest, inner, meant),
                    None => true,
                }
            }
            FaultSubject::Variant { of } => {
                let of = of.strip_prefix(self.pointer);
                of.is_some_and(|of| self.replace(rest, of) || remove_member(rest, of))
            }
            _ => self.replace(rest, inner) || remove_member(rest, inner),
        }
    }

    /// Returns `true` if an error is another one, or none, without what a fault is about.
    fn causes(&self, slot: &mut dyn Any, rest: &Value, fault: &Fault, error: &Error) -> bool {
        let mut other = rest.clone();
        self.repair(&mut other, fault)
            && self
                .decode(slot, &other.to_string())
                .err()
                .is_none_or(|other| serde_message(&other) != serde_message(error))
    }

    /// Adds a member with an allowed value to an object that lacks it.
    fn insert(&self, rest: &mut Value, inner: &str, name: &str) -> bool {
        let property = format!("{inner}{}", pointer_to(name));
        let (Some(schema), Some(Value::Object(members))) =
            (self.schema_at(&property), rest.pointer_mut(inner))
        else {
            return false;
        };
        members
            .entry(name)
            .or_insert_with(|| sample(schema, self.root));
        true
    }

    /// Replaces a value with one that the schema allows.
    fn replace(&self, rest: &mut Value, inner: &str) -> bool {
        match (self.schema_at(inner), rest.pointer_mut(inner)) {
            (Some(schema), Some(value)) => {
                *value = sample(schema, self.root);
                true
            }
            _ => false,
        }
    }

    /// Moves the pointer to a refused value from a list or object to the value inside it that is refused: of an enum with a
    /// tag, serde knows only that it is refused. The value is the only one whose replacement changes the error.
    fn narrow(
        &self,
        slot: &mut dyn Any,
        rest: &Value,
        error: &Error,
        inner: &mut String,
        tries: &mut usize,
    ) {
        loop {
            let names: Vec<String> = match rest.pointer(inner) {
                Some(Value::Object(members)) => members.keys().cloned().collect(),
                Some(Value::Array(items)) => (0..items.len()).map(|at| at.to_string()).collect(),
                _ => return,
            };
            let mut culprits = Vec::new();
            for name in names {
                let child = format!("{inner}{}", pointer_to(&name));
                let mut other = rest.clone();
                let Some(left) = tries.checked_sub(1).filter(|_| !self.is_costly()) else {
                    return;
                };
                *tries = left;
                if self.replace(&mut other, &child)
                    && self
                        .decode(slot, &other.to_string())
                        .err()
                        .is_none_or(|other| serde_message(&other) != serde_message(error))
                {
                    culprits.push(child);
                }
            }
            let [culprit] = culprits.as_slice() else {
                return;
            };
            inner.clone_from(culprit);
        }
    }

    /// Returns the fault for a member that the type requires, unlike its schema.
    fn missing(&self, inner: &str, name: &str) -> Fault {
        let noun = if inner.is_empty() {
            self.noun
        } else {
            "property"
        };
        let schema = self.schema_at(&format!("{inner}{}", pointer_to(name)));
        let message = missing_name_message(noun, name, schema);
        let mut fault = Fault::new(format!("{}{inner}", self.pointer), message);
        fault.about = FaultSubject::Missing(name.to_owned());
        fault
    }

    /// Returns the schema of the value at a pointer, or `None` if it is unknown.
    fn schema_at(&self, inner: &str) -> Option<&Value> {
        schema_within(self.schema, self.root, Some(self.value), inner)
    }

    /// Returns the pointer to the refused value in `rest`.
    ///
    /// If it is the last member of its object, serde's position is the end of the object. It is the member itself if
    /// another one follows.
    fn locate(&self, slot: &mut dyn Any, rest: &Value, error: &Error) -> String {
        let inner = pointer_at(&rest.to_string(), error.line(), error.column());
        if !matches!(Refusal::new(error), Refusal::Value) {
            return inner;
        }
        let mut longer = rest.clone();
        if let Some(Value::Object(members)) = longer.pointer_mut(&inner) {
            members.insert(LAST.to_owned(), Value::Null);
            let text = longer.to_string();
            if let Err(other) = self.decode(slot, &text)
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
            && let Some(format) = self.schema_at(inner).and_then(format::of_schema)
        {
            let _ = write!(message, "; expected {}", format.phrase);
        }
        Fault::new(format!("{}{inner}", self.pointer), message)
    }
}

/// What an error of serde is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Refusal {
    /// A member with this name is missing. The position is that of the object.
    Missing(String),
    /// A member with this name is unknown. The position is that of the object or of its name.
    Unknown(String),
    /// A member is given twice, in a [`Value`] only under different names.
    Twice,
    Value,
}

impl Refusal {
    fn new(error: &Error) -> Self {
        let message = error.to_string();
        let name = |start: &str| {
            let rest = message.strip_prefix(start)?.strip_prefix('`')?;
            rest.split_once('`').map(|(name, _)| name.to_owned())
        };
        if let Some(name) = name("missing field ") {
            Self::Missing(name)
        } else if let Some(name) = name("unknown field ") {
            Self::Unknown(name)
        } else if message.starts_with("duplicate field ") {
            Self::Twice
        } else {
            Self::Value
        }
    }

    /// Returns `true` if the type refuses what a fault is about.
    fn is_about(&self, fault: &Fault, pointer: &str) -> bool {
        match (self, &fault.about) {
            (Self::Missing(name), FaultSubject::Missing(missing)) => {
                name == missing && pointer == fault.pointer
            }
            (Self::Unknown(name), FaultSubject::Unknown { name: unknown, .. }) => {
                let rest = pointer.strip_prefix(&fault.pointer);
                name == unknown
                    && rest.is_some_and(|rest| rest.is_empty() || rest == pointer_to(name))
            }
            // Under the name of another member.
            (Self::Twice, FaultSubject::Unknown { .. }) => {
                let rest = pointer.strip_prefix(&fault.pointer);
                rest.is_some_and(|rest| !rest.trim_start_matches('/').contains('/'))
            }
            (_, FaultSubject::Missing(_) | FaultSubject::Unknown { .. }) => false,
            (Self::Value, _) => is_inside(pointer, &fault.pointer),
            _ => false,
        }
    }
}

/// Returns the pointer to the value that takes the place of what a fault is about.
fn repaired_place(fault: &Fault) -> String {
    match &fault.about {
        FaultSubject::Missing(name) => format!("{}{}", fault.pointer, pointer_to(name)),
        FaultSubject::Unknown { name, meant } => {
            let name = meant.as_ref().unwrap_or(name);
            format!("{}{}", fault.pointer, pointer_to(name))
        }
        FaultSubject::Variant { of } => of.clone(),
        _ => fault.pointer.clone(),
    }
}

/// Returns `true` if a fault already concerns the value at a pointer.
fn covers(fault: &Fault, pointer: &str) -> bool {
    match &fault.about {
        FaultSubject::Missing(_) | FaultSubject::Unknown { .. } => fault.pointer == pointer,
        FaultSubject::Variant { of } => is_within(pointer, of) || is_within(of, pointer),
        _ => is_inside(pointer, &fault.pointer) || is_inside(&fault.pointer, pointer),
    }
}

/// Returns `true` if a pointer leads to a value or into it. Errors about the arguments as a whole concern their names.
fn is_inside(pointer: &str, value: &str) -> bool {
    !value.is_empty() && is_within(pointer, value)
}

/// Returns `true` if a pointer is the same as another one, or leads into its value.
fn is_within(pointer: &str, outer: &str) -> bool {
    let rest = pointer.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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

/// Returns the schema of the value at a pointer, or `None` if it is unknown or the path to it leads through a choice.
pub(super) fn schema_at<'s>(schema: &'s Value, pointer: &str) -> Option<&'s Value> {
    schema_within(schema, schema, None, pointer)
}

/// Like [`schema_at`], but follows references into `root`, and choices to the branch whose tags `value` has.
fn schema_within<'s>(
    mut schema: &'s Value,
    root: &'s Value,
    mut value: Option<&Value>,
    pointer: &str,
) -> Option<&'s Value> {
    for token in pointer.split('/').skip(1).map(unescaped) {
        schema = branch(without_reference(schema, root), root, value, &token);
        let index = token.parse::<usize>().ok();
        let named = schema.get("properties").and_then(|all| all.get(&token));
        let first = || schema.get("prefixItems")?.get(index?);
        schema = named
            .or_else(first)
            .or_else(|| schema.get("items"))
            .or_else(|| schema.get("additionalProperties"))?;
        value = value.and_then(|value| match index {
            Some(index) if value.is_array() => value.get(index),
            _ => value.get(&token),
        });
    }
    Some(schema)
}

/// Returns the branch of a choice that has a member and allows the tags of a value. A schema without a choice is returned
/// itself.
fn branch<'s>(
    schema: &'s Value,
    root: &'s Value,
    value: Option<&Value>,
    member: &str,
) -> &'s Value {
    let choice = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    let branches = choice.and_then(Value::as_array).into_iter().flatten();
    let fits = |branch: &&Value| {
        let properties = branch.get("properties").and_then(Value::as_object);
        properties.is_some_and(|properties| {
            properties.contains_key(member)
                && properties.iter().all(|(name, property)| {
                    let tags = property.get("enum").and_then(Value::as_array);
                    let given = value.and_then(|value| value.get(name));
                    match (tags, given) {
                        (Some(tags), Some(given)) => tags.contains(given),
                        _ => true,
                    }
                })
        })
    };
    let mut branches = branches.map(|branch| without_reference(branch, root));
    branches.find(fits).unwrap_or(schema)
}

/// Returns the schema to which a schema refers.
fn without_reference<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// Returns the name of the member that a token of a pointer stands for.
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

// --- Finds the value in which serde stopped reading.

/// Returns the JSON pointer to the value that contains or ends at the given position. The position is as reported by
/// serde, which counts lines and bytes from 1.
///
/// At the end of an object or array, the position could refer either to the object or array itself or to its last
/// member. In this case, the returned pointer refers to the object or array.
pub(super) fn pointer_at(text: &str, line: usize, column: usize) -> String {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let end = start.saturating_add(column);
    // An error in an item is reported only after the following comma has been read. That comma must not be counted as
    // the start of the next item.
    let read = text.get(..end).unwrap_or(text).trim_ascii_end();
    let end = read.strip_suffix(',').unwrap_or(read).len();
    let mut parts: Vec<PointerPart<'_>> = Vec::new();
    let mut at = 0_usize;
    while at < end {
        let Some(byte) = text.as_bytes().get(at) else {
            break;
        };
        let mut length = 1;
        match byte {
            b'{' => parts.push(PointerPart::Name(Cow::Borrowed(""), false)),
            b'[' => parts.push(PointerPart::Index(0)),
            b'}' | b']' => {
                parts.pop();
            }
            b',' => match parts.last_mut() {
                Some(PointerPart::Index(index)) => *index = index.saturating_add(1),
                Some(PointerPart::Name(_, known)) => *known = false,
                None => {}
            },
            b'"' => {
                let mut scan = Scan::new(text.get(at..).unwrap_or(""));
                let Some(string) = scan.next_string() else {
                    break;
                };
                length = scan.position();
                if let Some(PointerPart::Name(name, known @ false)) = parts.last_mut() {
                    (*name, *known) = (string, true);
                }
            }
            _ => {}
        }
        at = at.saturating_add(length);
    }
    let mut pointer = String::new();
    for part in parts {
        match part {
            PointerPart::Name(name, true) => push_token(&mut pointer, &name),
            PointerPart::Name(_, false) => break,
            PointerPart::Index(index) => push_token(&mut pointer, &index.to_string()),
        }
    }
    pointer
}

/// A position in an object or array: either a member's name and whether it has been read since the last comma,
/// or an item's index.
enum PointerPart<'t> {
    Name(Cow<'t, str>, bool),
    Index(usize),
}
