//! The structure of a large result: the rows of a JSON result, or the lines of a text result.

use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::handler::decode::entries;

/// A unit in which parts of a result are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The items of the result's list.
    Rows,
    Lines,
    Bytes,
}

impl Unit {
    /// Returns the unit with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Rows, Self::Lines, Self::Bytes]
            .into_iter()
            .find(|unit| unit.name() == name)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Lines => "lines",
            Self::Bytes => "bytes",
        }
    }
}

/// A large result.
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_json: bool,
    pub(crate) rows: Option<Rows<'a>>,
    /// `true` if rows are shown as tables, as with the `text = "table"` option.
    pub(crate) is_table: bool,
}

/// The list in a JSON result: the result itself or, if it is an object, its longest member that is a list.
pub(crate) struct Rows<'a> {
    /// The name of the member.
    pub(crate) member: Option<String>,
    /// The JSON of each item.
    pub(crate) items: Vec<&'a str>,
}

impl<'a> Document<'a> {
    pub(crate) fn read(text: &'a str, is_json: bool) -> Self {
        let rows = is_json.then(|| Rows::find(text.trim())).flatten();
        Self {
            text,
            is_json,
            rows,
            is_table: false,
        }
    }

    /// Sets whether rows are shown as tables.
    pub(crate) fn with_tables(mut self, is_table: bool) -> Self {
        self.is_table = is_table;
        self
    }

    /// Returns the default unit.
    pub(crate) fn usual_unit(&self) -> Unit {
        match &self.rows {
            Some(_) => Unit::Rows,
            // JSON without a list is usually one line.
            None if self.is_json => Unit::Bytes,
            None => Unit::Lines,
        }
    }

    /// Returns the result's parts in this unit. Returns `None` for bytes, or for rows if the result has no rows.
    pub(crate) fn items(&self, unit: Unit) -> Option<Vec<&'a str>> {
        match unit {
            Unit::Rows => self.rows.as_ref().map(|rows| rows.items.clone()),
            Unit::Lines => Some(self.text.split_inclusive('\n').collect()),
            Unit::Bytes => None,
        }
    }
}

impl<'a> Rows<'a> {
    fn find(json: &'a str) -> Option<Self> {
        if json.starts_with('[') {
            return Some(Self {
                member: None,
                items: items(json)?,
            });
        }
        let members = entries(json).ok()?.into_iter();
        let lists = members.filter(|(_, value)| value.starts_with('['));
        let (member, list) = lists.max_by_key(|(_, value)| value.len())?;
        Some(Self {
            member: Some(member.into_owned()),
            items: items(list)?,
        })
    }

    /// Returns the names of the fields in the first rows, or `None` if one of these rows is not an object.
    pub(crate) fn fields(&self) -> Option<Vec<String>> {
        /// Number of rows that are examined.
        const ROWS: usize = 1_000;
        let mut names = Vec::new();
        let mut known = HashSet::new();
        for row in self.items.iter().take(ROWS) {
            for (name, _) in entries(row).ok()? {
                if known.insert(name.to_string()) {
                    names.push(name.into_owned());
                }
            }
        }
        Some(names)
    }
}

/// Returns the JSON of the items of a list.
fn items(list: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}
