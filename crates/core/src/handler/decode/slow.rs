//! The slow path for calls with invalid arguments: examines all arguments, corrects mistakes that models frequently
//! make, and uses the schema to explain the others.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use mcp_schema::check::{SentValue, Validator};
use mcp_schema::explain::{
    Fault, FaultSubject, kind, merge_misspelled, missing_name_message, push_token, quote,
    unknown_name_message,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::handler::decode::refused::{RefusedValue, TypeDecides, pointer_at, schema_at};
use crate::handler::decode::types::SchemaBeyondType;
use crate::handler::decode::{
    ArgumentInfo, Decoder, FAULTS, HeaderArgument, WireParameter, entries, pointer_to,
    serde_message,
};
use crate::jsonrpc::{Decimal, ParseLimits, Scan, is_huge, numbers, unquote as unquote_text};

/// What a handler is given for an argument.
pub(super) enum GivenValue<'t> {
    /// The value in this text, which may be corrected.
    Text(Cow<'t, str>),
    /// The default, in place of `null`.
    Default,
}

/// A value that could not be read.
pub(super) enum UnreadValue {
    /// It is not JSON, or has numbers that nothing can hold.
    NotRead(Vec<Fault>),
    /// The type or the schema refuses it, also as it was probably meant.
    Unfit(MeantValue),
}

type Entries<'t> = Vec<(Cow<'t, str>, Cow<'t, str>)>;

impl Decoder {
    /// Decodes the arguments, corrects mistakes where possible, and collects all other errors.
    pub(super) fn decode_slowly(
        &self,
        arguments: &str,
        slots: &mut [&mut dyn Any],
    ) -> Result<(), Vec<Fault>> {
        let entries = self.accepted_entries(entries(arguments)?)?;
        let mut faults = Vec::new();
        let given: HashSet<String> = entries
            .iter()
            .map(|(name, _)| name.clone().into_owned())
            .collect();
        let names = self.wire.iter().map(|wire| wire.name);
        let names: Vec<&str> = names
            .chain(self.flattened.iter().map(String::as_str))
            .collect();
        let mut rest: Vec<(&str, &str)> = Vec::new();
        for (name, value) in &entries {
            let Some(position) = self.position(name, 0) else {
                if !self.closed || self.is_flattened(name) {
                    rest.push((name, value));
                } else if faults.len() < FAULTS {
                    let (message, meant) =
                        unknown_name_message("argument", name, &names, |name| given.contains(name));
                    let name = name.clone().into_owned();
                    let mut fault = Fault::new("", message);
                    fault.about = FaultSubject::Unknown { name, meant };
                    faults.push(fault);
                }
                continue;
            };
            if let Some(wire) = self.wire.get(position) {
                self.decode_value(wire, value, slots, &mut faults);
            }
        }
        for wire in &self.wire {
            if !given.contains(wire.name) && !self.fill(wire, slots) {
                let schema = self
                    .arguments
                    .iter()
                    .find(|argument| argument.name == wire.name)
                    .map(|argument| &argument.schema);
                let mut fault = Fault::new("", missing_name_message("argument", wire.name, schema));
                fault.about = FaultSubject::Missing(wire.name.to_owned());
                faults.push(fault);
            }
        }
        if let Some(index) = self.flatten {
            self.decode_flattened(index, &rest, slots, &mut faults);
        }
        merge_misspelled(&mut faults);
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Reads a value into a slot, with corrections if the decoder is lenient. Returns what the slot is given.
    pub(super) fn read_value<'t>(
        &self,
        wire: &WireParameter,
        raw: &'t str,
        slot: &mut dyn Any,
    ) -> Result<GivenValue<'t>, Option<Box<UnreadValue>>> {
        let parameter = self.parameters.get(wire.index).ok_or(None)?;
        let mut is_read =
            |text: &str| (parameter.ty.read)(&mut *slot, text).is_ok() && self.fits(wire, text);
        if is_read(raw) {
            return Ok(GivenValue::Text(Cow::Borrowed(raw)));
        }
        let pointer = pointer_to(wire.name);
        let argument = self.argument(wire);
        let anything = Value::Bool(true);
        let schema = argument.map_or(&anything, |argument| &argument.schema);
        let value = parse_value(&pointer, raw, schema)
            .map_err(|found| Some(Box::new(UnreadValue::NotRead(found))))?;
        // A schema that the author wrote says nothing about the type.
        let of_type = argument.filter(|_| self.raw).and_then(|argument| {
            Validator::new(object_with(wire.name, &argument.schema, self.schema())).ok()
        });
        let validator = of_type.as_ref().unwrap_or(&self.validator);
        let examine = |value: &Value| validator.examine_sent(Some(wire.name), value);
        let mut meant = self.meant(raw, value, &pointer, &examine);
        if self.is_lenient() {
            if let Some(read) = meant.take_text(&mut is_read) {
                return Ok(GivenValue::Text(Cow::Owned(read)));
            }
            if meant.value.is_null() && parameter.default.is_some() && self.fill_slot(wire, slot) {
                return Ok(GivenValue::Default);
            }
        }
        Err(Some(Box::new(UnreadValue::Unfit(meant))))
    }

    fn argument(&self, wire: &WireParameter) -> Option<&ArgumentInfo> {
        let mut arguments = self.arguments.iter();
        arguments.find(|argument| argument.name == wire.name)
    }

    fn decode_value(
        &self,
        wire: &WireParameter,
        raw: &str,
        slots: &mut [&mut dyn Any],
        faults: &mut Vec<Fault>,
    ) {
        let (Some(parameter), Some(slot)) =
            (self.parameters.get(wire.index), slots.get_mut(wire.index))
        else {
            return;
        };
        let mut meant = match self.read_value(wire, raw, &mut **slot) {
            Ok(_) | Err(None) => return,
            Err(Some(unread)) => match *unread {
                UnreadValue::NotRead(found) => return faults.extend(found),
                UnreadValue::Unfit(meant) => meant,
            },
        };
        let known = std::mem::take(&mut meant.faults);
        let pointer = pointer_to(wire.name);
        let anything = Value::Bool(true);
        let argument = self.argument(wire);
        let refused = RefusedValue {
            read: parameter.ty.read,
            pointer: &pointer,
            noun: "property",
            text: meant.last(),
            value: &meant.value,
            schema: argument.map_or(&anything, |argument| &argument.schema),
            root: self.validator.schema(),
            type_decides: self.type_decides(wire.beyond_type.as_ref()),
            decoded: Cell::default(),
        };
        let mut found = refused.faults(&mut **slot, known);
        if found.is_empty() {
            let message = format!("is not allowed; received {}", quote(&meant.value));
            found.push(Fault::new(pointer, message));
        }
        faults.append(&mut found);
    }

    fn type_decides(&self, types: Option<&SchemaBeyondType>) -> TypeDecides {
        match types {
            _ if self.raw => TypeDecides::All,
            None | Some(SchemaBeyondType::Shape(_)) => TypeDecides::Names,
            Some(SchemaBeyondType::Whole) => TypeDecides::Nothing,
        }
    }

    /// Returns a value as its client probably meant it.
    fn meant(
        &self,
        raw: &str,
        value: Value,
        pointer: &str,
        examine: &dyn Fn(&Value) -> SentValue,
    ) -> MeantValue {
        if self.is_lenient() {
            let corrections = Corrections {
                pointer,
                limits: &self.limits,
                headers: &self.headers,
            };
            corrections.apply(raw, value, examine)
        } else {
            MeantValue::unchanged(raw, value, examine)
        }
    }

    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.schema()
            .get("properties")
            .and_then(|properties| properties.get(name))
    }

    /// Reads the entries into the slot of the flattened parameter, with corrections if the decoder is lenient. Returns
    /// the text that the slot is given.
    pub(super) fn read_flattened(
        &self,
        index: usize,
        entries: &[(&str, &str)],
        slot: &mut dyn Any,
    ) -> Result<String, Option<Box<UnreadValue>>> {
        let parameter = self.parameters.get(index).ok_or(None)?;
        let mut text = String::from("{");
        for (name, value) in entries {
            if text.len() > 1 {
                text.push(',');
            }
            let _ = write!(text, "{}:{value}", Value::from(*name));
        }
        text.push('}');
        let mut is_read =
            |text: &str| (parameter.ty.read)(&mut *slot, text).is_ok() && self.flattened_fits(text);
        if is_read(&text) {
            return Ok(text);
        }
        let value = parse_value("", &text, self.schema())
            .map_err(|found| Some(Box::new(UnreadValue::NotRead(found))))?;
        let examine = |value: &Value| self.examine(None, value);
        let mut meant = self.meant(&text, value, "", &examine);
        if self.is_lenient()
            && let Some(read) = meant.take_text(&mut is_read)
        {
            return Ok(read);
        }
        Err(Some(Box::new(UnreadValue::Unfit(meant))))
    }

    fn decode_flattened(
        &self,
        index: usize,
        entries: &[(&str, &str)],
        slots: &mut [&mut dyn Any],
        faults: &mut Vec<Fault>,
    ) {
        let (Some(parameter), Some(slot)) = (self.parameters.get(index), slots.get_mut(index))
        else {
            return;
        };
        let mut meant = match self.read_flattened(index, entries, &mut **slot) {
            Ok(_) | Err(None) => return,
            Err(Some(unread)) => match *unread {
                UnreadValue::NotRead(found) => return faults.extend(found),
                UnreadValue::Unfit(meant) => meant,
            },
        };
        let known = std::mem::take(&mut meant.faults);
        let refused = RefusedValue {
            read: parameter.ty.read,
            pointer: "",
            noun: "argument",
            text: meant.last(),
            value: &meant.value,
            schema: self.schema(),
            root: self.validator.schema(),
            type_decides: self.type_decides(self.flattened_beyond_type.as_ref()),
            decoded: Cell::default(),
        };
        let mut found = refused.faults(&mut **slot, known);
        if found.is_empty() && faults.is_empty() {
            let received = quote(&meant.value);
            let message = format!("the arguments are not allowed; received {received}");
            found.push(Fault::new("", message));
        }
        faults.append(&mut found);
    }

    /// Returns the entries, which are checked and corrected if the author wrote the schema.
    pub(super) fn accepted_entries<'t>(
        &self,
        entries: Vec<(Cow<'t, str>, &'t str)>,
    ) -> Result<Entries<'t>, Vec<Fault>> {
        let entries = entries.into_iter();
        let mut entries: Entries<'t> = entries
            .map(|(name, value)| (name, Cow::Borrowed(value)))
            .collect();
        if self.raw {
            self.check_raw(&mut entries)?;
        }
        Ok(entries)
    }

    /// Checks the arguments against the schema that the author wrote, and corrects mistakes in `entries` where
    /// possible.
    fn check_raw(&self, entries: &mut [(Cow<'_, str>, Cow<'_, str>)]) -> Result<(), Vec<Fault>> {
        if self.is_lenient() {
            for (_, text) in entries.iter_mut() {
                if let Some(whole) = without_fractions(text) {
                    *text = Cow::Owned(whole);
                }
            }
        }
        let faults = self
            .validator
            .check_arguments(&self.parse_entries(entries)?);
        if faults.is_empty() {
            return Ok(());
        }
        if !self.is_lenient() {
            return Err(faults);
        }
        let mut forgiven = entries.to_vec();
        let mut changed = false;
        for (name, text) in &mut forgiven {
            let pointer = pointer_to(name);
            // Intermediaries do not look inside a string to find an argument that is mirrored in a header.
            let is_mirrored = |header: &HeaderArgument| {
                header.path.len() > 1 && header.path.first().is_some_and(|first| *first == **name)
            };
            if self.headers.iter().any(is_mirrored) {
                continue;
            }
            if faults.iter().any(|fault| fault.pointer == pointer)
                && let Some(inner) = unquoted(text, &self.limits)
            {
                *text = Cow::Owned(without_fractions(&inner).unwrap_or(inner));
                changed = true;
            }
        }
        let again = match self.parse_entries(&forgiven) {
            Ok(object) if changed => self.validator.check_arguments(&object),
            _ => return Err(faults),
        };
        if again.is_empty() {
            entries.clone_from_slice(&forgiven);
            return Ok(());
        }
        Err(if again.len() <= faults.len() {
            again
        } else {
            faults
        })
    }

    /// Returns the arguments as a single value.
    fn parse_entries(&self, entries: &[(Cow<'_, str>, Cow<'_, str>)]) -> Result<Value, Vec<Fault>> {
        let mut object = Map::new();
        let anything = Value::Bool(true);
        for (name, text) in entries {
            let schema = self.property(name).unwrap_or(&anything);
            let value = parse_value(&pointer_to(name), text, schema)?;
            object.insert(name.clone().into_owned(), value);
        }
        Ok(Value::Object(object))
    }
}

/// Returns the value of an argument with this schema, to which `pointer` leads.
fn parse_value(pointer: &str, json: &str, schema: &Value) -> Result<Value, Vec<Fault>> {
    serde_json::from_str(json).map_err(|error| {
        let huge = out_of_range(pointer, json, schema);
        if !huge.is_empty() {
            return huge;
        }
        let message = format!("is not valid JSON: {}", serde_message(&error));
        vec![Fault::new(pointer, message)]
    })
}

/// Returns the schema of an object with one property.
fn object_with(name: &str, schema: &Value, root: &Value) -> Value {
    let mut object = json!({"type": "object", "properties": {name: schema}});
    if let (Some(members), Some(definitions)) = (object.as_object_mut(), root.get("$defs")) {
        members.insert("$defs".to_owned(), definitions.clone());
    }
    object
}

// --- The value that a client probably meant.
//
// Models often put JSON into strings, write integers with a zero fraction, such as `1.0`, and send `null` for what they
// leave out. All of this is accepted unless a tool is strict. The schema decides where: a string is unquoted where the
// schema has something else, and `null` is removed where it has an optional property. Corrections are applied to a value's
// text, so numbers of any size remain exact. A string counts as a single value in a message, so any JSON inside it must
// itself be within the limits for a message; otherwise, it remains a string.

/// Maximum number of times that a value is corrected: JSON inside a string may contain strings with JSON.
const ROUNDS: usize = 8;

/// Number of bytes after which a value is not corrected again, if it has more mistakes than are found at once.
const WRITTEN: usize = 2 << 20;

/// A value as its client probably meant it.
pub(super) struct MeantValue {
    text: String,
    /// The text with integers in place of numbers such as `1.0`, if there are any.
    without_fractions: Option<String>,
    /// The value of the last text.
    pub(super) value: Value,
    /// What the schema does not allow.
    pub(super) faults: Vec<Fault>,
}

impl MeantValue {
    /// Returns a value as it was sent.
    pub(super) fn unchanged(
        json: &str,
        value: Value,
        examine: &dyn Fn(&Value) -> SentValue,
    ) -> Self {
        Self {
            text: json.to_owned(),
            without_fractions: None,
            faults: examine(&value).faults,
            value,
        }
    }

    /// Returns the first text that can be read, with the most likely one last.
    fn take_text(&mut self, is_read: &mut dyn FnMut(&str) -> bool) -> Option<String> {
        if is_read(&self.text) {
            return Some(std::mem::take(&mut self.text));
        }
        let whole = self.without_fractions.as_deref()?;
        is_read(whole).then(|| self.without_fractions.take())?
    }

    /// Returns the text to explain.
    pub(super) fn last(&self) -> &str {
        self.without_fractions.as_deref().unwrap_or(&self.text)
    }
}

/// The rules for corrections.
pub(super) struct Corrections<'d> {
    /// The pointer to the value that is corrected.
    pub(super) pointer: &'d str,
    pub(super) limits: &'d ParseLimits,
    /// Intermediaries do not look inside a string to find an argument that is mirrored in a header.
    pub(super) headers: &'d [HeaderArgument],
}

impl Corrections<'_> {
    /// Corrects a value as far as a schema, with which `examine` compares it, tells how.
    pub(super) fn apply(
        &self,
        json: &str,
        mut value: Value,
        examine: &dyn Fn(&Value) -> SentValue,
    ) -> MeantValue {
        let mut meant = json.to_owned();
        let mut sent = examine(&value);
        let (mut rounds, mut written) = (0, 0_usize);
        while rounds < ROUNDS && written <= WRITTEN {
            // In a long list, the check finds only the first mistakes.
            rounds += usize::from(sent.faults.len() < FAULTS);
            let quoted = sent.faults.iter();
            let quoted: HashMap<String, JsonEdit> = quoted
                .filter_map(|fault| self.unquoted(fault, &value))
                .collect();
            if quoted.is_empty() {
                break;
            }
            // Each string is within the limits, but together they may not be.
            let next = edited(&meant, &quoted);
            if !is_within(&next, self.limits) {
                break;
            }
            let Ok(parsed) = serde_json::from_str(&next) else {
                break;
            };
            written = written.saturating_add(next.len());
            (meant, value) = (next, parsed);
            sent = examine(&value);
        }
        if !sent.absent.is_empty() {
            let absent = sent.absent.iter();
            let absent = absent.filter_map(|pointer| pointer.strip_prefix(self.pointer));
            let absent = absent.map(|pointer| (pointer.to_owned(), JsonEdit::Remove));
            meant = edited(&meant, &absent.collect());
        }
        let without_fractions = without_fractions(&meant);
        // The corrections of valid JSON are valid.
        if let Ok(corrected) = serde_json::from_str(without_fractions.as_ref().unwrap_or(&meant)) {
            value = corrected;
        }
        MeantValue {
            text: meant,
            without_fractions,
            value,
            faults: sent.faults,
        }
    }

    /// Returns the JSON inside a string that a fault is about, with its pointer, if it is of a type that the schema has in
    /// place of the string.
    fn unquoted(&self, fault: &Fault, value: &Value) -> Option<(String, JsonEdit)> {
        let pointer = fault.pointer.strip_prefix(self.pointer)?;
        let text = value.pointer(pointer)?.as_str()?;
        let inner = text.trim_ascii();
        let kind = match inner.as_bytes().first()? {
            b'{' => "object",
            b'[' => "array",
            b't' | b'f' => "boolean",
            b'-' | b'0'..=b'9' => "number",
            _ => return None,
        };
        let is_meant = match &fault.about {
            FaultSubject::Type(expected) => expected
                .iter()
                .any(|name| name == kind || (name == "integer" && kind == "number")),
            // Variants without data are strings, and all others are objects.
            FaultSubject::Unlisted => kind == "object",
            _ => false,
        };
        let is_valid =
            || is_within(inner, self.limits) && serde_json::from_str::<&RawValue>(inner).is_ok();
        (is_meant && !self.contains_header(&fault.pointer) && is_valid())
            .then(|| (pointer.to_owned(), JsonEdit::Replace(inner.to_owned())))
    }

    /// Returns `true` if a value contains another one that is mirrored in a header.
    fn contains_header(&self, pointer: &str) -> bool {
        self.headers.iter().any(|header| {
            let path: String = header.path.iter().map(|name| pointer_to(name)).collect();
            path.strip_prefix(pointer)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Returns the JSON inside a string, if it is an object, array, number or boolean.
pub(super) fn unquoted(json: &str, limits: &ParseLimits) -> Option<String> {
    let text = unquote_text(json).ok()?;
    let inner = text.trim_ascii();
    let is_meant = !inner.starts_with('"') && inner != "null" && is_within(inner, limits);
    (is_meant && serde_json::from_str::<&RawValue>(inner).is_ok()).then(|| inner.to_owned())
}

/// Returns `true` if a value is within the limits for a message.
fn is_within(json: &str, limits: &ParseLimits) -> bool {
    Scan::within(json, limits).next_value().is_some()
}

/// A change to a value.
enum JsonEdit {
    Replace(String),
    /// Removes a member of an object.
    Remove,
}

/// Returns a value, known to be valid, with changes at some pointers.
fn edited(json: &str, edits: &HashMap<String, JsonEdit>) -> String {
    let mut out = String::with_capacity(json.len());
    write_edited(json, &mut String::new(), edits, &mut out);
    out
}

fn write_edited(
    json: &str,
    pointer: &mut String,
    edits: &HashMap<String, JsonEdit>,
    out: &mut String,
) {
    if let Some(JsonEdit::Replace(text)) = edits.get(pointer) {
        out.push_str(text);
        return;
    }
    let length = pointer.len();
    match json.as_bytes().first() {
        Some(b'{') => {
            let mut separator = '{';
            Scan::new(json).members(|scan, name| {
                let member = scan.next_value()?;
                push_token(pointer, &name);
                if !matches!(edits.get(pointer), Some(JsonEdit::Remove)) {
                    let _ = write!(out, "{separator}{}:", Value::from(&*name));
                    separator = ',';
                    write_edited(member, pointer, edits, out);
                }
                pointer.truncate(length);
                Some(())
            });
            out.push_str(if separator == '{' { "{}" } else { "}" });
        }
        Some(b'[') => {
            let mut index = 0_usize;
            out.push('[');
            Scan::new(json).items(|scan| {
                let item = scan.next_value()?;
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(pointer, "/{index}");
                write_edited(item, pointer, edits, out);
                pointer.truncate(length);
                index = index.saturating_add(1);
                Some(())
            });
            out.push(']');
        }
        _ => out.push_str(json),
    }
}

/// Rewrites numbers such as `1.0` and `1e3` as `1` and `1000` throughout the value. Returns `None` if there are no such
/// numbers.
pub(super) fn without_fractions(json: &str) -> Option<String> {
    let mut out = String::new();
    let mut written = 0;
    for (at, number) in numbers(json) {
        if number.contains(['.', 'e', 'E'])
            && let Some(whole) = Decimal::read(number).and_then(|number| number.integer())
        {
            out.push_str(json.get(written..at)?);
            out.push_str(&whole);
            written = at.saturating_add(number.len());
        }
    }
    (written > 0).then(|| {
        out.push_str(json.get(written..).unwrap_or(""));
        out
    })
}

// --- Explains numbers that neither a 64-bit integer nor an `f64` can hold. JSON allows them, and so do messages.

/// Maximum length of a number in a message, in bytes.
const SHOWN: usize = 40;

/// Returns an error for each number in a value that is out of range. `pointer` leads to the value, which has this
/// schema. Where there are no such numbers, every [`Value`] can hold the value.
fn out_of_range(pointer: &str, json: &str, schema: &Value) -> Vec<Fault> {
    let huge = numbers(json).filter(|(_, number)| is_huge(number));
    let fault = |(at, number): (usize, &str)| {
        let inner = pointer_at(json, 1, at.saturating_add(number.len()));
        Fault::new(
            format!("{pointer}{inner}"),
            message(number, schema_at(schema, &inner)),
        )
    };
    huge.map(fault).collect()
}

fn message(number: &str, schema: Option<&Value>) -> String {
    let mut message = match number.get(..SHOWN) {
        Some(start) if number.len() > SHOWN => format!("{start}… ({} characters)", number.len()),
        _ => number.to_owned(),
    };
    let (extent, limit) = if number.starts_with('-') {
        ("small", f64::MIN)
    } else {
        ("large", f64::MAX)
    };
    let _ = write!(message, " is too {extent} for a number; ");
    match schema.map(kind).as_deref() {
        None | Some("anything" | "number") => {
            let _ = write!(message, "the limit is {limit:e}");
        }
        Some(expected) => {
            let _ = write!(message, "expected {expected}");
        }
    }
    message
}

// --- Reads arguments into a map of values, for handlers that are created at run time.

/// Reads arguments into a map; whole numbers remain exact.
///
/// # Errors
///
/// Returns an error if the arguments are not an object, an argument is given twice, a number is out of range, or a whole
/// number is too large for a [`Value`] to represent exactly.
pub(crate) fn to_map(arguments: &str) -> Result<Map<String, Value>, Vec<Fault>> {
    let mut map = Map::new();
    let mut faults = Vec::new();
    for (name, text) in entries(arguments)? {
        let whole = without_fractions(text);
        let text = whole.as_deref().unwrap_or(text);
        if let Some(number) = inexact(text) {
            let huge = out_of_range(&pointer_to(&name), text, &Value::Bool(true));
            if !huge.is_empty() {
                faults.extend(huge);
                continue;
            }
            let message =
                format!("contains {number}, which is too large to be represented exactly");
            faults.push(Fault::new(pointer_to(&name), message));
        }
        match serde_json::from_str(text) {
            Ok(value) => {
                map.insert(name.into_owned(), value);
            }
            Err(error) => faults.push(Fault::new(
                pointer_to(&name),
                format!("is not valid JSON: {}", serde_message(&error)),
            )),
        }
    }
    if faults.is_empty() {
        Ok(map)
    } else {
        Err(faults)
    }
}

/// Returns the first number in the text that is out of range, or a whole number that a [`Value`] cannot represent exactly.
fn inexact(json: &str) -> Option<&str> {
    let mut all = numbers(json).map(|(_, number)| number);
    all.find(|number| !is_exact(number))
}

fn is_exact(number: &str) -> bool {
    if number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok() {
        return true;
    }
    if number.contains(['.', 'e', 'E']) {
        return !is_huge(number);
    }
    let float: f64 = number.parse().unwrap_or(f64::INFINITY);
    float.is_finite() && Decimal::read(&format!("{float:.0}")) == Decimal::read(number)
}
