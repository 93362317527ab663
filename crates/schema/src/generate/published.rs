//! Creates the schema that clients receive if it differs from the enforced schema.

use serde_json::Value;

use super::subschemas::subschemas;
use crate::format::add_to_description;

/// Returns the schema for clients, or `None` if clients receive the original.
///
/// Several model APIs reject `uniqueItems`, so the description mentions it instead. Duplicates are still rejected
/// because values are checked against the original schema.
#[must_use]
pub fn schema_to_publish(schema: &Value) -> Option<Value> {
    let mut published = schema.clone();
    describe_unique_items(&mut published).then_some(published)
}

/// Replaces `uniqueItems` with a phrase in the description. Returns `true` if the schema or any schema inside it had
/// the keyword.
fn describe_unique_items(schema: &mut Value) -> bool {
    let Some(object) = schema.as_object_mut() else {
        return false;
    };
    let unique = object.shift_remove("uniqueItems");
    if unique == Some(Value::Bool(true)) {
        add_to_description(object, "without duplicates");
    }
    object
        .iter_mut()
        .flat_map(|(keyword, value)| subschemas(keyword, value))
        .fold(unique.is_some(), |changed, inner| {
            describe_unique_items(inner) | changed
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unique_items_becomes_a_description_in_every_subschema() {
        let unique = json!({"type": "array", "uniqueItems": true});
        let described = json!({"type": "array", "description": "without duplicates"});
        for place in ["properties", "$defs", "patternProperties"] {
            assert_eq!(
                schema_to_publish(&json!({place: {"uniqueItems": unique}})),
                Some(json!({place: {"uniqueItems": described}})),
            );
        }
        for place in ["anyOf", "allOf", "prefixItems"] {
            assert_eq!(
                schema_to_publish(&json!({place: [{}, unique]})),
                Some(json!({place: [{}, described]})),
            );
        }
        for place in ["items", "additionalProperties", "not"] {
            assert_eq!(
                schema_to_publish(&json!({"uniqueItems": false, place: unique})),
                Some(json!({place: described})),
            );
        }
        // These keywords contain values, not schemas.
        for place in ["default", "examples", "enum"] {
            assert_eq!(
                schema_to_publish(&json!({place: [{"uniqueItems": true}]})),
                None
            );
        }
    }
}
