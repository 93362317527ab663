//! From Rust types to the schemas that model APIs accept.

use schemars::{Schema, SchemaGenerator};

pub(crate) fn output_schema(
    f: fn(&mut SchemaGenerator) -> Option<Schema>,
) -> Option<serde_json::Value> {
    let _ = f;
    todo!()
}
