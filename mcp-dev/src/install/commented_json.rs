//! Edits JSON with comments and trailing commas, preserving both.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::edit::{Change, NO_OBJECT};

pub(super) fn parse_json(text: &str) -> Result<Value, String> {
    let root = root_of(text)?;
    if root.value().is_none() {
        // The file contains only comments.
        return Ok(Map::new().into());
    }
    root.to_serde_value()
        .ok_or_else(|| "is not valid JSON".to_owned())
}

pub(super) fn edit_json(text: &str, changes: &[Change]) -> Result<String, String> {
    let root = root_of(text)?;
    for change in changes {
        let top = root.object_value_or_create().ok_or(NO_OBJECT)?;
        make(change, top)?;
    }
    Ok(root.to_string())
}

fn make(change: &Change, mut object: CstObject) -> Result<(), String> {
    let Some((last, parents)) = change.path.split_last() else {
        return Ok(());
    };
    for name in parents {
        object = object.object_value_or_create(name).ok_or(NO_OBJECT)?;
    }
    match (&change.value, object.get(last)) {
        (Some(value), Some(member)) => member.set_value(input(value)),
        (Some(value), None) => drop(object.append(last, input(value))),
        (None, Some(member)) => member.remove(),
        (None, None) => {}
    }
    Ok(())
}

fn root_of(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| format!("is not valid JSON: {error}"))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}
