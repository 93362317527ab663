//! The text of structured results, as chosen by a tool's `text` option.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::handler::handler_error::{HandlerError, IntoHandlerError};
use crate::handler::output::{IntoToolResult, Json, structured};
use crate::types::CallToolResult;

/// The kind of text sent with a structured result in place of its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonText {
    /// No text, except for clients whose protocol version does not support structured content.
    None,
    /// A Markdown table of the rows.
    Table,
}

/// A tool result whose text is its JSON and can therefore be replaced with the `text` option.
#[diagnostic::on_unimplemented(
    message = "`text` applies to tools that return `Json<T>`, but this tool returns `{Self}`",
    label = "has custom text",
    note = "remove `text`, or return `Json<T>` or an `Option` or `Result` of it"
)]
pub trait JsonResult: IntoToolResult + Sized {
    /// Converts the value into a result with this text.
    ///
    /// # Errors
    ///
    /// Returns the handler's error.
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError>;
}

impl<T: Serialize + JsonSchema> JsonResult for Json<T> {
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError> {
        Ok(structured_with(self.into_raw()?, text))
    }
}

impl<R: JsonResult> JsonResult for Option<R> {
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError> {
        match self {
            Some(value) => value.into_result_with(text),
            None => Ok(structured_with(RawValue::NULL.to_owned(), text)),
        }
    }
}

impl<R: JsonResult, E: IntoHandlerError> JsonResult for Result<R, E> {
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_result_with(text)
    }
}

fn structured_with(json: Box<RawValue>, text: JsonText) -> CallToolResult {
    let JsonText::Table = text else {
        return CallToolResult::structured_only(json);
    };
    match table_of(json.get()) {
        Some(text) => {
            let mut result = CallToolResult::text(text);
            result.structured_content = Some(json);
            result
        }
        None => structured(json),
    }
}

/// Returns the Markdown text of JSON, if it is not longer than the JSON.
pub(crate) fn table_of(json: &str) -> Option<String> {
    table(&serde_json::from_str(json).ok()?)
}

/// Formats a value as Markdown. A list of objects becomes a table, any other list becomes a list, and the members of an
/// object become lines, with a table for each member that is a list of objects. Returns `None` if a table would be
/// longer than the JSON, because the rows have few columns in common.
fn table(value: &Value) -> Option<String> {
    Some(match value {
        Value::Array(items) => list(items)?,
        Value::Object(members) => {
            let mut parts = Vec::with_capacity(members.len());
            for (name, value) in members {
                parts.push(match value {
                    Value::Array(items) if !items.is_empty() => {
                        format!("\n{name}:\n\n{}\n", list(items)?)
                    }
                    scalar => format!("{name}: {}", inline(scalar)),
                });
            }
            parts.join("\n").trim().to_owned()
        }
        scalar => inline(scalar),
    })
}

fn list(items: &[Value]) -> Option<String> {
    if items.is_empty() {
        return Some("no rows".to_owned());
    }
    let rows: Option<Vec<&Map<String, Value>>> = items.iter().map(Value::as_object).collect();
    let Some(rows) = rows else {
        let lines: Vec<String> = items
            .iter()
            .map(|item| format!("- {}", inline(item)))
            .collect();
        return Some(lines.join("\n"));
    };
    let mut columns: Vec<&str> = Vec::new();
    let mut cells = 0_usize;
    for row in &rows {
        cells = cells.saturating_add(row.len());
        for name in row.keys() {
            if columns.contains(&name.as_str()) {
                continue;
            }
            // This bounds the running time.
            if columns.len() == MOST_COLUMNS {
                return None;
            }
            columns.push(name);
        }
    }
    // Up to half of the cells may be empty.
    if columns.is_empty() || columns.len().saturating_mul(rows.len()) > cells.saturating_mul(2) {
        return None;
    }
    let line = |cells: &mut dyn Iterator<Item = String>| {
        cells.fold(String::from("|"), |line, cell| line + &cell + "|")
    };
    let mut lines = vec![
        line(&mut columns.iter().map(|name| escaped(name))),
        line(&mut columns.iter().map(|_| "-".to_owned())),
    ];
    for row in rows {
        let cell = |name: &&str| row.get(*name).map(cell).unwrap_or_default();
        lines.push(line(&mut columns.iter().map(cell)));
    }
    Some(lines.join("\n"))
}

/// Maximum number of columns in a table.
const MOST_COLUMNS: usize = 100;

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        other => escaped(&inline(other)),
    }
}

/// Returns a string unchanged and any other value as JSON.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Escapes text so that it stays within a table cell.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace("\r\n", "<br>")
        .replace(['\n', '\r'], "<br>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_become_a_table() {
        for (value, expected) in [
            (
                json!([{"id": 1, "name": "a|b", "note": null}, {"id": 2, "name": "c\nd", "tags": ["x"]}]),
                Some("|id|name|note|tags|\n|-|-|-|-|\n|1|a\\|b|||\n|2|c<br>d||[\"x\"]|"),
            ),
            (
                json!({"total": 2, "rows": [{"id": 1}, {"id": 2}], "next": null}),
                Some("total: 2\n\nrows:\n\n|id|\n|-|\n|1|\n|2|\n\nnext: null"),
            ),
            (json!(["a", 1]), Some("- a\n- 1")),
            (json!([]), Some("no rows")),
            (json!({"rows": []}), Some("rows: []")),
            (json!("text"), Some("text")),
            (json!(null), Some("null")),
            (json!([{}, {}]), None),
            (json!([{"a": 1}, {"b": 1}, {"c": 1}]), None),
        ] {
            assert_eq!(table(&value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_table_has_at_most_a_hundred_columns() {
        for (columns, has_table) in [(100, true), (101, false)] {
            let row: Map<String, Value> = (0..columns)
                .map(|column| (column.to_string(), json!(1)))
                .collect();
            for rows in [json!([row]), json!([row, row])] {
                assert_eq!(table(&rows).is_some(), has_table, "{columns} columns");
            }
        }
    }

    #[test]
    fn a_row_that_has_no_table_is_json() {
        let json = serde_json::value::to_raw_value(&json!([{"a": 1}, {"b": 1}, {"c": 1}])).unwrap();
        let result = structured_with(json, JsonText::Table);
        let text = serde_json::to_value(&result).unwrap();
        assert_eq!(text["content"][0]["text"], r#"[{"a":1},{"b":1},{"c":1}]"#);
    }
}
