//! Formats a list of records as a human-readable table.

use serde_json::{Map, Value};

use crate::server::command_line::print::Style;

/// The space between two columns of a table.
const GAP: &str = "  ";

/// Formats a tool's result as a table if it is a list of flat records, or an object that contains only such a list, and
/// if the table fits into this many columns. `styled` applies the style to names.
pub(super) fn table(
    result: &Value,
    width: usize,
    styled: impl Fn(&str, Style) -> String,
) -> Option<String> {
    let records = records(result)?;
    let mut names: Vec<&str> = Vec::new();
    for name in records.iter().flat_map(|record| record.keys()) {
        if !names.contains(&name.as_str()) {
            // A table needs a gap for each column, so columns that would not fit are not even collected.
            if name.contains(char::is_control) || names.len() * GAP.len() > width {
                return None;
            }
            names.push(name);
        }
    }
    let mut columns = Vec::new();
    for &name in &names {
        let values = records.iter().map(|record| record.get(name));
        let cells: Option<Vec<_>> = values.map(cell).collect();
        let cells = cells?;
        let widths = cells.iter().map(|cell| columns_of(cell));
        let width = widths.chain([columns_of(name)]).max().unwrap_or_default();
        let is_number = records
            .iter()
            .all(|record| record.get(name).is_none_or(Value::is_number));
        columns.push((name, cells, width, is_number));
    }
    let total: usize = columns
        .iter()
        .map(|(_, _, width, _)| width + GAP.len())
        .sum();
    if columns.is_empty() || total > width + GAP.len() {
        return None;
    }
    let padded = |text: &str, shown: String, width: usize, is_number: bool| {
        let space = " ".repeat(width.saturating_sub(columns_of(text)));
        if is_number {
            space + &shown
        } else {
            shown + &space
        }
    };
    let line = |cells: Vec<String>| cells.join(GAP).trim_end().to_owned();
    let header = columns.iter().map(|(name, _, width, is_number)| {
        padded(name, styled(name, Style::Name), *width, *is_number)
    });
    let mut lines = vec![line(header.collect())];
    for index in 0..records.len() {
        let cells = columns.iter().filter_map(|(_, cells, width, is_number)| {
            let cell = cells.get(index)?;
            Some(padded(cell, cell.clone(), *width, *is_number))
        });
        lines.push(line(cells.collect()));
    }
    Some(lines.join("\n"))
}

/// Returns a list's records if the list is not empty and contains only records.
fn records(result: &Value) -> Option<Vec<&Map<String, Value>>> {
    let list = match result {
        Value::Array(list) => list,
        Value::Object(members) if members.len() == 1 => members.values().next()?.as_array()?,
        _ => return None,
    };
    let records: Option<Vec<_>> = list.iter().map(Value::as_object).collect();
    records.filter(|records| !records.is_empty())
}

/// Returns a value's text if it fits on a single line of a table.
fn cell(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => (!text.contains(char::is_control)).then(|| text.clone()),
        Some(Value::Array(_) | Value::Object(_)) => None,
        Some(value) => Some(value.to_string()),
    }
}

/// Returns the number of columns that the text occupies. Wide characters occupy two columns.
fn columns_of(text: &str) -> usize {
    text.chars()
        .map(|c| if c < '\u{1100}' { 1 } else { 2 })
        .sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_become_a_table() {
        let rows = json!([
            {"name": "basil", "litres": 1.5, "dry": true},
            {"name": "水仙", "litres": 10, "note": "in a pot"},
        ]);
        let expected =
            "name   litres  dry   note\nbasil     1.5  true\n水仙       10        in a pot";
        let plain = |text: &str, _| text.to_owned();
        assert_eq!(table(&rows, 29, plain).as_deref(), Some(expected));
        assert_eq!(
            table(&json!({"plants": rows}), 80, plain).as_deref(),
            Some(expected)
        );
        assert_eq!(table(&rows, 28, plain), None);
        let bold = table(&json!([{"a": "bc"}]), 80, |text, _| format!("<{text}>"));
        assert_eq!(bold.as_deref(), Some("<a>\nbc"));
    }

    #[test]
    fn all_else_is_no_table() {
        for result in [
            json!([]),
            json!([{}]),
            json!([1]),
            json!({"a": 1}),
            json!({"a": [{"b": 1}], "c": 1}),
            json!([{"a": [1]}]),
            json!([{"a": "b\nc"}]),
            json!([{"a": "\u{1b}[2J"}]),
            json!([{"\u{1b}[2J": 1}]),
            Value::Null,
        ] {
            assert_eq!(
                table(&result, 80, |text, _| text.to_owned()),
                None,
                "{result}"
            );
        }
    }
}
