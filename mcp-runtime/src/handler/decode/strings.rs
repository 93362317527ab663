//! Converts the strings that prompts, templates and completers receive into JSON that is ready to be decoded.

use std::borrow::Cow;
use std::fmt::Write as _;

use mcp_schema::explain::{Fault, quote};
use serde_json::Value;
use serde_json::value::RawValue;

use super::entries::entries;
use super::{Decoder, FAULTS, WireParameter, pointer_to};
use crate::jsonrpc::unquote;

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
