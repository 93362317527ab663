//! Arguments that are mirrored in headers.

use serde_json::{Map, Value};

/// The schema keyword that names the header of a tool argument.
pub(super) const HEADER: &str = "x-mcp-header";

/// An argument that is mirrored in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderArgument {
    /// The property names on the path from the argument object to the value.
    pub(crate) path: Vec<String>,
    /// The header name without `Mcp-Param-`.
    pub(crate) header: String,
}

/// Finds the arguments that are mirrored in headers. Only strings, booleans and integers that can be reached through
/// properties alone can be mirrored (HDR-06).
pub(crate) fn find_headers(schema: &Value, problems: &mut Vec<String>) -> Vec<HeaderArgument> {
    let mut headers = Vec::new();
    walk_headers(schema, &mut Vec::new(), true, 0, &mut headers, problems);
    for (index, one) in headers.iter().enumerate() {
        if headers
            .iter()
            .take(index)
            .any(|other: &HeaderArgument| other.header.eq_ignore_ascii_case(&one.header))
        {
            problems.push(format!("header `{}` mirrors two arguments", one.header));
        }
    }
    headers
}

pub(super) fn walk_headers(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    depth: u32,
    headers: &mut Vec<HeaderArgument>,
    problems: &mut Vec<String>,
) {
    let Some(object) = schema.as_object().filter(|_| depth < 128) else {
        for inner in schema
            .as_array()
            .into_iter()
            .flatten()
            .filter(|_| depth < 128)
        {
            walk_headers(inner, path, false, depth + 1, headers, problems);
        }
        return;
    };
    if let Some(header) = object.get(HEADER) {
        let place = path.join(".");
        match header.as_str() {
            Some(header) if !is_token(header) => problems.push(format!(
                "`{place}`: `{header}` is not a valid header name; use letters, digits and `-`"
            )),
            None => problems.push(format!("`{place}`: `{HEADER}` must be a header name")),
            Some(_) if !reachable || path.is_empty() => problems.push(format!(
                "`{place}`: a header can mirror only a value that is reached through properties"
            )),
            Some(header) => {
                let suits = object
                    .get("type")
                    .and_then(Value::as_str)
                    .is_some_and(|kind| matches!(kind, "string" | "boolean" | "integer"));
                if suits {
                    headers.push(HeaderArgument {
                        path: path.clone(),
                        header: header.to_owned(),
                    });
                } else {
                    problems.push(format!(
                        "`{place}`: a header can mirror only a string, a boolean or an integer"
                    ));
                }
            }
        }
    }
    for (keyword, inner) in object {
        match keyword.as_str() {
            "properties" => {
                for (name, inner) in inner.as_object().into_iter().flatten() {
                    path.push(name.clone());
                    walk_headers(inner, path, reachable, depth + 1, headers, problems);
                    path.pop();
                }
            }
            "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for inner in inner.as_object().into_iter().flat_map(Map::values) {
                    walk_headers(inner, path, false, depth + 1, headers, problems);
                }
            }
            "enum" | "const" | "default" | "examples" => {}
            _ => walk_headers(inner, path, false, depth + 1, headers, problems),
        }
    }
}

pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
