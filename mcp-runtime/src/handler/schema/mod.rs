//! Conversion of Rust types into schemas that model APIs accept.
//!
//! The schemas that `schemars` derives are correct, but several model APIs reject parts of them. Input schemas are therefore
//! simplified without changing the values they allow: subschemas are inlined where possible, `null` is removed from optional
//! values, number formats become bounds, and documented variants become an `enum` with their documentation in the
//! description. Output schemas keep `null`, because results contain it.
//!
//! Schemas are enforced by [`check`](super::check) and [`decode`](super::decode).

mod constrain;
mod normalise;
mod query;
#[cfg(test)]
mod tests;

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::handler::parameter::{DefaultValue, ParameterMeta};
use constrain::constrain;
use normalise::{Null, boolean, normalise};
pub(crate) use query::{allows, candidates, hard_for_models};

/// The schema keyword that names the header of a tool argument.
pub(crate) const HEADER: &str = "x-mcp-header";

/// Returns the schema of `structuredContent`, simplified for clients: references are inlined where possible, `null` is kept.
pub(crate) fn output_schema(make: fn(&mut SchemaGenerator) -> Option<Schema>) -> Option<Value> {
    let mut generator = settings().for_serialize().into_generator();
    let mut schema = make(&mut generator)?.to_value();
    drop_type_title(&mut schema);
    normalise(&mut schema, Null::Kept);
    if let Value::Bool(allowed) = schema {
        schema = boolean(allowed);
    }
    add_definitions(&mut schema, &mut generator, Null::Kept);
    Some(schema)
}

/// Creates the schemas of the parameters of one function, with one set of definitions for recursive types.
pub(crate) struct Properties {
    generator: SchemaGenerator,
}

impl Properties {
    pub(crate) fn new() -> Self {
        Self {
            generator: settings().into_generator(),
        }
    }

    /// Returns the schema of one argument, with all options of its parameter. Mistakes are added to `problems`.
    pub(crate) fn argument(
        &mut self,
        parameter: &ParameterMeta,
        problems: &mut Vec<String>,
    ) -> Value {
        let mut schema = (parameter.ty.schema)(&mut self.generator)
            .map_or(Value::Object(Map::new()), Schema::to_value);
        if let Value::Bool(allowed) = schema {
            schema = boolean(allowed);
        }
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            if !parameter.doc.is_empty() {
                object.insert("description".to_owned(), parameter.doc.into());
            }
        }
        normalise(&mut schema, Null::MeansAbsent);
        if parameter.flatten {
            return schema;
        }
        let name = parameter.name;
        let before = problems.len();
        constrain(&mut schema, parameter.constraints, problems);
        let default = match &parameter.default {
            Some(DefaultValue::Json(text)) => serde_json::from_str(text)
                .map_err(|error| problems.push(format!("the default is not JSON: {error}")))
                .ok(),
            Some(DefaultValue::Rust { json, .. }) => json()
                .map_err(|error| {
                    problems.push(format!("the default cannot be written as JSON: {error}"));
                })
                .ok(),
            None => None,
        };
        if let Some(object) = schema.as_object_mut() {
            if let Some(default) = default.filter(|default| !default.is_null()) {
                object.insert("default".to_owned(), default);
            }
            if let Some(header) = parameter.header {
                object.insert(HEADER.to_owned(), header.into());
            }
        }
        for problem in problems.iter_mut().skip(before) {
            problem.insert_str(0, &format!("argument `{name}`: "));
        }
        schema
    }

    /// Adds the definitions of recursive types.
    pub(crate) fn finish(mut self, root: &mut Value) {
        add_definitions(root, &mut self.generator, Null::MeansAbsent);
    }
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

fn add_definitions(root: &mut Value, generator: &mut SchemaGenerator, null: Null) {
    let mut definitions = generator.take_definitions(true);
    if definitions.is_empty() {
        return;
    }
    for definition in definitions.values_mut() {
        normalise(
            definition,
            if null == Null::Kept {
                null
            } else {
                Null::Value
            },
        );
    }
    if let Some(object) = root.as_object_mut() {
        match object
            .entry("$defs")
            .or_insert_with(|| Value::Object(Map::new()))
        {
            Value::Object(present) => present.extend(definitions),
            other => *other = Value::Object(definitions),
        }
    }
}

/// Removes the title of a root schema if it is only the name of the type, rather than a title that the author wrote.
fn drop_type_title(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && let Some(Value::String(title)) = object.get("title")
        && !title.contains(' ')
        && title.starts_with(|first: char| first.is_uppercase())
    {
        object.remove("title");
    }
}
