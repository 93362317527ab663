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
mod map;
mod root;
mod scan;
mod slow;
mod start_up;
mod strings;
#[cfg(test)]
mod tests;
mod types;

use std::any::{Any, TypeId};

use serde_json::Value;

use crate::context::Context;
use crate::handler::call::Refusal;
use crate::handler::check::{Validator, push_token};
use crate::handler::parameter::{DefaultValue, ParameterMeta};
use crate::jsonrpc::leading_string;
use demand::Demand;
pub(crate) use header::{HeaderArgument, find_headers};
pub(crate) use map::to_map;
pub(crate) use scan::entries;
#[cfg(feature = "http")]
pub(crate) use scan::member;
use scan::{scan, skip};
pub(crate) use strings::strings;
use types::Types;

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
    /// Whether, as a variable of a template, it takes values that lead anywhere.
    pub(crate) any_path: bool,
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
    /// What is enforced of the schema of the flattened type.
    flattened_types: Option<Types>,
    style: Style,
    validator: Validator,
    arguments: Vec<ArgumentInfo>,
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "checked always, but mirrored by HTTP only")
    )]
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
    /// What is enforced of its schema; `None` if its type does so by itself.
    types: Option<Types>,
}

impl Decoder {
    /// The input schema: made from the parameters in their order, or what the author wrote, unchanged.
    pub(crate) fn schema(&self) -> &Value {
        self.validator.schema()
    }

    /// The arguments that have a name of their own, in order.
    pub(crate) fn arguments(&self) -> &[ArgumentInfo] {
        &self.arguments
    }

    /// The arguments that headers mirror.
    #[cfg(feature = "http")]
    pub(crate) fn headers(&self) -> &[HeaderArgument] {
        &self.headers
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
            if parameter.ty.injected {
                (parameter.ty.inject)(&mut **slot, made.get_or_insert_with(context))?;
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
            let length = match read_string(&mut **slot, rest) {
                Some(length) => length,
                None => match (parameter.ty.read)(&mut **slot, rest) {
                    Ok(length) => length,
                    Err(_) => return Ok(None),
                },
            };
            if wire.demand.is_some() || wire.types.is_some() {
                let raw = rest.get(..length).unwrap_or("");
                if !self.fits(wire, raw) {
                    return Ok(None);
                }
            }
            Ok(Some(length))
        });
        if !matches!(scanned, Ok(Some(_))) {
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
            Some(DefaultValue::Json(text)) => (parameter.ty.read)(&mut **slot, text).is_ok(),
            Some(DefaultValue::Rust { fill, .. }) => {
                fill(&mut **slot);
                true
            }
            None => wire.nullable && (parameter.ty.read)(&mut **slot, "null").is_ok(),
        }
    }

    /// Whether a value that was read keeps to what is demanded of it.
    fn fits(&self, wire: &Wire, raw: &str) -> bool {
        wire.demand.as_ref().is_none_or(|demand| demand.holds(raw))
            && (self.is_typed(wire, raw) || (wire.nullable && raw.trim_ascii() == "null"))
    }

    /// Whether a value that was read is what its schema says.
    fn is_typed(&self, wire: &Wire, raw: &str) -> bool {
        let holds = |types: &Types| types.hold(raw, &self.validator, wire.name);
        wire.types.as_ref().is_none_or(holds)
    }

    /// Whether what was read into the flattened parameter is what the schema says.
    fn flattened_fits(&self, raw: &str) -> bool {
        let holds = |types: &Types| types.hold(raw, &self.validator, "");
        self.flattened_types.as_ref().is_none_or(holds)
    }

    fn is_lenient(&self) -> bool {
        self.style != Style::Tool { strict: true }
    }
}

/// Reads a string into the slot of a `String`, and says how many bytes it took. It may be large: serde would keep a copy beside it
/// while it reads one with escapes.
fn read_string(slot: &mut dyn Any, text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return None;
    }
    let slot = slot.downcast_mut::<Option<String>>()?;
    let (string, length) = leading_string(text)?;
    *slot = Some(string.into_owned());
    Some(length)
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
