//! The identity of arguments: what the handler is given, however the client has written it.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::slow::GivenValue;
use super::{Decoder, WireParameter};
use crate::handler::decode::entries;
use crate::handler::parameter::{DefaultValue, ParameterMeta};

/// Maximum nesting depth in which members that make no difference are found.
const MAX_IDENTITY_DEPTH: u32 = 32;

/// The arguments that a client has sent and that are not `null`, by name, as a handler is given them.
pub type ArgumentIdentities = BTreeMap<String, ArgumentIdentity>;

/// An argument as a handler is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentIdentity {
    /// JSON that is the same for all texts that are decoded to the same value, except for the spelling of numbers and the
    /// order of members.
    pub text: String,
    /// `true` if the handler is given the same value when the argument is left out.
    pub is_default: bool,
}

/// Returns the arguments as a client has sent them.
#[must_use]
pub fn as_received(arguments: &str) -> ArgumentIdentities {
    let entries = entries(arguments).unwrap_or_default().into_iter();
    let entries = entries.map(|(name, value)| (name, value.trim_ascii()));
    let given = entries.filter(|(_, value)| *value != "null");
    let identity = |text: &str| ArgumentIdentity {
        text: text.to_owned(),
        is_default: false,
    };
    given
        .map(|(name, value)| (name.into_owned(), identity(value)))
        .collect()
}

impl Decoder {
    /// Returns the arguments in a form that is the same for all texts that are decoded to the same values. Returns `None`
    /// if the arguments are invalid.
    ///
    /// If a type implements `Serialize` and its attribute has passed the means to write it, the form is that of the decoded
    /// value. Otherwise, it is that of the text that the type accepts, without the members that make no
    /// difference according to the schema.
    pub(crate) fn identities(&self, arguments: &str) -> Option<ArgumentIdentities> {
        let entries = self.accepted_entries(entries(arguments).ok()?).ok()?;
        let mut identities = ArgumentIdentities::new();
        let mut rest = Vec::new();
        for (name, value) in &entries {
            let wire = self.position(name, 0).and_then(|at| self.wire.get(at));
            let Some(wire) = wire else {
                rest.push((&**name, &**value));
                continue;
            };
            let parameter = self.parameters.get(wire.index)?;
            let text = match self.read_value(wire, value, &mut ()).ok()? {
                GivenValue::Text(text) => self.identity(parameter, &text),
                GivenValue::Default => continue,
            };
            let is_default = self.default_identity(wire, parameter).as_ref() == Some(&text);
            if !(is_default && text == "null") {
                let identity = ArgumentIdentity { text, is_default };
                identities.insert(wire.name.to_owned(), identity);
            }
        }
        let is_given = |wire: &WireParameter| entries.iter().any(|(name, _)| *name == wire.name);
        let is_complete = |wire: &WireParameter| is_given(wire) || self.fill_slot(wire, &mut ());
        if !self.wire.iter().all(is_complete) {
            return None;
        }
        if let Some(index) = self.flatten {
            let text = self.read_flattened(index, &rest, &mut ()).ok()?;
            let parameter = self.parameters.get(index)?;
            let text = self.identity(parameter, &text);
            let is_default = false;
            identities.insert(String::new(), ArgumentIdentity { text, is_default });
        }
        Some(identities)
    }

    fn identity(&self, parameter: &ParameterMeta, text: &str) -> String {
        let value = parameter.identity.and_then(|identity| identity(text));
        let text = value.map_or_else(|| text.to_owned(), |value| value.to_string());
        // The published schema does not say which lists are sets.
        let schema = self.validator.schema();
        let properties = || schema.get("properties")?.get(parameter.name);
        let schema = if parameter.flatten {
            Some(schema)
        } else {
            properties()
        };
        self.simplest(&text, schema, MAX_IDENTITY_DEPTH)
    }

    /// Returns the identity of an argument that is left out.
    fn default_identity(&self, wire: &WireParameter, parameter: &ParameterMeta) -> Option<String> {
        match &parameter.default {
            Some(DefaultValue::Json(text)) => Some(self.identity(parameter, text)),
            Some(DefaultValue::Rust { json, .. }) => {
                let json = json().ok()?;
                Some(self.identity(parameter, &json.to_string()))
            }
            None => wire.nullable.then(|| "null".to_owned()),
        }
    }

    /// Returns the value without members that are `null` or have their default, and with sets in one order.
    fn simplest(&self, text: &str, schema: Option<&Value>, depth: u32) -> String {
        let schema = schema.and_then(|schema| self.resolved(schema, MAX_IDENTITY_DEPTH));
        let (Some(schema), Some(depth)) = (schema, depth.checked_sub(1)) else {
            return text.to_owned();
        };
        match text.trim_ascii_start().as_bytes().first() {
            Some(b'{') => self.simplest_object(text, schema, depth),
            Some(b'[') => self.simplest_list(text, schema, depth),
            _ => None,
        }
        .unwrap_or_else(|| text.to_owned())
    }

    fn simplest_object(&self, text: &str, schema: &Value, depth: u32) -> Option<String> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        let required = schema.get("required").and_then(Value::as_array);
        let mut simplest = BTreeMap::new();
        for (name, value) in members {
            let property = schema.get("properties").and_then(|all| all.get(&name));
            let member = property.or_else(|| schema.get("additionalProperties"));
            let value = self.simplest(value.get(), member, depth);
            if let Some(property) = property
                && !required.is_some_and(|names| names.iter().any(|other| *other == *name))
            {
                let default = property.get("default").unwrap_or(&Value::Null).to_string();
                if value == self.simplest(&default, Some(property), depth) {
                    continue;
                }
            }
            simplest.insert(name, RawValue::from_string(value).ok()?);
        }
        serde_json::to_string(&simplest).ok()
    }

    fn simplest_list(&self, text: &str, schema: &Value, depth: u32) -> Option<String> {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let schema_of_items = schema.get("items");
        let simplest = items
            .into_iter()
            .map(|item| self.simplest(item.get(), schema_of_items, depth));
        let mut simplest: Vec<String> = simplest.collect();
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            simplest.sort_unstable();
        }
        Some(format!("[{}]", simplest.join(",")))
    }

    /// Follows references, and chooses the schema that is not `null`. Returns `None` if there are several.
    fn resolved<'s>(&'s self, schema: &'s Value, depth: u32) -> Option<&'s Value> {
        let depth = depth.checked_sub(1)?;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let schema = self.validator.schema();
            let referent = schema.pointer(reference.strip_prefix('#')?)?;
            return self.resolved(referent, depth);
        }
        let Some(branches) = schema.get("anyOf").and_then(Value::as_array) else {
            return Some(schema);
        };
        let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
        let mut others = branches.iter().filter(|branch| !is_null(branch));
        match (others.next(), others.next()) {
            (Some(only), None) => self.resolved(only, depth),
            _ => None,
        }
    }
}
