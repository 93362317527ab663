//! Decodes the argument object of a call into the slots of a function, in one scan.
//!
//! The object is taken apart here, and serde reads each value in place, straight into the slot of its parameter: nothing
//! is scanned twice, no key is copied, no tree is built. When anything is wrong, the slow path starts over: it looks at
//! everything, forgives what models often get wrong, and explains the rest with the schema.
//!
//! What schemas look like is left to [`schema`](super::schema), what is wrong with a value to [`check`](super::check).

mod demand;
mod forgive;
mod header;
mod root;
mod scan;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use schemars::Schema;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::call::Refusal;
use crate::handler::check::{Fault, Validator, missing, push_token, quote, unknown};
use crate::handler::parameter::{DefaultValue, ParameterMeta};
use crate::handler::schema::{Properties, allows, candidates};
use demand::Demand;
use forgive::{forgive, unquoted, without_fractions};
pub(crate) use header::HeaderArgument;
use header::find_headers;
use root::Root;
use scan::{Borrowable, pointer_at, scan, skip, take};

/// Most parameters of one function that come from the client: which of them were given is kept in 64 bits.
const MOST: usize = 64;

/// Most faults that are collected; more would help nobody.
const FAULTS: usize = 100;

/// How the arguments of a function arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As JSON of any type; unknown names are refused.
    Tool {
        /// Whether nothing is forgiven: no JSON inside a string, no `1.0` for an integer.
        strict: bool,
    },
    /// As strings, for prompts, templates and completers; unknown names are ignored.
    Text,
}

/// What others need to know about one argument.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentInfo {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) description: Option<String>,
    pub(crate) schema: Value,
    /// The values of an `enum` or a `bool`, which complete by themselves.
    pub(crate) candidates: Vec<String>,
    pub(crate) completer: Option<(TypeId, &'static str)>,
}

/// What is needed to decode the arguments of one function; made once, at start-up.
#[derive(Debug)]
pub(crate) struct Decoder {
    parameters: &'static [ParameterMeta],
    wire: Vec<Wire>,
    /// The parameter that takes the whole object, as an index into `parameters`.
    flatten: Option<usize>,
    /// The names the flattened type knows.
    flattened: Vec<String>,
    style: Style,
    validator: Validator,
    arguments: Vec<ArgumentInfo>,
    headers: Vec<HeaderArgument>,
    /// Whether the author wrote the schema, so that all it says has to be checked.
    raw: bool,
    /// Whether names that are neither a parameter nor a property are refused.
    closed: bool,
}

/// One parameter that comes from the client by name.
#[derive(Debug)]
struct Wire {
    name: &'static str,
    /// Index into `parameters` and into the slots.
    index: usize,
    /// Whether `null` decodes, so that it may be left out.
    nullable: bool,
    accepts_text: bool,
    demand: Option<Box<Demand>>,
}

impl Decoder {
    /// Looks everything through once.
    ///
    /// # Errors
    ///
    /// Everything the author has to change: defaults that do not decode, constraints that do not suit a type, patterns and
    /// schemas that are not valid, headers on what no header can mirror, a name used twice.
    pub(crate) fn new(
        parameters: &'static [ParameterMeta],
        style: Style,
        raw_schema: Option<Schema>,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut properties = Properties::new();
        let mut root = Root::default();
        let mut wire: Vec<Wire> = Vec::new();
        let mut arguments = Vec::new();
        let mut flatten: Option<usize> = None;
        for (index, parameter) in parameters.iter().enumerate() {
            if parameter.injected {
                continue;
            }
            let schema = properties.argument(parameter, &mut problems);
            if parameter.flatten {
                if let Some(first) = flatten.and_then(|first| parameters.get(first)) {
                    problems.push(format!(
                        "`{}` and `{}` both take the whole argument object; only one can",
                        first.name, parameter.name
                    ));
                }
                flatten = Some(index);
                root.flatten(schema, &mut problems);
                continue;
            }
            let name = parameter.name;
            if wire.iter().any(|other| other.name == name) {
                problems.push(format!("argument `{name}` is there twice"));
                continue;
            }
            let nullable = (parameter.accepts)("null");
            let required = !nullable && parameter.default.is_none();
            let demand = Demand::new(&parameter.constraints);
            check_default(parameter, demand.as_ref(), &mut problems);
            root.property(name, schema.clone(), required);
            wire.push(Wire {
                name,
                index,
                nullable,
                accepts_text: false,
                demand: demand.map(Box::new),
            });
            arguments.push(ArgumentInfo {
                name,
                required,
                description: schema
                    .get("description")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                candidates: candidates(&schema),
                completer: parameter.completer.map(|completer| completer()),
                schema,
            });
        }
        if wire.len() > MOST {
            problems.push(format!(
                "{} arguments; a function can have {MOST}",
                wire.len()
            ));
        }
        let (mut schema, closed) = root.finish(style);
        properties.finish(&mut schema);
        let raw = raw_schema.is_some();
        if let Some(given) = raw_schema {
            schema = given.to_value();
            if schema.get("type").is_none_or(|kind| kind != "object") {
                problems
                    .push("the input schema needs `\"type\": \"object\"` at its root".to_owned());
            }
        }
        for (wire, argument) in wire.iter_mut().zip(&arguments) {
            wire.accepts_text = accepts_text(&argument.schema, &schema, 0);
        }
        let headers = find_headers(&schema, &mut problems);
        let validator = match Validator::new(schema) {
            Ok(validator) => validator,
            Err(problem) => {
                problems.push(format!("the input schema is not valid: {problem}"));
                return Err(problems);
            }
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        let flattened = match flatten {
            Some(_) => other_properties(validator.schema(), &wire),
            None => Vec::new(),
        };
        Ok(Self {
            parameters,
            wire,
            flatten,
            flattened,
            style,
            validator,
            arguments,
            headers,
            raw,
            closed: closed && !raw && style != Style::Text,
        })
    }

    /// The input schema: made from the parameters in their order, or what the author wrote, unchanged.
    pub(crate) fn schema(&self) -> &Value {
        self.validator.schema()
    }

    /// The arguments that have a name of their own, in order.
    pub(crate) fn arguments(&self) -> &[ArgumentInfo] {
        &self.arguments
    }

    /// The arguments that headers mirror.
    pub(crate) fn headers(&self) -> &[HeaderArgument] {
        &self.headers
    }

    /// Turns an object of strings into the object that [`decode`](Self::decode) reads: text stays text where the argument
    /// may be text, and becomes the JSON it holds elsewhere.
    ///
    /// # Errors
    ///
    /// If it is not an object of strings.
    #[allow(
        clippy::wrong_self_convention,
        reason = "named for what is converted; the decoder only says how"
    )]
    pub(crate) fn from_strings(&self, arguments: &str) -> Result<String, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
        let scanned = scan(arguments, |name, rest, _| {
            let (value, length) = take(rest)?;
            match serde_json::from_str::<Borrowable<'_>>(value) {
                Ok(Borrowable(text)) => pairs.push((name, text)),
                Err(_) if value == "null" => {}
                Err(_) => {
                    let mut pointer = String::new();
                    push_token(&mut pointer, &name);
                    if faults.len() >= FAULTS {
                        return Ok(Some(length));
                    }
                    faults.push(Fault::new(
                        pointer,
                        format!("expected string, received {}", quote_raw(value)),
                    ));
                }
            }
            Ok(Some(length))
        });
        if let Err(error) = scanned {
            return Err(vec![error.fault()]);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(self.from_pairs(pairs.iter().map(|(name, text)| (&**name, &**text))))
    }

    /// The same from the variables of a template.
    #[allow(
        clippy::wrong_self_convention,
        reason = "named for what is converted; the decoder only says how"
    )]
    pub(crate) fn from_pairs<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> String {
        let mut out = String::from("{");
        for (name, text) in pairs {
            let wire = self.wire.iter().find(|wire| wire.name == name);
            // Forms send an empty field for what was left out.
            if wire.is_some_and(|wire| text.is_empty() && !wire.accepts_text && self.may_lack(wire))
            {
                continue;
            }
            if out.len() > 1 {
                out.push(',');
            }
            let _ = write!(out, "{}:", Value::from(name));
            match wire {
                Some(wire)
                    if !wire.accepts_text && serde_json::from_str::<&RawValue>(text).is_ok() =>
                {
                    out.push_str(text);
                }
                _ => {
                    let _ = write!(out, "{}", Value::from(text));
                }
            }
        }
        out.push('}');
        out
    }

    /// As [`from_pairs`](Self::from_pairs), without the values that do not decode: a completion has to work with the
    /// earlier arguments as they are. `None` if a required argument is not among what is left, so that there is nothing
    /// to complete from.
    #[allow(
        clippy::wrong_self_convention,
        reason = "named for what is converted; the decoder only says how"
    )]
    pub(crate) fn from_decodable_pairs<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Option<String> {
        let decodable = |(name, text): &(&str, &str)| {
            let Some(wire) = self.wire.iter().find(|wire| wire.name == *name) else {
                return false;
            };
            let Some(parameter) = self.parameters.get(wire.index) else {
                return false;
            };
            let quoted;
            let json = if wire.accepts_text {
                quoted = Value::from(*text).to_string();
                quoted.as_str()
            } else {
                text.trim()
            };
            (parameter.accepts)(json)
                && serde_json::from_str::<&RawValue>(json).is_ok()
                && wire.demand.as_ref().is_none_or(|demand| demand.holds(json))
        };
        let kept: Vec<(&str, &str)> = pairs.into_iter().filter(decodable).collect();
        let given = |wire: &Wire| kept.iter().any(|(name, _)| *name == wire.name);
        self.wire
            .iter()
            .all(|wire| given(wire) || self.may_lack(wire))
            .then(|| self.from_pairs(kept))
    }

    fn may_lack(&self, wire: &Wire) -> bool {
        wire.nullable
            || self
                .parameters
                .get(wire.index)
                .is_some_and(|parameter| parameter.default.is_some())
    }

    /// Fills the slots, each an `Option<T>`, one per parameter in order.
    ///
    /// `arguments` is one JSON object; nothing at all stands for an empty one. `context` is asked for only if a parameter
    /// needs it and the arguments are in order.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the arguments, or else the first injected value that could not be had.
    pub(crate) fn decode(
        &self,
        arguments: &str,
        slots: &mut [&mut dyn Any],
        context: &dyn Fn() -> Context,
    ) -> Result<(), Refusal> {
        let arguments = match arguments.trim_ascii() {
            "" => "{}",
            text => text,
        };
        if self.raw || !self.decode_fast(arguments, slots) {
            self.decode_slowly(arguments, slots)
                .map_err(Refusal::Arguments)?;
        }
        let mut made: Option<Context> = None;
        for (parameter, slot) in self.parameters.iter().zip(slots) {
            if parameter.injected {
                (parameter.inject)(&mut **slot, made.get_or_insert_with(context))?;
            }
        }
        Ok(())
    }

    /// The way nearly every call goes. Says only whether all went well.
    fn decode_fast(&self, arguments: &str, slots: &mut [&mut dyn Any]) -> bool {
        let mut given = 0_u64;
        let mut expected = 0_usize;
        let scanned = scan(arguments, |name, rest, _| {
            let Some(position) = self.position(&name, expected) else {
                if self.closed && !self.is_flattened(&name) {
                    return Ok(None);
                }
                return skip(rest).map(Some);
            };
            expected = position.saturating_add(1);
            let bit = 1_u64
                .checked_shl(u32::try_from(position).unwrap_or(u32::MAX))
                .unwrap_or(0);
            let Some(wire) = self
                .wire
                .get(position)
                .filter(|_| bit != 0 && given & bit == 0)
            else {
                return Ok(None);
            };
            given |= bit;
            let (Some(parameter), Some(slot)) =
                (self.parameters.get(wire.index), slots.get_mut(wire.index))
            else {
                return Ok(None);
            };
            let Ok(length) = (parameter.read)(&mut **slot, rest) else {
                return Ok(None);
            };
            if let Some(demand) = &wire.demand {
                let raw = rest.get(..length).unwrap_or("");
                if !demand.holds(raw) {
                    return Ok(None);
                }
            }
            Ok(Some(length))
        });
        if !matches!(scanned, Ok(true)) {
            return false;
        }
        for (position, wire) in self.wire.iter().enumerate() {
            if given >> position & 1 == 0 && !self.fill(wire, slots) {
                return false;
            }
        }
        match self.flatten {
            // The other arguments have to be taken out first.
            Some(_) if !self.wire.is_empty() => false,
            Some(index) => match (self.parameters.get(index), slots.get_mut(index)) {
                (Some(parameter), Some(slot)) => (parameter.read)(&mut **slot, arguments).is_ok(),
                _ => false,
            },
            None => true,
        }
    }

    fn is_flattened(&self, name: &str) -> bool {
        self.flattened.iter().any(|known| known == name)
    }

    /// Which parameter has this name; most clients send them in order.
    fn position(&self, name: &str, expected: usize) -> Option<usize> {
        if self
            .wire
            .get(expected)
            .is_some_and(|wire| wire.name == name)
        {
            return Some(expected);
        }
        self.wire.iter().position(|wire| wire.name == name)
    }

    /// Fills the slot of an argument that was left out; `false` if it may not be.
    fn fill(&self, wire: &Wire, slots: &mut [&mut dyn Any]) -> bool {
        let (Some(parameter), Some(slot)) =
            (self.parameters.get(wire.index), slots.get_mut(wire.index))
        else {
            return false;
        };
        match &parameter.default {
            Some(DefaultValue::Json(text)) => (parameter.read)(&mut **slot, text).is_ok(),
            Some(DefaultValue::Rust { fill, .. }) => {
                fill(&mut **slot);
                true
            }
            None => wire.nullable && (parameter.read)(&mut **slot, "null").is_ok(),
        }
    }

    fn is_lenient(&self) -> bool {
        self.style != Style::Tool { strict: true }
    }

    /// Decodes with an eye for everything that is wrong, and forgives what can be forgiven.
    fn decode_slowly(&self, arguments: &str, slots: &mut [&mut dyn Any]) -> Result<(), Vec<Fault>> {
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
        let failure = match (parameter.read)(&mut **slot, raw) {
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
            for forgiven in forgive(&value) {
                let text = forgiven.to_string();
                let Some(slot) = slots.get_mut(wire.index) else {
                    return;
                };
                match (parameter.read)(&mut **slot, &text) {
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
                    .map(|validator| validator.check(&shown))
                    .unwrap_or_default()
                    .into_iter()
                    .map(|fault| {
                        Fault::new(
                            format!("{}{}", pointer_to(wire.name), fault.pointer),
                            fault.message,
                        )
                    })
                    .collect()
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
        let Err(error) = (parameter.read)(&mut **slot, &text) else {
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
            if (parameter.read)(&mut **slot, &forgiven.to_string()).is_ok() {
                return;
            }
        }
        let mut explained = self.validator.check(&value);
        // The other parameters are not in this object, and unknown names have been named already.
        let others = |fault: &Fault| {
            self.wire.iter().any(|wire| {
                fault
                    .message
                    .starts_with(&format!("missing property `{}`", wire.name))
            }) || fault.message.starts_with("unknown property") && fault.pointer.is_empty()
        };
        explained.retain(|fault| !others(fault));
        for fault in &mut explained {
            if fault.pointer.is_empty() {
                fault.message = fault
                    .message
                    .replacen("missing property", "missing argument", 1);
            }
        }
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
        let mut faults = self.validator.check(&value);
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
                let again = self.validator.check(&forgiven);
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
        for fault in &mut faults {
            if fault.pointer.is_empty() {
                fault.message = fault
                    .message
                    .replacen("unknown property", "unknown argument", 1)
                    .replacen("missing property", "missing argument", 1);
            }
        }
        Err(faults)
    }
}

/// The properties of a schema that are no parameters of their own.
fn other_properties(schema: &Value, wire: &[Wire]) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(Map::keys).cloned();
    names
        .filter(|name| !wire.iter().any(|wire| wire.name == name))
        .collect()
}

fn check_default(parameter: &ParameterMeta, demand: Option<&Demand>, problems: &mut Vec<String>) {
    let name = parameter.name;
    match &parameter.default {
        Some(DefaultValue::Json(text)) => {
            if !(parameter.accepts)(text) {
                problems.push(format!(
                    "argument `{name}`: the default `{text}` is not a value of its type"
                ));
            } else if demand.is_some_and(|demand| !demand.holds(text)) {
                problems.push(format!(
                    "argument `{name}`: the default `{text}` breaks its own rules"
                ));
            }
        }
        Some(DefaultValue::Rust { json, .. }) => {
            if let (Ok(value), Some(demand)) = (json(), demand)
                && !demand.holds(&value.to_string())
            {
                problems.push(format!(
                    "argument `{name}`: the default `{value}` breaks its own rules"
                ));
            }
        }
        None => {}
    }
}

fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut schema = schema.clone();
    if let (Some(object), Some(definitions)) = (schema.as_object_mut(), root.get("$defs")) {
        object.insert("$defs".to_owned(), definitions.clone());
    }
    schema
}

/// Whether a value may be sent as plain text; follows references.
fn accepts_text(schema: &Value, root: &Value, depth: u32) -> bool {
    if depth > 16 {
        return false;
    }
    if let Some(target) = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'))
    {
        return root
            .pointer(target)
            .is_some_and(|target| accepts_text(target, root, depth + 1));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            return branches
                .iter()
                .any(|branch| accepts_text(branch, root, depth + 1));
        }
    }
    allows(schema, "string")
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

fn pointer_to(name: &str) -> String {
    let mut pointer = String::new();
    push_token(&mut pointer, name);
    pointer
}

/// An error of serde without its position, which is that within one value.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

fn quote_raw(raw: &str) -> String {
    serde_json::from_str::<Value>(raw)
        .map_or_else(|_| "something else".to_owned(), |value| quote(&value))
}
