//! The slow path for calls with invalid arguments: examines all arguments, corrects mistakes that models frequently
//! make, and uses the schema to explain the others.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::Write as _;

use mcp_schema::check::{SentValue, Validator};
use mcp_schema::explain::{
    Fault, FaultSubject, merge_misspelled, missing_name_message, quote, unknown_name_message,
};
use serde_json::{Map, Value, json};

use super::entries::entries;
use super::forgive::{Corrections, MeantValue, unquoted, without_fractions};
use super::header::HeaderArgument;
use super::out_of_range::out_of_range;
use super::refused::{RefusedValue, TypeDecides};
use super::types::SchemaBeyondType;
use super::{ArgumentInfo, Decoder, FAULTS, WireParameter, pointer_to, serde_message};

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
            type_decides: self.type_decides(wire.types.as_ref()),
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
            Some(SchemaBeyondType::Property | SchemaBeyondType::Object(_)) => TypeDecides::Nothing,
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
        let examine = |value: &Value| {
            let mut sent = self.validator.examine_sent(None, value);
            // The other parameters are not part of this object.
            sent.faults.retain(|fault| match &fault.about {
                FaultSubject::Missing(name) if fault.pointer.is_empty() => {
                    !self.wire.iter().any(|wire| wire.name == name)
                }
                _ => true,
            });
            sent
        };
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
            type_decides: self.type_decides(self.flattened_types.as_ref()),
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
