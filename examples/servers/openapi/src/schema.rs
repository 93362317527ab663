//! Schemas of an OpenAPI document as schemas of tools: references are replaced with their targets, and keywords of
//! OpenAPI 3.0 with those of JSON Schema 2020-12. Extensions and keywords for documentation are left out.

use mcp_runtime::prelude::json;
use mcp_runtime::serde_json::{Map, Value};
use regex_lite::Regex;

/// References that may lead to each other before a parameter, a body or a path is reached.
const MAX_REFERENCES: usize = 8;
/// Parts of the schema of one tool. Without a bound, a few lines of references could stand for millions of parts.
const MAX_PARTS: usize = 5_000;
/// Schemas within each other.
const MAX_DEPTH: usize = 50;

/// Keywords that are taken over as they are.
const COPIED: [&str; 25] = [
    "type",
    "enum",
    "const",
    "default",
    "format",
    "title",
    "description",
    "deprecated",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
    "contentEncoding",
];

/// Follows the `$ref` of a parameter, a body or a path.
pub fn follow<'d>(document: &'d Value, mut value: &'d Value) -> Result<&'d Value, String> {
    for _ in 0..MAX_REFERENCES {
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => value = target(document, reference)?,
            None => return Ok(value),
        }
    }
    Err("its `$ref` leads to itself, or through too many others".to_owned())
}

fn target<'d>(document: &'d Value, reference: &str) -> Result<&'d Value, String> {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Err(format!(
            "`{reference}` is in another document; bundle them into one first"
        ));
    };
    let missing = || format!("`{reference}` does not exist in the document");
    let pointer = percent_decode(pointer).ok_or_else(missing)?;
    document.pointer(&pointer).ok_or_else(missing)
}

fn percent_decode(text: &str) -> Option<String> {
    let (mut decoded, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

/// Converts the schemas of one tool.
pub struct Converter<'d> {
    document: &'d Value,
    /// The references around the current schema, the outermost first.
    chain: Vec<&'d str>,
    parts: usize,
    depth: usize,
}

impl<'d> Converter<'d> {
    pub fn new(document: &'d Value) -> Self {
        Self {
            document,
            chain: Vec::new(),
            parts: 0,
            depth: 0,
        }
    }

    /// Converts a schema.
    ///
    /// # Errors
    ///
    /// Fails if the schema is not an object or a boolean, if a reference has no target or leads to itself, and if the
    /// schema is too large.
    pub fn convert(&mut self, schema: &'d Value) -> Result<Value, String> {
        self.parts += 1;
        if self.parts > MAX_PARTS || self.depth >= MAX_DEPTH {
            return Err(format!(
                "its schema has more than {MAX_PARTS} parts or {MAX_DEPTH} levels once references are replaced"
            ));
        }
        let members = match schema {
            Value::Bool(_) => return Ok(schema.clone()),
            Value::Object(members) => members,
            _ => return Err(format!("`{schema}` is not a schema")),
        };
        self.depth += 1;
        let converted = match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference, members),
            None => self.members(members),
        };
        self.depth -= 1;
        converted
    }

    fn reference(
        &mut self,
        reference: &'d str,
        siblings: &'d Map<String, Value>,
    ) -> Result<Value, String> {
        if self.chain.contains(&reference) {
            self.chain.push(reference);
            let chain = self.chain.join("` → `");
            return Err(format!(
                "its schema is recursive (`{chain}`), which tools cannot be"
            ));
        }
        let target = target(self.document, reference)?;
        self.chain.push(reference);
        let converted = self.convert(target);
        self.chain.pop();
        let (mut converted, beside) = (converted?, self.members(siblings)?);
        // A description next to a reference replaces that of the target. Rules next to it apply as well.
        let Value::Object(mut beside) = beside else {
            return Ok(converted);
        };
        let is_rule = |name: &String| !["title", "description", "deprecated"].contains(&&**name);
        if beside.keys().any(is_rule) {
            beside.insert("allOf".to_owned(), json!([converted]));
            return Ok(Value::Object(beside));
        }
        if let Value::Object(members) = &mut converted {
            members.extend(beside);
        }
        Ok(converted)
    }

    fn members(&mut self, members: &'d Map<String, Value>) -> Result<Value, String> {
        let mut converted = Map::new();
        for (keyword, value) in members {
            let value = match (keyword.as_str(), value) {
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                    self.named(named)?
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                    let schemas = schemas.iter().map(|schema| self.convert(schema));
                    Value::Array(schemas.collect::<Result<_, _>>()?)
                }
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedItems"
                    | "unevaluatedProperties",
                    schema,
                ) => self.convert(schema)?,
                // The API checks the patterns that the runtime cannot, such as those that look ahead.
                ("pattern", Value::String(pattern)) if Regex::new(pattern).is_ok() => value.clone(),
                (keyword, value) if COPIED.contains(&keyword) => value.clone(),
                _ => continue,
            };
            converted.insert(keyword.clone(), value);
        }
        if members.get("nullable") == Some(&Value::Bool(true)) {
            allow_null(&mut converted);
        }
        exclude_bound(&mut converted, "exclusiveMinimum", "minimum");
        exclude_bound(&mut converted, "exclusiveMaximum", "maximum");
        leave_out_read_only(&mut converted, members);
        Ok(Value::Object(converted))
    }

    /// Converts properties, without those that only occur in responses.
    fn named(&mut self, schemas: &'d Map<String, Value>) -> Result<Value, String> {
        let mut converted = Map::new();
        for (name, schema) in schemas.iter().filter(|(_, schema)| !is_read_only(schema)) {
            converted.insert(name.clone(), self.convert(schema)?);
        }
        Ok(Value::Object(converted))
    }
}

fn is_read_only(schema: &Value) -> bool {
    schema["readOnly"] == true
}

fn leave_out_read_only(converted: &mut Map<String, Value>, members: &Map<String, Value>) {
    let properties = members.get("properties").and_then(Value::as_object);
    if let (Some(required), Some(properties)) = (
        converted.get_mut("required").and_then(Value::as_array_mut),
        properties,
    ) {
        let is_sent = |name: &str| !properties.get(name).is_some_and(is_read_only);
        required.retain(|name| name.as_str().is_none_or(is_sent));
    }
}

/// OpenAPI 3.0: `nullable` next to a type.
fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(Value::String(kind)) = schema.get("type") {
        let kinds = json!([kind, "null"]);
        schema.insert("type".to_owned(), kinds);
        if let Some(Value::Array(values)) = schema.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    }
}

/// OpenAPI 3.0: an exclusive bound is a boolean next to the bound.
fn exclude_bound(schema: &mut Map<String, Value>, exclusive: &str, bound: &str) {
    match schema.get(exclusive) {
        Some(Value::Bool(true)) => {
            schema.remove(exclusive);
            if let Some(value) = schema.remove(bound) {
                schema.insert(exclusive.to_owned(), value);
            }
        }
        Some(Value::Bool(false)) => drop(schema.remove(exclusive)),
        _ => {}
    }
}
