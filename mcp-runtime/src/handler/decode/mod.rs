//! Decodes a call's argument object into a function's slots in a single scan.
//!
//! The object is split here, and serde reads each value in place, directly into its parameter's slot. The text is
//! scanned only once, without copying keys or building a tree. If the arguments are invalid, the slow path starts over:
//! it examines all arguments, corrects mistakes that models frequently make, and uses the schema to explain the others.
//!
//! `mcp_schema` creates schemas and checks values against them.

mod entries;
mod forgive;
mod header;
mod identity;
mod json_reader;
#[cfg(test)]
mod judgement;
mod map;
mod out_of_range;
mod pointer;
mod refused;
mod root;
mod slow;
mod start_up;
mod strings;
#[cfg(test)]
mod tests;
mod types;

use std::any::{Any, TypeId};

use mcp_schema::check::Validator;
use mcp_schema::constraint::TextConstraints;
use mcp_schema::explain::push_token;
use serde_json::Value;

use crate::context::Context;
use crate::handler::parameter::{DefaultValue, ParameterMeta};
use crate::handler::refusal::CallRefusal;
use crate::jsonrpc::{ParseLimits, Scan};
pub(crate) use entries::entries;
pub(crate) use entries::member;
pub(crate) use header::{HeaderArgument, find_headers};
pub(crate) use identity::{ArgumentIdentities, as_received};
pub use json_reader::{InvalidJson, JsonReader};
pub(crate) use map::to_map;
pub(crate) use strings::strings;
use types::SchemaBeyondType;

/// Maximum number of client-supplied parameters of a function. The limit exists because a 64-bit set tracks the
/// parameters that were provided.
const MOST: usize = 64;

/// Maximum number of errors to collect. Reporting more would not be helpful.
const FAULTS: usize = 100;

/// The form in which a function's arguments arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentStyle {
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
pub(crate) struct Decoder {
    parameters: &'static [ParameterMeta],
    wire: Vec<WireParameter>,
    /// The parameter that takes the entire object, as an index into `parameters`.
    flatten: Option<usize>,
    /// The names of the flattened type's properties.
    flattened: Vec<String>,
    /// The part of the flattened type's schema that must be enforced separately.
    flattened_types: Option<SchemaBeyondType>,
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
    constraints: Option<Box<TextConstraints>>,
    /// The part of the schema that must be enforced separately, or `None` if the type itself enforces the entire
    /// schema.
    types: Option<SchemaBeyondType>,
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
    pub(crate) fn decode(
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
            let has_rules = wire.constraints.is_some() || wire.types.is_some();
            (!has_rules || self.fits(wire, scan.text_since(start))).then_some(())
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

    /// Returns `true` if a decoded value satisfies its constraints.
    fn fits(&self, wire: &WireParameter, raw: &str) -> bool {
        wire.constraints
            .as_ref()
            .is_none_or(|constraints| constraints.holds(raw))
            && (self.is_typed(wire, raw) || (wire.nullable && raw.trim_ascii() == "null"))
    }

    /// Returns `true` if a decoded value matches its schema.
    fn is_typed(&self, wire: &WireParameter, raw: &str) -> bool {
        let holds = |types: &SchemaBeyondType| types.matches(raw, &self.validator, wire.name);
        wire.types.as_ref().is_none_or(holds)
    }

    /// Returns `true` if the decoded value of the flattened parameter matches the schema.
    fn flattened_fits(&self, raw: &str) -> bool {
        let holds = |types: &SchemaBeyondType| types.matches(raw, &self.validator, "");
        self.flattened_types.as_ref().is_none_or(holds)
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
fn serde_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}
