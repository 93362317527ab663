//! From Rust types to the schemas that model APIs accept.
//!
//! What `schemars` derives is correct, but several model APIs refuse parts of it. Input schemas are therefore made
//! plainer without changing what they allow: nothing is referred to that could stand in place, absence is not spelled as
//! `null`, number formats become bounds, documented variants become an `enum` with their documentation in the
//! description. Output schemas keep their `null`s, because results have them.
//!
//! What of a schema is enforced is left to [`check`](super::check) and [`decode`](super::decode).

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

/// The header keyword of tool arguments.
pub(crate) const HEADER: &str = "x-mcp-header";

/// The schema of `structuredContent`, plain enough for clients: references in place where possible, nulls kept.
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

/// Makes the schemas of the parameters of one function, so that what recursive types define is gathered in one place.
pub(crate) struct Properties {
    generator: SchemaGenerator,
}

impl Properties {
    pub(crate) fn new() -> Self {
        Self {
            generator: settings().into_generator(),
        }
    }

    /// The schema of one argument with everything its parameter says; problems are added to the list.
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

    /// Adds what recursive types refer to.
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

/// A root schema is titled with the name of its type, which nobody wrote as a title.
fn drop_type_title(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && let Some(Value::String(title)) = object.get("title")
        && !title.contains(' ')
        && title.starts_with(|first: char| first.is_uppercase())
    {
        object.remove("title");
    }
}
