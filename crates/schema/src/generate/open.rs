//! Opens the objects of output schemas.

use serde_json::Value;

use super::choices::rename_keyword;
use super::subschemas::subschemas;

/// Allows additional members in every object, also where a type that is read as well refuses them. An author who wants
/// them refused writes `unevaluatedProperties`. Returns `true` if the schema or a schema inside it was changed.
pub(super) fn open_objects(schema: &mut Value) -> bool {
    let Some(object) = schema.as_object_mut() else {
        return false;
    };
    let mut changed = object.get("additionalProperties") == Some(&Value::Bool(false));
    if changed {
        object.shift_remove("additionalProperties");
    }
    let mut branches_changed = false;
    for (keyword, value) in object.iter_mut() {
        // Whatever these allow, the schema forbids, so they stay as narrow as they are.
        if matches!(keyword.as_str(), "not" | "if") {
            continue;
        }
        for inner in subschemas(keyword, value) {
            let inner_changed = open_objects(inner);
            changed |= inner_changed;
            branches_changed |= inner_changed && keyword == "oneOf";
        }
    }
    // Open branches may overlap, which `oneOf` would forbid.
    if branches_changed && !object.contains_key("anyOf") {
        rename_keyword(object, "oneOf", "anyOf");
    }
    changed
}
