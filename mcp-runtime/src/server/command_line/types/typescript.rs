//! Converts JSON Schemas to TypeScript types. A schema without an exact equivalent becomes a wider type, in the worst
//! case `unknown`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Depth at which nested types are replaced with `unknown`, because a schema may refer to itself.
const DEEPEST: usize = 12;

/// Returns the type for an entire schema. `indent` is the number of steps by which all lines except the first are
/// indented.
pub(super) fn type_of(schema: &Value, indent: usize) -> String {
    Converter { root: schema }.convert(schema, indent, 0)
}

/// Returns the description of a schema or definition as a comment on separate lines, or an empty string.
pub(super) fn comment(described: &Value, indent: usize) -> String {
    let text = described["description"].as_str().unwrap_or_default();
    let text = text.replace("*/", "*\\/");
    let space = "  ".repeat(indent);
    match text.lines().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [line] => format!("{space}/** {line} */\n"),
        lines => {
            let lines: String = lines
                .iter()
                .map(|line| format!("{space} * {line}").trim_end().to_owned() + "\n")
                .collect();
            format!("{space}/**\n{lines}{space} */\n")
        }
    }
}

struct Converter<'s> {
    root: &'s Value,
}

impl Converter<'_> {
    fn convert(&self, schema: &Value, indent: usize, depth: usize) -> String {
        let Value::Object(members) = schema else {
            return if schema == &Value::Bool(false) {
                "never"
            } else {
                "unknown"
            }
            .to_owned();
        };
        if depth > DEEPEST {
            return "unknown".to_owned();
        }
        if let Some(target) = members.get("$ref").and_then(Value::as_str) {
            let target = target
                .strip_prefix('#')
                .and_then(|path| self.root.pointer(path));
            return target.map_or_else(
                || "unknown".to_owned(),
                |target| self.convert(target, indent, depth + 1),
            );
        }
        if let Some(value) = members.get("const") {
            return literal(value);
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return union(values.iter().map(literal));
        }
        for (member, separator) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
            if let Some(Value::Array(parts)) = members.get(member) {
                let parts = parts.iter();
                let parts = parts.map(|part| self.convert(part, indent, depth + 1));
                return if separator == " | " {
                    union(parts)
                } else {
                    let parts: Vec<_> = parts.map(|part| format!("({part})")).collect();
                    parts.join(separator)
                };
            }
        }
        match members.get("type") {
            Some(Value::String(name)) => self.named(name, members, indent, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                union(names.map(|name| self.named(name, members, indent, depth)))
            }
            _ if members.contains_key("properties") => self.object(members, indent, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn named(
        &self,
        name: &str,
        members: &Map<String, Value>,
        indent: usize,
        depth: usize,
    ) -> String {
        match name {
            "string" | "boolean" | "null" => name.to_owned(),
            "integer" | "number" => "number".to_owned(),
            "array" => self.array(members, indent, depth),
            "object" => self.object(members, indent, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn array(&self, members: &Map<String, Value>, indent: usize, depth: usize) -> String {
        if let Some(Value::Array(items)) = members.get("prefixItems") {
            let items = items
                .iter()
                .map(|item| self.convert(item, indent, depth + 1));
            return format!("[{}]", items.collect::<Vec<_>>().join(", "));
        }
        let item = members.get("items").unwrap_or(&Value::Bool(true));
        match self.convert(item, indent, depth + 1) {
            union if union.contains([' ', '\n']) => format!("({union})[]"),
            item => format!("{item}[]"),
        }
    }

    fn object(&self, members: &Map<String, Value>, indent: usize, depth: usize) -> String {
        let empty = Map::new();
        let properties = members.get("properties").and_then(Value::as_object);
        let properties = properties.unwrap_or(&empty);
        if properties.is_empty() {
            return match members.get("additionalProperties") {
                Some(Value::Bool(false)) => "Record<string, never>".to_owned(),
                Some(value) => {
                    format!("Record<string, {}>", self.convert(value, indent, depth + 1))
                }
                None => "Record<string, unknown>".to_owned(),
            };
        }
        let required = members.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|required| required.iter().any(|other| other == name))
        };
        let mut text = String::from("{\n");
        for (name, property) in properties {
            let mark = if is_required(name) { "" } else { "?" };
            let ty = self.convert(property, indent + 1, depth + 1);
            let (about, space) = (comment(property, indent + 1), "  ".repeat(indent + 1));
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{about}{space}{}{mark}: {ty};", key(name));
        }
        text + &"  ".repeat(indent) + "}"
    }
}

/// Returns a union of the alternatives without duplicates.
fn union(parts: impl Iterator<Item = String>) -> String {
    let mut alternatives: Vec<String> = Vec::new();
    for part in parts {
        if !alternatives.contains(&part) {
            alternatives.push(part);
        }
    }
    if alternatives.is_empty() {
        return "never".to_owned();
    }
    alternatives.join(" | ")
}

fn literal(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => "unknown".to_owned(),
        simple => simple.to_string(),
    }
}

/// Returns a property's name, quoted unless it is an identifier.
fn key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if name.chars().all(is_word)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
    {
        return name.to_owned();
    }
    Value::from(name).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_become_types() {
        let list = json!({"$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}}, "$ref": "#/$defs/A"});
        assert!(type_of(&list, 0).contains("next?: unknown"));
        for (schema, expected) in [
            (json!(true), "unknown"),
            (json!(false), "never"),
            (json!({}), "unknown"),
            (json!({"type": "integer", "minimum": 1}), "number"),
            (json!({"type": ["string", "null"]}), "string | null"),
            (json!({"type": ["integer", "number"]}), "number"),
            (json!({"enum": ["a\"b", 1, null]}), "\"a\\\"b\" | 1 | null"),
            (json!({"const": "a"}), "\"a\""),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "string[]",
            ),
            (
                json!({"type": "array", "items": {"enum": ["a", "b"]}}),
                "(\"a\" | \"b\")[]",
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {}]}),
                "[string, unknown]",
            ),
            (json!({"type": "object"}), "Record<string, unknown>"),
            (
                json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
                "Record<string, boolean>",
            ),
            (
                json!({"type": "object", "additionalProperties": false}),
                "Record<string, never>",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                "string | null",
            ),
            (
                json!({"allOf": [{"type": "string"}, {"type": "number"}]}),
                "(string) & (number)",
            ),
            (json!({"$ref": "#/missing"}), "unknown"),
            (json!({"$ref": "https://example.com"}), "unknown"),
            (
                json!({"properties": {"a b": {"type": "string", "description": "One */\ntwo"}}, "required": ["a b"]}),
                "{\n  /**\n   * One *\\/\n   * two\n   */\n  \"a b\": string;\n}",
            ),
        ] {
            assert_eq!(type_of(&schema, 0), expected, "{schema}");
        }
    }
}
