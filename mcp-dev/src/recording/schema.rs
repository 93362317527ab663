//! Finds values that a schema marks as secret with `writeOnly` or the `password` format.

use serde_json::{Value, json};

use super::secrets::MASK;

const MAX_DEPTH: usize = 64;
/// Maximum number of steps through the schemas for a single value, because a schema may refer to itself.
const MAX_STEPS: usize = 200_000;
/// Members of a schema that are lists of schemas for the same value.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Members of a schema that are schemas for the same value.
const SINGLES: [&str; 3] = ["if", "then", "else"];

fn is_secret(schema: &Value) -> bool {
    // mcp-runtime moves formats that model APIs do not list to the description.
    let described = schema["description"].as_str();
    let described = described.map(|text| text.strip_suffix(')').unwrap_or(text));
    schema["writeOnly"] == true
        || schema["format"] == "password"
        || described.is_some_and(|text| text.ends_with("format `password`"))
}

/// Returns `true` if a value that matches the schema may contain a secret.
pub(super) fn hides_something(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => is_secret(schema) || members.values().any(hides_something),
        Value::Array(entries) => entries.iter().any(hides_something),
        _ => false,
    }
}

/// Hides secrets in a single value.
#[derive(Default)]
pub(super) struct ValueMasker {
    steps: usize,
    /// The values that were hidden, as strings.
    pub(super) hidden: Vec<String>,
}

impl ValueMasker {
    pub(super) fn hide(&mut self, schema: &Value, value: &mut Value) {
        self.walk(schema, schema, value, 0);
    }

    fn walk(&mut self, schema: &Value, root: &Value, value: &mut Value, depth: usize) {
        if !schema.is_object() {
            return;
        }
        self.steps += 1;
        // A value that has not been examined may be a secret.
        if is_secret(schema) || depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return self.hide_all(value);
        }
        let depth = depth + 1;
        if let Some(target) = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'))
            && let Some(target) = root.pointer(target)
        {
            self.walk(target, root, value, depth);
        }
        for word in LISTS {
            for part in schema[word].as_array().into_iter().flatten() {
                self.walk(part, root, value, depth);
            }
        }
        for word in SINGLES {
            if let Some(part) = schema.get(word) {
                self.walk(part, root, value, depth);
            }
        }
        let dependent = schema["dependentSchemas"].as_object();
        for (_, part) in dependent.into_iter().flatten() {
            self.walk(part, root, value, depth);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if let Some(property) = schema["properties"].get(name) {
                        self.walk(property, root, member, depth);
                        continue;
                    }
                    self.walk(&schema["additionalProperties"], root, member, depth);
                    // Any of these schemas may be the applicable one.
                    let patterns = schema["patternProperties"].as_object();
                    for (_, property) in patterns.into_iter().flatten() {
                        self.walk(property, root, member, depth);
                    }
                }
            }
            Value::Array(entries) => {
                for (at, entry) in entries.iter_mut().enumerate() {
                    self.walk(&schema["prefixItems"][at], root, entry, depth);
                    self.walk(&schema["items"], root, entry, depth);
                }
            }
            _ => {}
        }
    }

    /// Hides a value, or all values in it.
    pub(super) fn hide_all(&mut self, value: &mut Value) {
        match value {
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.hide_all(entry)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| self.hide_all(member)),
            Value::Null => {}
            Value::String(text) if text == MASK => {}
            other => {
                let text = other
                    .as_str()
                    .map_or_else(|| other.to_string(), str::to_owned);
                self.hidden.push(text);
                *other = json!(MASK);
            }
        }
    }
}
