//! Decodes a call's argument object into a function's slots in a single scan.
//!
//! The object is split here, and serde reads each value in place, directly into its parameter's slot. The text is
//! scanned only once, without copying keys or building a tree. If the arguments are invalid, the slow path starts over:
//! it examines all arguments, corrects mistakes that models frequently make, and uses the schema to explain the others.
//!
//! `mcp_schema` creates schemas and checks values against them.

mod identity;
mod json_reader;
#[cfg(test)]
mod judgement;
mod refused;
mod slow;
mod start_up;
#[cfg(test)]
mod tests;
mod types;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use mcp_schema::check::{SentValue, Validator};
use mcp_schema::explain::{Fault, FaultSubject, push_token, quote};
use mcp_schema::query::allows;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::decode::types::SchemaBeyondType;
use crate::handler::handler_error::CallRefusal;
use crate::handler::parameter::{DefaultValue, ParameterMeta};
use crate::jsonrpc::{ParseLimits, Scan, ScanFailure, unquote};

pub use identity::{ArgumentIdentities, as_received};
pub use json_reader::{InvalidJson, JsonReader};
pub(crate) use slow::to_map;

/// Maximum number of client-supplied parameters of a function. The limit exists because a 64-bit set tracks the
/// parameters that were provided.
const MAX_PARAMETERS: usize = 64;

/// Maximum number of errors to collect. Reporting more would not be helpful.
const FAULTS: usize = 100;

/// The form in which a function's arguments arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentStyle {
    /// As JSON values of any type; unknown names are rejected.
    Tool {
        /// `true` if arguments are not coerced, so that neither JSON inside a string nor `1.0` for an integer is
        /// accepted.
        strict: bool,
    },
    /// As strings, for prompts, templates and completers; unknown names are ignored.
    Text,
}

/// The properties of an argument that other modules need.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentInfo {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) description: Option<String>,
    pub(crate) schema: Value,
    /// The values of an `enum` or a `bool`, which are completed automatically.
    pub(crate) candidates: Vec<String>,
    pub(crate) completer: Option<(TypeId, &'static str)>,
    /// `true` if the argument is a template variable that accepts values leading out of a directory.
    pub(crate) any_path: bool,
}

/// The data needed to decode the arguments of one function. Created once, at start-up.
#[derive(Debug)]
pub struct Decoder {
    parameters: &'static [ParameterMeta],
    wire: Vec<WireParameter>,
    /// The parameter that takes the entire object, as an index into `parameters`.
    flatten: Option<usize>,
    /// The names of the flattened type's properties.
    flattened: Vec<String>,
    /// The part of the flattened type's schema that must be enforced separately.
    flattened_beyond_type: Option<SchemaBeyondType>,
    style: ArgumentStyle,
    /// Enforces the schema.
    validator: Validator,
    /// The schema sent to clients, if it differs from the enforced schema.
    published: Option<Box<Value>>,
    arguments: Vec<ArgumentInfo>,
    headers: Vec<HeaderArgument>,
    /// `true` if the author wrote the schema, in which case the whole schema must be checked.
    raw: bool,
    /// `true` if names that belong to neither a parameter nor a property are rejected.
    closed: bool,
    /// The limits for JSON inside strings.
    limits: ParseLimits,
}

/// A parameter whose value the client sends by name.
#[derive(Debug)]
struct WireParameter {
    name: &'static str,
    /// Index into `parameters` and into the slots.
    index: usize,
    /// `true` if `null` can be decoded, which makes the argument optional.
    nullable: bool,
    accepts_text: bool,
    /// The part of the schema that must be enforced separately, or `None` if the type itself enforces the entire
    /// schema.
    beyond_type: Option<SchemaBeyondType>,
}

impl Decoder {
    /// Returns the input schema for clients, which is either generated from the parameters, in order, or provided by
    /// the author and left unchanged.
    pub(crate) fn schema(&self) -> &Value {
        self.published.as_deref().unwrap_or(self.validator.schema())
    }

    /// Returns the named arguments, in order.
    pub(crate) fn arguments(&self) -> &[ArgumentInfo] {
        &self.arguments
    }

    /// Returns the arguments that are mirrored in headers.
    pub(crate) fn headers(&self) -> &[HeaderArgument] {
        &self.headers
    }

    /// Fills the slots. There is one `Option<T>` for each parameter, in order.
    ///
    /// `arguments` is a JSON object; an empty string counts as an empty object. `context` is called only if a parameter
    /// needs it and the arguments are valid.
    ///
    /// # Errors
    ///
    /// Returns all errors in the arguments or, if there are none, the error for the first injected value that is
    /// unavailable.
    pub fn decode(
        &self,
        arguments: &str,
        slots: &mut [&mut dyn Any],
        context: &dyn Fn() -> Context,
    ) -> Result<(), CallRefusal> {
        let arguments = match arguments.trim_ascii() {
            "" => "{}",
            text => text,
        };
        if self.raw || !self.decode_fast(arguments, slots) {
            self.decode_slowly(arguments, slots)
                .map_err(CallRefusal::Arguments)?;
        }
        let mut made: Option<Context> = None;
        for (parameter, slot) in self.parameters.iter().zip(slots) {
            if parameter.ty.injected {
                (parameter.ty.inject)(&mut **slot, made.get_or_insert_with(context))?;
            }
        }
        Ok(())
    }

    /// The fast path, which decodes the arguments of nearly all calls. Returns `false`, without giving a reason, if the
    /// arguments are invalid.
    fn decode_fast(&self, arguments: &str, slots: &mut [&mut dyn Any]) -> bool {
        let mut given = 0_u64;
        let mut expected = 0_usize;
        let scanned = Scan::new(arguments).members(|scan, name| {
            let Some(position) = self.position(&name, expected) else {
                if self.closed && !self.is_flattened(&name) {
                    return None;
                }
                return scan.next_value().map(drop);
            };
            expected = position.saturating_add(1);
            let bit = 1_u64
                .checked_shl(u32::try_from(position).unwrap_or(u32::MAX))
                .unwrap_or(0);
            if bit == 0 || given & bit != 0 {
                return None;
            }
            given |= bit;
            let wire = self.wire.get(position)?;
            let (parameter, slot) = (self.parameters.get(wire.index)?, slots.get_mut(wire.index)?);
            let start = scan.next_value_start();
            if !read_string(&mut **slot, scan)? {
                let length = (parameter.ty.read)(&mut **slot, scan.rest()).ok()?;
                scan.advance(length);
            }
            (wire.beyond_type.is_none() || self.fits(wire, scan.text_since(start))).then_some(())
        });
        if scanned.is_none() {
            return false;
        }
        for (position, wire) in self.wire.iter().enumerate() {
            if given >> position & 1 == 0 && !self.fill(wire, slots) {
                return false;
            }
        }
        match self.flatten {
            // The other arguments would first have to be removed from the object.
            Some(_) if !self.wire.is_empty() => false,
            Some(index) => match (self.parameters.get(index), slots.get_mut(index)) {
                (Some(parameter), Some(slot)) => {
                    (parameter.ty.read)(&mut **slot, arguments).is_ok()
                        && self.flattened_fits(arguments)
                }
                _ => false,
            },
            None => true,
        }
    }

    fn is_flattened(&self, name: &str) -> bool {
        self.flattened.iter().any(|known| known == name)
    }

    /// Returns the position of the parameter with this name. Tries `expected` first, because most clients send
    /// arguments in order.
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

    /// Fills the slot of an omitted argument; returns `false` if the argument is required.
    fn fill(&self, wire: &WireParameter, slots: &mut [&mut dyn Any]) -> bool {
        let slot = slots.get_mut(wire.index);
        slot.is_some_and(|slot| self.fill_slot(wire, &mut **slot))
    }

    fn fill_slot(&self, wire: &WireParameter, slot: &mut dyn Any) -> bool {
        let Some(parameter) = self.parameters.get(wire.index) else {
            return false;
        };
        match &parameter.default {
            Some(DefaultValue::Json(text)) => (parameter.ty.read)(slot, text).is_ok(),
            Some(DefaultValue::Rust { fill, .. }) => {
                fill(slot);
                true
            }
            None => wire.nullable && (parameter.ty.read)(slot, "null").is_ok(),
        }
    }

    /// Returns `true` if a decoded value matches its schema.
    fn fits(&self, wire: &WireParameter, raw: &str) -> bool {
        wire.beyond_type.as_ref().is_none_or(|beyond_type| {
            beyond_type.matches(raw, |value| self.examine(Some(wire.name), value))
                || (wire.nullable && raw.trim_ascii() == "null")
        })
    }

    /// Returns `true` if the decoded value of the flattened parameter matches the schema.
    fn flattened_fits(&self, raw: &str) -> bool {
        self.flattened_beyond_type
            .as_ref()
            .is_none_or(|beyond_type| beyond_type.matches(raw, |value| self.examine(None, value)))
    }

    /// Compares the value of a property, or the object for the flattened parameter if `name` is `None`, with its entire
    /// schema.
    fn examine(&self, name: Option<&str>, value: &Value) -> SentValue {
        let mut sent = self.validator.examine_sent(name, value);
        if name.is_none() {
            // The other parameters are not part of this object.
            sent.faults.retain(|fault| match &fault.about {
                FaultSubject::Missing(name) if fault.pointer.is_empty() => {
                    !self.wire.iter().any(|wire| wire.name == name)
                }
                _ => true,
            });
        }
        sent
    }

    /// Returns `true` if mistakes that models frequently make are corrected.
    pub(crate) fn is_lenient(&self) -> bool {
        self.style != ArgumentStyle::Tool { strict: true }
    }
}

/// Reads a string into the slot of a `String`. Returns `false` if the value is not a string or the slot is for a
/// different type. Serde is not used because it would keep a second copy of a string with escapes while reading it, and
/// the string may be large.
fn read_string(slot: &mut dyn Any, scan: &mut Scan<'_>) -> Option<bool> {
    if scan.peek() != Some(b'"') {
        return Some(false);
    }
    let Some(slot) = slot.downcast_mut::<Option<String>>() else {
        return Some(false);
    };
    *slot = Some(scan.next_string()?.into_owned());
    Some(true)
}

fn pointer_to(name: &str) -> String {
    let mut pointer = String::new();
    push_token(&mut pointer, name);
    pointer
}

/// Returns serde's message without the position, which is relative to a single value.
pub(crate) fn serde_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

// --- Splits an argument object into its members without decoding the values.

/// Returns the names and values in an argument object. Each name must be unique so that all code that examines a call
/// sees the same arguments.
///
/// # Errors
///
/// Returns an error if the text is not an object or if an argument is given twice.
pub fn entries(arguments: &str) -> Result<Vec<(Cow<'_, str>, &str)>, Vec<Fault>> {
    let mut scan = Scan::new(arguments);
    if scan.peek() != Some(b'{') {
        return Err(vec![Fault::new("", "the arguments must be a JSON object")]);
    }
    let mut entries = Vec::new();
    let scanned = scan.members(|scan, name| {
        entries.push((name, scan.next_value()?));
        Some(())
    });
    // If the arguments are not JSON, only that error is reported, because any other errors would be guesses.
    scanned.ok_or_else(|| vec![not_json(arguments, scan.failure())])?;
    let mut names = HashSet::with_capacity(entries.len());
    let twice = entries.iter().filter(|(name, _)| !names.insert(&**name));
    let faults: Vec<Fault> = twice
        .take(FAULTS)
        .map(|(name, _)| Fault::new("", format!("argument `{name}` is given twice")))
        .collect();
    if faults.is_empty() {
        Ok(entries)
    } else {
        Err(faults)
    }
}

/// Explains why the arguments could not be read. The arguments in a message are always valid JSON, so this is needed
/// only for arguments that were created from strings and for callers in the same program.
fn not_json(arguments: &str, failure: ScanFailure) -> Fault {
    let reason = match (failure, serde_json::from_str::<IgnoredAny>(arguments)) {
        (ScanFailure::Syntax(_), Err(error)) => serde_message(&error),
        (ScanFailure::Syntax(at), Ok(_)) => format!("invalid JSON at byte {at}"),
        (ScanFailure::Deep | ScanFailure::Long, _) => "nested too deeply".to_owned(),
    };
    Fault::new("", format!("the arguments are not valid JSON: {reason}"))
}

/// Returns the value of a member of an object. If there are duplicates, returns the value of the last member, as
/// parsers that accept duplicates do.
#[must_use]
pub fn member<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    let mut found = None;
    let scanned = Scan::new(json).members(|scan, key| {
        let value = scan.next_value()?;
        if key == name {
            found = Some(value);
        }
        Some(())
    });
    scanned.and(found)
}

// --- Converts the strings that prompts, templates and completers receive into JSON that is ready to be decoded.

impl Decoder {
    /// Converts an object of strings into the object that [`decode`](Self::decode) expects. A string remains a string
    /// if the argument accepts strings; otherwise, it is replaced with the JSON that it contains.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not an object of strings.
    #[allow(
        clippy::wrong_self_convention,
        reason = "named after its input; the decoder only defines the conversion"
    )]
    pub(crate) fn from_strings(&self, arguments: &str) -> Result<String, Vec<Fault>> {
        let pairs = strings(arguments)?;
        Ok(self.from_pairs(pairs.iter().map(|(name, text)| (&**name, &**text))))
    }

    /// Like [`from_strings`](Self::from_strings), but converts the variables of a template.
    #[allow(
        clippy::wrong_self_convention,
        reason = "named after its input; the decoder only defines the conversion"
    )]
    pub(crate) fn from_pairs<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> String {
        let mut out = String::from("{");
        for (name, text) in pairs {
            let wire = self.wire.iter().find(|wire| wire.name == name);
            // Forms represent an omitted value as an empty string.
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

    /// Like [`from_pairs`](Self::from_pairs), but skips values that cannot be decoded, because a completion must work
    /// with the arguments filled in so far. Returns `None` if a required argument would be skipped, because completion
    /// is not possible without it.
    #[allow(
        clippy::wrong_self_convention,
        reason = "named after its input; the decoder only defines the conversion"
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
            (parameter.ty.accepts)(json)
                && serde_json::from_str::<&RawValue>(json).is_ok()
                && self.fits(wire, json)
        };
        let kept: Vec<(&str, &str)> = pairs.into_iter().filter(decodable).collect();
        let given = |wire: &WireParameter| kept.iter().any(|(name, _)| *name == wire.name);
        self.wire
            .iter()
            .all(|wire| given(wire) || self.may_lack(wire))
            .then(|| self.from_pairs(kept))
    }

    fn may_lack(&self, wire: &WireParameter) -> bool {
        wire.nullable
            || self
                .parameters
                .get(wire.index)
                .is_some_and(|parameter| parameter.default.is_some())
    }
}

/// Pairs of names and strings.
type Strings<'t> = Vec<(Cow<'t, str>, Cow<'t, str>)>;

/// Returns the names and values in an object of strings. `null` counts as absent.
///
/// # Errors
///
/// Returns an error if the text is not an object of strings, or if a name is given twice, even as `null`.
pub(crate) fn strings(arguments: &str) -> Result<Strings<'_>, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut pairs = Vec::new();
    for (name, value) in entries(arguments)? {
        match unquote(value) {
            Ok(text) => pairs.push((name, text)),
            Err(_) if value == "null" => {}
            Err(_) if faults.len() >= FAULTS => {}
            Err(_) => faults.push(Fault::new(
                pointer_to(&name),
                format!("expected string, received {}", quote_raw(value)),
            )),
        }
    }
    if faults.is_empty() {
        Ok(pairs)
    } else {
        Err(faults)
    }
}

fn quote_raw(raw: &str) -> String {
    serde_json::from_str::<Value>(raw)
        .map_or_else(|_| "something else".to_owned(), |value| quote(&value))
}

// --- Arguments that are mirrored in headers.

/// The schema keyword that names the header of a tool argument.
pub(super) const HEADER: &str = "x-mcp-header";

/// An argument that is mirrored in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderArgument {
    /// The property names on the path from the argument object to the value.
    pub path: Vec<String>,
    /// The header name without `Mcp-Param-`.
    pub header: String,
}

/// Finds the arguments that are mirrored in headers. Only strings, booleans and integers that can be reached through
/// properties alone can be mirrored (HDR-06).
pub(crate) fn find_headers(schema: &Value, problems: &mut Vec<String>) -> Vec<HeaderArgument> {
    let mut headers = Vec::new();
    walk_headers(schema, &mut Vec::new(), true, 0, &mut headers, problems);
    for (index, one) in headers.iter().enumerate() {
        if headers
            .iter()
            .take(index)
            .any(|other: &HeaderArgument| other.header.eq_ignore_ascii_case(&one.header))
        {
            problems.push(format!("header `{}` mirrors two arguments", one.header));
        }
    }
    headers
}

fn walk_headers(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    depth: u32,
    headers: &mut Vec<HeaderArgument>,
    problems: &mut Vec<String>,
) {
    let Some(object) = schema.as_object().filter(|_| depth < 128) else {
        for inner in schema
            .as_array()
            .into_iter()
            .flatten()
            .filter(|_| depth < 128)
        {
            walk_headers(inner, path, false, depth + 1, headers, problems);
        }
        return;
    };
    if let Some(header) = object.get(HEADER) {
        let place = path.join(".");
        match header.as_str() {
            Some(header) if !is_token(header) => problems.push(format!(
                "`{place}`: `{header}` is not a valid header name; use letters, digits and `-`"
            )),
            None => problems.push(format!("`{place}`: `{HEADER}` must be a header name")),
            Some(_) if !reachable || path.is_empty() => problems.push(format!(
                "`{place}`: a header can mirror only a value that is reached through properties"
            )),
            Some(header) => {
                let suits = object
                    .get("type")
                    .and_then(Value::as_str)
                    .is_some_and(|kind| matches!(kind, "string" | "boolean" | "integer"));
                if suits {
                    headers.push(HeaderArgument {
                        path: path.clone(),
                        header: header.to_owned(),
                    });
                } else {
                    problems.push(format!(
                        "`{place}`: a header can mirror only a string, a boolean or an integer"
                    ));
                }
            }
        }
    }
    for (keyword, inner) in object {
        match keyword.as_str() {
            "properties" => {
                for (name, inner) in inner.as_object().into_iter().flatten() {
                    path.push(name.clone());
                    walk_headers(inner, path, reachable, depth + 1, headers, problems);
                    path.pop();
                }
            }
            "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for inner in inner.as_object().into_iter().flat_map(Map::values) {
                    walk_headers(inner, path, false, depth + 1, headers, problems);
                }
            }
            "enum" | "const" | "default" | "examples" => {}
            _ => walk_headers(inner, path, false, depth + 1, headers, problems),
        }
    }
}

pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

// --- The schema of an argument object while it is being built.

/// The schema of an argument object while it is being built.
#[derive(Default)]
pub(super) struct ArgumentSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// The keywords of a flattened type's schema other than its properties.
    rest: Option<Map<String, Value>>,
}

impl ArgumentSchema {
    pub(super) fn property(&mut self, name: &str, schema: Value, required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if required {
            self.required.push(name.into());
        }
    }

    pub(super) fn flatten(&mut self, schema: Value, problems: &mut Vec<String>) {
        if !allows(&schema, "object") {
            problems.push(
                "a parameter that takes the whole argument object must accept an object".to_owned(),
            );
            return;
        }
        let Value::Object(mut rest) = schema else {
            return;
        };
        if let Some(Value::Object(properties)) = rest.shift_remove("properties") {
            for (name, schema) in properties {
                if self.properties.contains_key(&name) {
                    problems.push(format!("argument `{name}` is defined twice"));
                }
                self.properties.insert(name, schema);
            }
        }
        if let Some(Value::Array(required)) = rest.shift_remove("required") {
            self.required.extend(required);
        }
        rest.shift_remove("type");
        self.rest = Some(rest);
    }

    /// Returns the schema, along with `true` if it names every allowed property.
    pub(super) fn finish(self, style: ArgumentStyle) -> (Value, bool) {
        let mut object = Map::new();
        object.insert("type".to_owned(), "object".into());
        let mut rest = self.rest.unwrap_or_default();
        let open = ["oneOf", "anyOf", "allOf", "$ref", "patternProperties", "if"]
            .iter()
            .any(|keyword| rest.contains_key(*keyword))
            || rest
                .get("additionalProperties")
                .is_some_and(|more| more != &Value::Bool(false));
        if let Some(description) = rest.shift_remove("description") {
            object.insert("description".to_owned(), description);
        }
        // Some model APIs refuse a schema without `properties`, and adapters of hosts expect it, even if it is empty.
        object.insert("properties".to_owned(), Value::Object(self.properties));
        if !self.required.is_empty() {
            object.insert("required".to_owned(), Value::Array(self.required));
        }
        if !open && style != ArgumentStyle::Text {
            object.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        for (keyword, value) in rest {
            object.entry(keyword).or_insert(value);
        }
        (Value::Object(object), !open)
    }
}
