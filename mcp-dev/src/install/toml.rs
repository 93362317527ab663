//! Edits TOML, preserving comments, order and line endings.

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use super::edit::{Change, NO_OBJECT};

pub(super) fn parse_toml(text: &str) -> Result<Value, String> {
    let document = document_of(text)?;
    Ok(table_value(document.as_table()))
}

pub(super) fn edit_toml(text: &str, changes: &[Change]) -> Result<String, String> {
    let mut document = document_of(text)?;
    for change in changes {
        if change.value.is_none() {
            let above = comments_above(&document, &change.path);
            make(change, document.as_table_mut())?;
            if let Some((position, comments)) = above {
                put_behind(&mut document, position, &comments);
            }
        } else {
            document = with_change(document, change)?;
        }
    }
    Ok(with_original_lines(text, &document.to_string()))
}

/// Makes a change that sets a value. Comments at the end of the document belong to its last table, so a new table is
/// inserted after them.
fn with_change(mut document: DocumentMut, change: &Change) -> Result<DocumentMut, String> {
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    if !trailing.contains('#') {
        make(change, document.as_table_mut())?;
        return Ok(document);
    }
    document.set_trailing("");
    let before = document.to_string();
    make(change, document.as_table_mut())?;
    let after = document.to_string();
    let is_ended = trailing.ends_with('\n');
    match after.strip_prefix(&before) {
        Some(new) if !new.is_empty() && before.ends_with('\n') => {
            let end = if is_ended { "" } else { "\n" };
            document_of(&format!("{before}{trailing}{end}{new}"))
        }
        _ => {
            document.set_trailing(trailing);
            Ok(document)
        }
    }
}

/// Returns the table's position and the comments above it, which may belong to the preceding table.
fn comments_above(document: &DocumentMut, path: &[String]) -> Option<(isize, String)> {
    let [parent, name] = path else {
        return None;
    };
    let table = document
        .get(parent)?
        .as_table_like()?
        .get(name)?
        .as_table()?;
    // Line endings are restored at the end.
    let comments = table.decor().prefix()?.as_str()?.replace("\r\n", "\n");
    // The empty line above the table is removed together with the table.
    let comments = match comments.strip_suffix("\n\n") {
        Some(lines) => format!("{lines}\n"),
        None => comments,
    };
    let position = table.position()?;
    comments.contains('#').then_some((position, comments))
}

/// Inserts comments before the first table after this position, or at the end of the document.
fn put_behind(document: &mut DocumentMut, position: isize, comments: &str) {
    let mut positions = Vec::new();
    visit_tables(document.as_table_mut(), &mut |table| {
        positions.extend(table.position());
    });
    let next = positions
        .into_iter()
        .filter(|other| *other > position)
        .min();
    if next.is_none() {
        let trailing = document.trailing().as_str().unwrap_or_default();
        document.set_trailing(format!("{comments}{trailing}"));
    }
    visit_tables(document.as_table_mut(), &mut |table| {
        if next.is_some() && table.position() == next {
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
            let prefix = format!("{comments}{}", prefix.unwrap_or_default());
            table.decor_mut().set_prefix(prefix);
        }
    });
}

/// Visits all tables that have their own header.
fn visit_tables(table: &mut Table, visit: &mut dyn FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => {
                if !table.is_implicit() {
                    visit(table);
                }
                visit_tables(table, visit);
            }
            Item::ArrayOfTables(tables) => {
                for table in tables.iter_mut() {
                    visit(table);
                    visit_tables(table, visit);
                }
            }
            Item::None | Item::Value(_) => {}
        }
    }
}

fn make(change: &Change, top: &mut dyn TableLike) -> Result<(), String> {
    let Some((last, parents)) = change.path.split_last() else {
        return Ok(());
    };
    let mut table = top;
    for (depth, name) in parents.iter().enumerate() {
        let item = table.entry(name).or_insert_with(|| {
            let mut new = Table::new();
            // `[mcp_servers]` is redundant if only `[mcp_servers.x]` follows.
            new.set_implicit(depth == 0);
            Item::Table(new)
        });
        table = item.as_table_like_mut().ok_or(NO_OBJECT)?;
    }
    match &change.value {
        None => drop(table.remove(last)),
        Some(new) => {
            let mut item = if change.path.len() == 2 {
                Item::Table(table_of(new))
            } else {
                Item::Value(toml_value(new))
            };
            match table.get_mut(last) {
                // The comment after the old value is part of the value's decoration.
                Some(Item::Value(old)) => {
                    let decor = old.decor().clone();
                    item.make_value();
                    if let Item::Value(value) = &mut item {
                        *value.decor_mut() = decor;
                    }
                    *table.get_mut(last).ok_or(NO_OBJECT)? = item;
                }
                _ => drop(table.insert(last, item)),
            }
        }
    }
    Ok(())
}

fn document_of(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| format!("is not valid TOML: {error}"))
}

/// Restores the original line endings of the unchanged lines at the start and the end, and gives all other lines the
/// ending of the first line.
fn with_original_lines(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let is_same = |(a, b): &(&&str, &&str)| bare(a) == bare(b);
    let start = old.iter().zip(&new).take_while(is_same).count();
    let rest = old.len().min(new.len()) - start;
    let ends = old.iter().rev().zip(new.iter().rev()).take(rest);
    let end = ends.take_while(is_same).count();
    let line_end = if old.first().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let middle = new.iter().skip(start).take(new.len() - start - end);
    let middle: String = middle.flat_map(|line| [bare(line), line_end]).collect();
    let before = old.iter().take(start).copied();
    let after = old.iter().skip(old.len() - end).copied();
    let last = before
        .clone()
        .next_back()
        .filter(|line| !line.ends_with('\n'));
    let gap = if last.is_some() && !middle.is_empty() {
        line_end
    } else {
        ""
    };
    format!(
        "{}{gap}{middle}{}",
        before.collect::<String>(),
        after.collect::<String>()
    )
}

/// Returns the line without its ending.
fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn table_of(value: &Value) -> Table {
    let mut table = Table::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        table.insert(name, Item::Value(toml_value(value)));
    }
    table
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        // TOML does not support null, and entries do not contain it.
        Value::Null => "".into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(toml_value).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.as_str(), toml_value(value)));
            members.collect::<InlineTable>().into()
        }
    }
}

fn table_value(table: &dyn TableLike) -> Value {
    let members = table
        .iter()
        .map(|(name, item)| (name.to_owned(), item_value(item)));
    members.collect::<Map<_, _>>().into()
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_value(table)).collect(),
    }
}

fn json_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(json_value).collect(),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}
