//! Examines a schema once and rejects any parts that the validator could not enforce.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::bounds::DEPTH;
use crate::constraint::{compile_pattern, to_count};
use crate::explain::{push_token, quote};
use crate::generate::MISTAKES;

/// The supported dialect, which is also assumed if a schema does not contain `$schema`.
pub(super) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Maximum number of subschemas in one schema.
pub(super) const SUBSCHEMAS: usize = 20_000;

pub(super) const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// The results of examining a schema.
#[derive(Default)]
pub(super) struct SchemaExamination {
    pub(super) patterns: HashMap<String, Regex>,
    anchors: HashMap<String, String>,
    /// Each reference, with the JSON pointer to the `$ref` that contains it.
    pub(super) references: Vec<(String, String)>,
    root_id: Option<String>,
    pub(super) tracks: bool,
    /// The pointers of all subschemas examined so far.
    pointers: HashSet<String>,
}

impl SchemaExamination {
    pub(super) fn examine_schema(
        &mut self,
        schema: &Value,
        at: &mut String,
        depth: u32,
    ) -> Result<(), String> {
        if depth > DEPTH || self.pointers.len() > SUBSCHEMAS {
            return Err(problem_at(
                at,
                "the schema is too deeply nested or too large",
            ));
        }
        self.pointers.insert(at.clone());
        let object = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(object) => object,
            other => {
                let message = format!(
                    "a schema must be an object or a boolean, not {}",
                    quote(other)
                );
                return Err(problem_at(at, &message));
            }
        };
        for (keyword, value) in object {
            let length = at.len();
            push_token(at, keyword);
            self.examine_keyword(keyword, value, at, depth)?;
            at.truncate(length);
        }
        Ok(())
    }

    fn examine_keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        at: &mut String,
        depth: u32,
    ) -> Result<(), String> {
        let wrong = |expected: &str| {
            Err(problem_at(
                at,
                &format!("expected {expected}, found {}", quote(value)),
            ))
        };
        match keyword {
            "$schema" => match value.as_str() {
                Some(dialect) if dialect.trim_end_matches('#') == DIALECT => Ok(()),
                _ => wrong(&format!("\"{DIALECT}\", the only supported dialect")),
            },
            "$id" => match value.as_str() {
                Some(id) if depth == 0 => {
                    self.root_id = Some(id.trim_end_matches('#').to_owned());
                    Ok(())
                }
                Some(_) => Err(problem_at(at, "`$id` is supported only at the root")),
                None => wrong("a string"),
            },
            "$ref" => match value.as_str() {
                Some(reference) => {
                    self.references.push((reference.to_owned(), at.clone()));
                    Ok(())
                }
                None => wrong("a string"),
            },
            "$anchor" => match value.as_str() {
                Some(anchor) => {
                    let home = at.rsplit_once('/').map_or("", |(home, _)| home);
                    match self.anchors.insert(anchor.to_owned(), home.to_owned()) {
                        None => Ok(()),
                        Some(_) => Err(problem_at(at, "this anchor is used twice")),
                    }
                }
                None => wrong("a string"),
            },
            "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" => Err(
                problem_at(at, "dynamic references are not supported; use `$ref`"),
            ),
            MISTAKES => {
                let field = at.rsplit_once('/').map_or("", |(field, _)| field);
                Err(problem_at(field, value.as_str().unwrap_or_default()))
            }
            "pattern" => match value.as_str() {
                Some(pattern) => self.compile_pattern(pattern, at),
                None => wrong("a regular expression"),
            },
            "not"
            | "if"
            | "then"
            | "else"
            | "items"
            | "contains"
            | "additionalProperties"
            | "propertyNames" => self.examine_schema(value, at, depth.saturating_add(1)),
            "unevaluatedProperties" | "unevaluatedItems" => {
                self.tracks = true;
                self.examine_schema(value, at, depth.saturating_add(1))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value.as_array() {
                Some(schemas) if !schemas.is_empty() => self.examine_list(schemas, at, depth),
                _ => wrong("a non-empty list of schemas"),
            },
            "$defs" | "definitions" | "properties" | "patternProperties" | "dependentSchemas" => {
                match value.as_object() {
                    Some(schemas) => self.examine_members(keyword, schemas, at, depth),
                    None => wrong("an object of schemas"),
                }
            }
            _ => match check_assertion(keyword, value) {
                Ok(()) => Ok(()),
                Err(expected) => wrong(expected),
            },
        }
    }

    fn examine_list(
        &mut self,
        schemas: &[Value],
        at: &mut String,
        depth: u32,
    ) -> Result<(), String> {
        for (index, schema) in schemas.iter().enumerate() {
            let length = at.len();
            let _ = write!(at, "/{index}");
            self.examine_schema(schema, at, depth.saturating_add(1))?;
            at.truncate(length);
        }
        Ok(())
    }

    fn examine_members(
        &mut self,
        keyword: &str,
        schemas: &Map<String, Value>,
        at: &mut String,
        depth: u32,
    ) -> Result<(), String> {
        for (name, schema) in schemas {
            let length = at.len();
            push_token(at, name);
            if keyword == "patternProperties" {
                self.compile_pattern(name, at)?;
            }
            self.examine_schema(schema, at, depth.saturating_add(1))?;
            at.truncate(length);
        }
        Ok(())
    }

    fn compile_pattern(&mut self, pattern: &str, at: &str) -> Result<(), String> {
        if !self.patterns.contains_key(pattern) {
            let regex = compile_pattern(pattern).map_err(|error| problem_at(at, &error))?;
            self.patterns.insert(pattern.to_owned(), regex);
        }
        Ok(())
    }

    pub(super) fn resolve_references(&self) -> Result<HashMap<String, String>, String> {
        let mut resolved = HashMap::new();
        for (reference, at) in &self.references {
            if resolved.contains_key(reference) {
                continue;
            }
            let local = self
                .root_id
                .as_deref()
                .and_then(|id| reference.strip_prefix(id))
                .unwrap_or(reference);
            let fragment = match local.strip_prefix('#') {
                Some(fragment) => fragment,
                None if local.is_empty() => "",
                None => {
                    let message = format!(
                        "reference \"{reference}\" leaves the document; only references within it are followed"
                    );
                    return Err(problem_at(at, &message));
                }
            };
            let fragment = percent_decode(fragment).ok_or_else(|| {
                problem_at(
                    at,
                    &format!("reference \"{reference}\" is not a valid URI fragment"),
                )
            })?;
            let pointer = if fragment.is_empty() || fragment.starts_with('/') {
                Some(fragment).filter(|pointer| self.pointers.contains(pointer))
            } else {
                self.anchors.get(&fragment).cloned()
            };
            let Some(pointer) = pointer else {
                return Err(problem_at(
                    at,
                    &format!("reference \"{reference}\" points to nothing in the document"),
                ));
            };
            resolved.insert(reference.clone(), pointer);
        }
        Ok(resolved)
    }
}

/// Checks the value of a keyword that does not contain schemas. The error describes the allowed values.
fn check_assertion(keyword: &str, value: &Value) -> Result<(), &'static str> {
    let names = |value: &Value| {
        let names = value.as_array();
        names.is_some_and(|names| names.iter().all(Value::is_string))
    };
    let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    let (fits, expected) = match keyword {
        "type" => (
            known(value)
                || value
                    .as_array()
                    .is_some_and(|names| !names.is_empty() && names.iter().all(known)),
            "a type name or a list of type names",
        ),
        "enum" => (value.is_array(), "a list"),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "a number")
        }
        "multipleOf" => (
            value.as_f64().is_some_and(|number| number > 0.0),
            "a number above 0",
        ),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => {
            (to_count(value).is_some(), "a non-negative whole number")
        }
        "uniqueItems" => (value.is_boolean(), "a boolean"),
        "required" => (names(value), "a list of names"),
        "dependentRequired" => (
            value
                .as_object()
                .is_some_and(|object| object.values().all(names)),
            "an object of lists of names",
        ),
        _ => (true, ""),
    };
    if fits { Ok(()) } else { Err(expected) }
}

pub(super) fn problem_at(at: &str, message: &str) -> String {
    format!("{}: {message}", if at.is_empty() { "/" } else { at })
}

pub(super) fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    crate::template::decode(text)
}
