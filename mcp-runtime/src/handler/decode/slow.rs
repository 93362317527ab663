//! The way of calls with which something is wrong: everything is looked at, what models often get wrong is forgiven, and
//! the rest is explained with the schema.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::forgive::{forgive, unquoted, unquoted_inside, without_fractions};
use super::scan::{pointer_at, scan, take};
use super::{Decoder, FAULTS, Wire, plain, pointer_to};
use crate::handler::check::{About, Fault, Validator, missing, quote, unknown};
use crate::handler::schema::allows;

impl Decoder {
    /// Decodes with an eye for everything that is wrong, and forgives what can be forgiven.
    pub(super) fn decode_slowly(
        &self,
        arguments: &str,
        slots: &mut [&mut dyn Any],
    ) -> Result<(), Vec<Fault>> {
        let mut entries: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
        let scanned = scan(arguments, |name, rest, _| {
            let (value, length) = take(rest)?;
            entries.push((name, Cow::Borrowed(value)));
            Ok(Some(length))
        });
        // Nothing is said about arguments that are not JSON but that: the rest would be guesses.
        scanned.map_err(|error| vec![error.fault()])?;
        let mut faults = Vec::new();
        let mut given: HashSet<String> = HashSet::with_capacity(entries.len());
        for (name, _) in &entries {
            if !given.insert(name.clone().into_owned()) && faults.len() < FAULTS {
                faults.push(Fault::new("", format!("argument `{name}` is given twice")));
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        if self.raw {
            self.check_raw(&mut entries)?;
        }
        let names = self.wire.iter().map(|wire| wire.name);
        let absent: Vec<&str> = names
            .chain(self.flattened.iter().map(String::as_str))
            .filter(|name| !given.contains(*name))
            .collect();
        let mut rest: Vec<(&str, &str)> = Vec::new();
        for (name, value) in &entries {
            let Some(position) = self.position(name, 0) else {
                if self.closed && !self.is_flattened(name) && faults.len() < FAULTS {
                    faults.push(Fault::new("", unknown("argument", name, &absent)));
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
                faults.push(Fault::new("", missing("argument", wire.name, schema)));
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

    fn decode_value(
        &self,
        wire: &Wire,
        raw: &str,
        slots: &mut [&mut dyn Any],
        faults: &mut Vec<Fault>,
    ) {
        let (Some(parameter), Some(slot)) =
            (self.parameters.get(wire.index), slots.get_mut(wire.index))
        else {
            return;
        };
        let holds = |raw: &str| wire.demand.as_ref().is_none_or(|demand| demand.holds(raw));
        let failure = match (parameter.ty.read)(&mut **slot, raw) {
            Ok(_) if holds(raw) => return,
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let value: Value = match serde_json::from_str(raw) {
            Ok(value) => value,
            Err(error) => {
                faults.push(Fault::new(
                    pointer_to(wire.name),
                    format!("is not valid JSON: {}", plain(&error)),
                ));
                return;
            }
        };
        let mut shown = value.clone();
        if failure.is_some() && self.is_lenient() {
            if value.is_null() && parameter.default.is_some() && self.fill(wire, slots) {
                return;
            }
            let inside = self
                .property(wire.name)
                .and_then(|schema| unquoted_inside(&value, schema));
            for forgiven in forgive(&value).into_iter().chain(inside) {
                let text = forgiven.to_string();
                let Some(slot) = slots.get_mut(wire.index) else {
                    return;
                };
                match (parameter.ty.read)(&mut **slot, &text) {
                    Ok(_) if holds(&text) => return,
                    // It is what was meant, but breaks a rule: that is what to say.
                    Ok(_) => shown = forgiven,
                    Err(_)
                        if !forgiven.is_string()
                            && value.is_string()
                            && same_kind(&forgiven, self.property(wire.name)) =>
                    {
                        shown = forgiven;
                    }
                    Err(_) => {}
                }
            }
        }
        let explained = match self
            .arguments
            .iter()
            .find(|argument| argument.name == wire.name)
        {
            Some(argument) if self.raw => {
                Validator::new(with_definitions(&argument.schema, self.schema()))
                    .map(|validator| validator.check_argument(wire.name, &shown))
                    .unwrap_or_default()
            }
            _ => self.validator.check_property(wire.name, &shown),
        };
        if !explained.is_empty() {
            faults.extend(explained);
            return;
        }
        let mut pointer = pointer_to(wire.name);
        let mut received = &value;
        let message = match &failure {
            Some(error) => {
                // Only the type knows what it did not like; where it stopped reading is where that stands.
                let inner = pointer_at(raw, error.line(), error.column());
                if let Some(found) = value.pointer(&inner) {
                    received = found;
                    pointer.push_str(&inner);
                }
                plain(error)
            }
            None => "is not allowed".to_owned(),
        };
        let received = quote(received);
        faults.push(Fault::new(
            pointer,
            format!("{message}; received {received}"),
        ));
    }

    fn property(&self, name: &str) -> Option<&Value> {
        self.schema()
            .get("properties")
            .and_then(|properties| properties.get(name))
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
        let mut text = String::from("{");
        for (name, value) in entries {
            if text.len() > 1 {
                text.push(',');
            }
            let _ = write!(text, "{}:{value}", Value::from(*name));
        }
        text.push('}');
        let Err(error) = (parameter.ty.read)(&mut **slot, &text) else {
            return;
        };
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return;
        };
        if self.is_lenient() {
            let mut forgiven = without_fractions(&value).unwrap_or_else(|| value.clone());
            for (name, member) in forgiven.as_object_mut().into_iter().flatten() {
                if let Some(schema) = self.property(name)
                    && let Some(inner) = unquoted(member)
                    && !allows(schema, "string")
                {
                    *member = without_fractions(&inner).unwrap_or(inner);
                }
            }
            if (parameter.ty.read)(&mut **slot, &forgiven.to_string()).is_ok() {
                return;
            }
        }
        let mut explained = self.validator.check_arguments(&value);
        // The other parameters are not in this object, and unknown names have been named already.
        explained.retain(|fault| match &fault.about {
            _ if !fault.pointer.is_empty() => true,
            About::Missing(name) => !self.wire.iter().any(|wire| wire.name == name),
            About::Unknown => false,
            About::Value => true,
        });
        if explained.is_empty() && faults.is_empty() {
            explained.push(Fault::new("", plain(&error)));
        }
        faults.extend(explained);
    }

    /// Checks against the schema the author wrote, with what can be forgiven forgiven in `entries`.
    fn check_raw(&self, entries: &mut [(Cow<'_, str>, Cow<'_, str>)]) -> Result<(), Vec<Fault>> {
        let mut object = Map::new();
        for (name, value) in entries.iter() {
            let value = serde_json::from_str(value).map_err(|error| {
                vec![Fault::new(
                    pointer_to(name),
                    format!("is not valid JSON: {}", plain(&error)),
                )]
            })?;
            object.insert(name.clone().into_owned(), value);
        }
        let value = Value::Object(object);
        let mut faults = self.validator.check_arguments(&value);
        if faults.is_empty() {
            return Ok(());
        }
        if self.is_lenient() {
            let mut forgiven = value;
            let mut changed = false;
            for (name, member) in forgiven.as_object_mut().into_iter().flatten() {
                let pointer = pointer_to(name);
                if faults.iter().any(|fault| fault.pointer == pointer)
                    && let Some(inner) = unquoted(member)
                {
                    *member = inner;
                    changed = true;
                }
            }
            if changed {
                let again = self.validator.check_arguments(&forgiven);
                if again.is_empty() {
                    for (name, text) in entries {
                        if let Some(member) = forgiven.get(&**name) {
                            *text = Cow::Owned(member.to_string());
                        }
                    }
                    return Ok(());
                }
                if again.len() <= faults.len() {
                    faults = again;
                }
            }
        }
        Err(faults)
    }
}

fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut schema = schema.clone();
    if let (Some(object), Some(definitions)) = (schema.as_object_mut(), root.get("$defs")) {
        object.insert("$defs".to_owned(), definitions.clone());
    }
    schema
}

fn same_kind(value: &Value, schema: Option<&Value>) -> bool {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    schema.is_some_and(|schema| {
        allows(schema, kind) || (kind == "number" && allows(schema, "integer"))
    })
}
