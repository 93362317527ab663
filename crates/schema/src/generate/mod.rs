//! Converts Rust types into schemas that model APIs accept.
//!
//! The schemas that `schemars` derives are correct, but several model APIs reject parts of them. Input schemas are
//! therefore simplified without changing the values that they allow: subschemas are inlined unless this would make the
//! schema much longer, `null` is
//! removed from optional values, number formats become bounds, documented variants become an `enum` with their
//! documentation in the description, enums with data become an `anyOf`, and formats that the APIs do not list are
//! described in words. Output schemas keep `null` because results contain it, and allow additional members in every object,
//! so that a later version of the server may add some. Clients receive
//! [published](schema_to_publish) input schemas, which omit the one keyword that must be enforced but not published.
//!
//! The rules that the schemas follow are in [`model_rules`](crate::model_rules).
//!
//! [`check`](crate::check) enforces the schemas.

mod choices;
mod constrain;
mod field;
mod inlining;
mod normalise;
mod open;
mod published;
mod subschemas;
#[cfg(test)]
mod tests;

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

use crate::constraint::Constraints;
use constrain::apply_constraints;
pub(crate) use field::MISTAKES;
pub use field::constrain_field;
use inlining::{generator_for, keep_referenced, put_in_place};
use normalise::{NullMeaning, boolean_schema, disallow_null, normalise_schema};
use open::open_objects;
pub use published::schema_to_publish;

/// Makes the schema of a type, or returns `None` if any value is allowed.
pub type MakeSchema = fn(&mut SchemaGenerator) -> Option<Schema>;

/// Returns the schema for a result, simplified for clients: references are inlined where possible, but `null` is kept.
/// Its objects allow additional members, whatever the type says about them, because that is about reading.
pub fn output_schema(make: MakeSchema) -> Option<Value> {
    let mut generator = generator_for(&[make], &settings().for_serialize());
    let mut schema = make(&mut generator)?.to_value();
    put_in_place(&mut schema, &generator);
    drop_type_title(&mut schema);
    normalise_schema(&mut schema, NullMeaning::Kept);
    if let Value::Bool(allowed) = schema {
        schema = boolean_schema(allowed);
    }
    add_definitions(&mut schema, &mut generator, NullMeaning::Kept);
    open_objects(&mut schema);
    Some(schema)
}

/// A property of an object, with its type and the options that its author has chosen.
#[derive(Debug)]
pub struct Property<'p> {
    /// The name, for use in messages.
    pub name: &'p str,
    /// The description, or an empty string if there is none.
    pub description: &'p str,
    /// Returns the schema for the type, or `None` if any value is allowed.
    pub schema: MakeSchema,
    /// The constraints on the value.
    pub constraints: &'p Constraints,
    /// The default value, or the reason why it cannot be written as JSON.
    pub default: Option<Result<Value, String>>,
}

/// Creates the schemas for the properties of a single object. The schemas share one set of definitions for recursive
/// types, and for all types if writing references out would make them much longer.
#[derive(Debug)]
pub struct Properties {
    generator: SchemaGenerator,
}

impl Properties {
    /// Starts an object with these properties, of which each is then passed to [`property`](Self::property) or
    /// [`flattened`](Self::flattened).
    #[must_use]
    pub fn new(schemas: &[MakeSchema]) -> Self {
        Self {
            generator: generator_for(schemas, &settings()),
        }
    }

    /// Returns the schema for a property, with all its options applied. Reports mistakes in `problems`.
    pub fn property(&mut self, property: Property<'_>, problems: &mut Vec<String>) -> Value {
        let mut schema = self.flattened(property.schema, property.description);
        let before = problems.len();
        apply_constraints(&mut schema, property.constraints, problems);
        match property.default {
            Some(Ok(default)) => {
                if let Some(object) = schema.as_object_mut().filter(|_| !default.is_null()) {
                    object.insert("default".to_owned(), default);
                }
            }
            Some(Err(problem)) => problems.push(problem),
            None => {}
        }
        for problem in problems.iter_mut().skip(before) {
            problem.insert_str(0, &format!("argument `{}`: ", property.name));
        }
        schema
    }

    /// Returns the schema for a flattened type, whose properties become properties of the containing object.
    pub fn flattened(&mut self, schema: MakeSchema, description: &str) -> Value {
        let mut schema =
            schema(&mut self.generator).map_or(Value::Object(Map::new()), Schema::to_value);
        if let Value::Bool(allowed) = schema {
            schema = boolean_schema(allowed);
        }
        if let Some(object) = schema.as_object_mut() {
            disallow_null(object);
        }
        put_in_place(&mut schema, &self.generator);
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            if !description.is_empty() {
                object.insert("description".to_owned(), description.into());
            }
        }
        normalise_schema(&mut schema, NullMeaning::MeansAbsent);
        schema
    }

    /// Adds the definitions of recursive types to the root schema.
    pub fn finish(mut self, root: &mut Value) {
        add_definitions(root, &mut self.generator, NullMeaning::MeansAbsent);
    }
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

fn add_definitions(root: &mut Value, generator: &mut SchemaGenerator, null: NullMeaning) {
    let mut definitions = generator.take_definitions(true);
    keep_referenced(root, &mut definitions);
    if definitions.is_empty() {
        return;
    }
    for definition in definitions.values_mut() {
        normalise_schema(
            definition,
            if null == NullMeaning::Kept {
                null
            } else {
                NullMeaning::Value
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

/// Removes the title of a root schema if it is merely the name of the type rather than a title written by the author.
fn drop_type_title(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && let Some(Value::String(title)) = object.get("title")
        && !title.contains(' ')
        && title.starts_with(|first: char| first.is_uppercase())
    {
        object.remove("title");
    }
}
