//! The schema of an argument object while it is being built.

use mcp_schema::query::allows;
use serde_json::{Map, Value};

use super::ArgumentStyle;

/// The schema of an argument object while it is being built.
#[derive(Default)]
pub(super) struct ArgumentSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// The keywords of a flattened type's schema other than its properties.
    rest: Option<Map<String, Value>>,
}

impl ArgumentSchema {
    pub(super) fn property(&mut self, name: &str, schema: Value, required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if required {
            self.required.push(name.into());
        }
    }

    pub(super) fn flatten(&mut self, schema: Value, problems: &mut Vec<String>) {
        if !allows(&schema, "object") {
            problems.push(
                "a parameter that takes the whole argument object must accept an object".to_owned(),
            );
            return;
        }
        let Value::Object(mut rest) = schema else {
            return;
        };
        if let Some(Value::Object(properties)) = rest.shift_remove("properties") {
            for (name, schema) in properties {
                if self.properties.contains_key(&name) {
                    problems.push(format!("argument `{name}` is defined twice"));
                }
                self.properties.insert(name, schema);
            }
        }
        if let Some(Value::Array(required)) = rest.shift_remove("required") {
            self.required.extend(required);
        }
        rest.shift_remove("type");
        self.rest = Some(rest);
    }

    /// Returns the schema, along with `true` if it names every allowed property.
    pub(super) fn finish(self, style: ArgumentStyle) -> (Value, bool) {
        let mut object = Map::new();
        object.insert("type".to_owned(), "object".into());
        let mut rest = self.rest.unwrap_or_default();
        let open = ["oneOf", "anyOf", "allOf", "$ref", "patternProperties", "if"]
            .iter()
            .any(|keyword| rest.contains_key(*keyword))
            || rest
                .get("additionalProperties")
                .is_some_and(|more| more != &Value::Bool(false));
        if let Some(description) = rest.shift_remove("description") {
            object.insert("description".to_owned(), description);
        }
        // Some model APIs refuse a schema without `properties`, and adapters of hosts expect it, even if it is empty.
        object.insert("properties".to_owned(), Value::Object(self.properties));
        if !self.required.is_empty() {
            object.insert("required".to_owned(), Value::Array(self.required));
        }
        if !open && style != ArgumentStyle::Text {
            object.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        for (keyword, value) in rest {
            object.entry(keyword).or_insert(value);
        }
        (Value::Object(object), !open)
    }
}
