//! The slow path for calls with invalid arguments: examines all arguments, corrects mistakes that models frequently
//! make, and uses the schema to explain the others.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use mcp_schema::check::Validator;
use mcp_schema::explain::{Fault, FaultSubject, missing_name_message, quote, unknown_name_message};
use mcp_schema::query::allows;
use serde_json::{Map, Value};

use super::entries::entries;
use super::forgive::{forgive, unquoted_as, unquoted_inside, without_fractions};
use super::out_of_range::out_of_range;
use super::refused::RefusedValue;
use super::{Decoder, FAULTS, WireParameter, pointer_to, serde_message};

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
    Unfit {
        /// The type's error, or `None` if the value violates the schema.
        failure: Option<serde_json::Error>,
        value: Value,
        /// The value that was probably meant.
        shown: Value,
    },
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
                if self.closed && !self.is_flattened(name) && faults.len() < FAULTS {
                    faults.push(Fault::new(
                        "",
                        unknown_name_message("argument", name, &names, |name| given.contains(name)),
                    ));
                }
                rest.push((name, value));
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
                faults.push(Fault::new(
                    "",
                    missing_name_message("argument", wire.name, schema),
                ));
            }
        }
        if let Some(index) = self.flatten {
            self.decode_flattened(index, &rest, slots, &mut faults);
        }
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
        let failure = match (parameter.ty.read)(&mut *slot, raw) {
            Ok(_) if self.fits(wire, raw) => return Ok(GivenValue::Text(Cow::Borrowed(raw))),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let anything = Value::Bool(true);
        let schema = self.property(wire.name).unwrap_or(&anything);
        let value = match parse_value(&pointer_to(wire.name), raw, schema) {
            Ok(value) => value,
            Err(found) => return Err(Some(Box::new(UnreadValue::NotRead(found)))),
        };
        let mut shown = value.clone();
        if (failure.is_some() || !self.is_typed(wire, raw)) && self.is_lenient() {
            if value.is_null() && parameter.default.is_some() && self.fill_slot(wire, &mut *slot) {
                return Ok(GivenValue::Default);
            }
            for text in forgive(raw, schema, &self.limits) {
                let read = (parameter.ty.read)(&mut *slot, &text).is_ok();
                if read && self.fits(wire, &text) {
                    return Ok(GivenValue::Text(Cow::Owned(text)));
                }
                let Ok(forgiven) = serde_json::from_str::<Value>(&text) else {
                    continue;
                };
                // This is the intended value, but it violates a constraint, so the error describes the violation.
                let is_unquoted = !forgiven.is_string() && value.is_string();
                if (read || is_unquoted) && same_kind(&forgiven, schema) {
                    shown = forgiven;
                }
            }
        }
        Err(Some(Box::new(UnreadValue::Unfit {
            failure,
            value,
            shown,
        })))
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
        let (failure, value, shown) = match self.read_value(wire, raw, &mut **slot) {
            Ok(_) | Err(None) => return,
            Err(Some(unread)) => match *unread {
                UnreadValue::NotRead(found) => return faults.extend(found),
                UnreadValue::Unfit {
                    failure,
                    value,
                    shown,
                } => (failure, value, shown),
            },
        };
        let anything = Value::Bool(true);
        let mut explained = match self
            .arguments
            .iter()
            .find(|argument| argument.name == wire.name)
        {
            Some(argument) if self.raw => {
                Validator::new(with_definitions(&argument.schema, self.schema()))
                    .map(|validator| validator.check_argument(wire.name, &shown))
                    .unwrap_or_default()
            }
            // The type accepts `null` for optional values.
            _ if failure.is_none() => self.validator.explain_sent(Some(wire.name), &shown),
            _ => self.validator.check_property(wire.name, &shown),
        };
        if let Some(error) = &failure
            && let Some(slot) = slots.get_mut(wire.index)
        {
            let refused = RefusedValue {
                read: parameter.ty.read,
                pointer: pointer_to(wire.name),
                raw,
                value: &value,
                schema: self.property(wire.name).unwrap_or(&anything),
                error,
            };
            let refused = refused.faults(&mut **slot, &explained);
            explained.extend(refused);
        } else if explained.is_empty() {
            explained.push(Fault::new(
                pointer_to(wire.name),
                format!("is not allowed; received {}", quote(&value)),
            ));
        }
        faults.extend(explained);
    }

    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.schema()
            .get("properties")
            .and_then(|properties| properties.get(name))
    }

    /// Reads the entries into the slot of the flattened parameter, with corrections if the decoder is lenient. Returns
    /// the text that the slot is given, or the text as received and the type's error, if it has one.
    pub(super) fn read_flattened(
        &self,
        index: usize,
        entries: &[(&str, &str)],
        slot: &mut dyn Any,
    ) -> Result<String, (String, Option<serde_json::Error>)> {
        let mut text = String::from("{");
        for (name, value) in entries {
            if text.len() > 1 {
                text.push(',');
            }
            let _ = write!(text, "{}:{value}", Value::from(*name));
        }
        text.push('}');
        let Some(parameter) = self.parameters.get(index) else {
            return Err((text, None));
        };
        let error = match (parameter.ty.read)(&mut *slot, &text) {
            Ok(_) if self.flattened_fits(&text) => return Ok(text),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        if self.is_lenient() {
            let whole = without_fractions(&text).into_iter();
            for forgiven in whole.chain(unquoted_inside(&text, self.schema(), &self.limits)) {
                if (parameter.ty.read)(&mut *slot, &forgiven).is_ok()
                    && self.flattened_fits(&forgiven)
                {
                    return Ok(forgiven);
                }
            }
        }
        Err((text, error))
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
        let Err((text, error)) = self.read_flattened(index, entries, &mut **slot) else {
            return;
        };
        let value = match parse_value("", &text, self.schema()) {
            Ok(value) => value,
            Err(found) => return faults.extend(found),
        };
        let mut explained = match &error {
            // The type accepts `null` for optional values.
            None => self.validator.explain_sent(None, &value),
            Some(_) => self.validator.check_arguments(&value),
        };
        // The other parameters are not part of this object, and unknown names have already been reported.
        explained.retain(|fault| match &fault.about {
            _ if !fault.pointer.is_empty() => true,
            FaultSubject::Missing(name) => !self.wire.iter().any(|wire| wire.name == name),
            FaultSubject::Unknown => false,
            FaultSubject::Value => true,
        });
        faults.extend(explained);
        match &error {
            Some(error) => {
                let refused = RefusedValue {
                    read: parameter.ty.read,
                    pointer: String::new(),
                    raw: &text,
                    value: &value,
                    schema: self.schema(),
                    error,
                };
                let refused = refused.faults(&mut **slot, faults);
                faults.extend(refused);
            }
            None if faults.is_empty() => faults.push(Fault::new("", "is not allowed")),
            None => {}
        }
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
        let anything = Value::Bool(true);
        for (name, text) in &mut forgiven {
            let pointer = pointer_to(name);
            let schema = self.property(name).unwrap_or(&anything);
            if faults.iter().any(|fault| fault.pointer == pointer)
                && let Some(inner) = unquoted_as(text, schema, &self.limits)
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

fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut schema = schema.clone();
    if let (Some(object), Some(definitions)) = (schema.as_object_mut(), root.get("$defs")) {
        object.insert("$defs".to_owned(), definitions.clone());
    }
    schema
}

fn same_kind(value: &Value, schema: &Value) -> bool {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    allows(schema, kind) || (kind == "number" && allows(schema, "integer"))
}
