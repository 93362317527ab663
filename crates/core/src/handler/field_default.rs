//! The defaults of fields with `#[arg(default = …)]` in `#[data]` types, for serde and for the schema.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::handler::decode::serde_message;
use crate::handler::parameter::to_json;

/// Returns a literal default of a field, for the field's schema.
///
/// # Errors
///
/// Returns an error if the literal is not a value of the field's type.
pub fn literal_default<T: DeserializeOwned>(json: &str) -> Result<Value, String> {
    if let Err(error) = serde_json::from_str::<T>(json) {
        let message = serde_message(&error);
        return Err(format!(
            "the default `{json}` is not a value of its type: {message}"
        ));
    }
    serde_json::from_str(json).map_err(|error| format!("the default is not JSON: {error}"))
}

/// Returns a default of a field that is a Rust expression, for the field's schema.
///
/// # Errors
///
/// Returns an error if the value cannot be serialized.
pub fn written_default<T: Serialize>(value: &T) -> Result<Value, String> {
    to_json(value).map_err(|error| format!("the default cannot be written as JSON: {error}"))
}

/// Reads a literal default of a field.
///
/// # Panics
///
/// Panics if the literal is not a value of the field's type. A server whose schemas contain such a field does not start.
#[must_use]
pub fn read_default<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json)
        .unwrap_or_else(|error| panic!("the default `{json}` is not a value of its type: {error}"))
}
