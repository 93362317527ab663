//! Decides whether references between schemas are written out.
//!
//! Several model APIs reject references, so a generated schema contains each type in the place where it is used. But a type
//! that is used twice by a type that is used twice, and so on, doubles with every level. Such a schema keeps its references.

use std::collections::HashMap;

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use super::MakeSchema;
use crate::template::decode;

/// Maximum number of bytes by which writing references out may lengthen the schemas that belong together.
const MAX_ADDED_BYTES: usize = 16 * 1024;

/// Maximum number of types inside each other.
const MAX_INLINING_DEPTH: usize = 64;

/// The start of every generated reference.
const DEFINITIONS: &str = "#/$defs/";

/// Returns a generator for schemas that belong together. It writes references out if this adds at most [`MAX_ADDED_BYTES`] bytes.
pub(super) fn generator_for(makes: &[MakeSchema], settings: &SchemaSettings) -> SchemaGenerator {
    let refers = |settings: &SchemaSettings, refers: bool| {
        let settings = settings.clone();
        let settings = settings.with(|settings| settings.inline_subschemas = !refers);
        settings.into_generator()
    };
    let mut generator = refers(settings, true);
    let roots: Vec<_> = makes
        .iter()
        .filter_map(|make| make(&mut generator))
        .collect();
    let keeps_references = Expansion::new(&roots, &generator).is_too_long();
    refers(settings, keeps_references)
}

/// Replaces a schema that only refers to a type with the definition of that type.
pub(super) fn put_in_place(schema: &mut Value, generator: &SchemaGenerator) {
    for _ in 0..MAX_INLINING_DEPTH {
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        let target = object.get("$ref").and_then(Value::as_str);
        let Some(target) = target.and_then(definition_name) else {
            return;
        };
        let Some(Value::Object(definition)) = generator.definitions().get(&target) else {
            return;
        };
        let annotations = std::mem::replace(object, definition.clone());
        object.extend(annotations.into_iter().filter(|(name, _)| name != "$ref"));
    }
}

/// Removes the definitions to which nothing refers.
pub(super) fn keep_referenced(root: &Value, definitions: &mut Map<String, Value>) {
    let mut referenced = Vec::new();
    collect_references(root, &mut referenced);
    let mut next = 0;
    while let Some(name) = referenced.get(next).cloned() {
        next += 1;
        let mut inner = Vec::new();
        if let Some(definition) = definitions.get(&name) {
            collect_references(definition, &mut inner);
        }
        inner.retain(|name| !referenced.contains(name));
        inner.dedup();
        referenced.append(&mut inner);
    }
    definitions.retain(|name, _| referenced.contains(name));
}

/// Returns the name of the definition to which a reference leads.
fn definition_name(reference: &str) -> Option<String> {
    let name = decode(reference.strip_prefix(DEFINITIONS)?)?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}

/// Collects the names of the definitions to which a schema refers, once for each reference.
fn collect_references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            found.extend(reference.and_then(definition_name));
            members
                .values()
                .for_each(|inner| collect_references(inner, found));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|inner| collect_references(inner, found)),
        _ => {}
    }
}

/// A schema with references: its length, and the definitions to which it refers.
struct ReferringSchema {
    length: usize,
    targets: Vec<String>,
}

impl ReferringSchema {
    fn new(schema: &Value) -> Self {
        let mut targets = Vec::new();
        collect_references(schema, &mut targets);
        let length = schema.to_string().len();
        Self { length, targets }
    }
}

/// Schemas and definitions, whose references are written out in thought: only lengths are added up, and only until they are
/// too long.
struct Expansion {
    roots: Vec<ReferringSchema>,
    definitions: HashMap<String, ReferringSchema>,
}

impl Expansion {
    fn new(roots: &[Schema], generator: &SchemaGenerator) -> Self {
        let definitions = generator.definitions().iter();
        Self {
            roots: roots
                .iter()
                .map(|root| ReferringSchema::new(root.as_value()))
                .collect(),
            definitions: definitions
                .map(|(name, definition)| (name.clone(), ReferringSchema::new(definition)))
                .collect(),
        }
    }

    fn is_too_long(&self) -> bool {
        let parts = self.roots.iter().chain(self.definitions.values());
        let referring: usize = parts.map(|part| part.length).sum();
        let mut left = referring.saturating_add(MAX_ADDED_BYTES);
        // A type that contains itself becomes a definition, in which all other types are written out.
        let mut recursive = Vec::new();
        let mut open = Vec::new();
        for root in &self.roots {
            if !self.spend(root, &mut open, &mut recursive, &mut left) {
                return true;
            }
        }
        let mut next = 0;
        while let Some(&name) = recursive.get(next) {
            next += 1;
            open.push(name);
            let definition = self.definitions.get(name);
            if definition
                .is_some_and(|part| !self.spend(part, &mut open, &mut recursive, &mut left))
            {
                return true;
            }
            open.pop();
        }
        false
    }

    /// Subtracts the length of a part with its references written out; returns `false` if that is more than what is `left`.
    fn spend<'e>(
        &'e self,
        part: &'e ReferringSchema,
        open: &mut Vec<&'e str>,
        recursive: &mut Vec<&'e str>,
        left: &mut usize,
    ) -> bool {
        let Some(rest) = left
            .checked_sub(part.length)
            .filter(|_| open.len() < MAX_INLINING_DEPTH)
        else {
            return false;
        };
        *left = rest;
        for target in &part.targets {
            let Some(definition) = self.definitions.get(target) else {
                continue;
            };
            if open.contains(&target.as_str()) {
                if !recursive.contains(&target.as_str()) {
                    recursive.push(target);
                }
                continue;
            }
            open.push(target);
            if !self.spend(definition, open, recursive, left) {
                return false;
            }
            open.pop();
        }
        true
    }
}
