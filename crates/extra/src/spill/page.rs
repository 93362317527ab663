//! A part of a large result.

use std::collections::HashSet;
use std::time::Duration;

use mcp_core::handler::decode::entries;
use mcp_core::handler::output::table_of;
use mcp_schema::suggest::closest;
use serde_json::value::RawValue;

use crate::spill::escaped_size;

/// A request for a part of a result.
#[derive(Debug, Default)]
pub(crate) struct PageRequest {
    /// The unit of `offset` and `limit`. Defaults to the unit that suits the result.
    pub(crate) unit: Option<Unit>,
    pub(crate) offset: usize,
    /// Maximum number of rows, lines or bytes. Fewer are returned if not all of them fit.
    pub(crate) limit: Option<usize>,
    /// The fields of rows to return. Empty for all fields.
    pub(crate) fields: Vec<String>,
}

/// A part of a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageText {
    pub(crate) text: String,
    pub(crate) unit: Unit,
    pub(crate) offset: usize,
    /// Number of rows, lines or bytes in the part.
    pub(crate) count: usize,
    /// Number of rows, lines or bytes in the result.
    pub(crate) total: usize,
    /// The way in which the last row or line of the part ends.
    pub(crate) end: PageEnd,
}

/// The way in which the last row or line of a part ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageEnd {
    Whole,
    /// It does not fit. Its remainder begins at this position, in bytes.
    CutAt(usize),
    /// It does not fit. Its fields were selected, so its remainder has no position.
    Cut,
}

impl PageText {
    /// Returns the offset of the next part, unless this is the last one.
    pub(crate) fn next(&self) -> Option<usize> {
        let next = self.offset.saturating_add(self.count);
        (next < self.total).then_some(next)
    }
}

impl Document<'_> {
    /// Returns a part that takes up at most `room` bytes inside a JSON string. The error is for the model.
    pub(crate) fn page(&self, request: &PageRequest, room: usize) -> Result<PageText, String> {
        let unit = match (request.unit, request.fields.is_empty()) {
            (Some(unit), _) => unit,
            (None, true) => self.usual_unit(),
            (None, false) => Unit::Rows,
        };
        if !request.fields.is_empty() && unit != Unit::Rows {
            return Err("`fields` selects fields of rows, so it needs the unit `rows`".into());
        }
        let Some(items) = self.items(unit) else {
            if unit == Unit::Bytes {
                return self.bytes(request, room);
            }
            let usual = self.usual_unit().name();
            return Err(format!("the result has no rows; use the unit `{usual}`"));
        };
        let total = items.len();
        check_offset(request.offset, total, unit)?;
        self.check_fields(&request.fields)?;
        let rest = items.get(request.offset..).unwrap_or_default();
        let limit = request.limit.unwrap_or(usize::MAX);
        let is_rows = unit == Unit::Rows;
        let mut page = PageText {
            text: if is_rows { "[" } else { "" }.to_owned(),
            unit,
            offset: request.offset,
            count: 0,
            total,
            end: PageEnd::Whole,
        };
        // Each row needs a comma and an escaped line break, and the list needs two brackets.
        let (mut used, separator): (usize, usize) = if is_rows { (2, 3) } else { (0, 0) };
        for &item in rest.iter().take(limit) {
            let shown = if request.fields.is_empty() {
                item.to_owned()
            } else {
                projected(item, &request.fields)?
            };
            let size = escaped_size(&shown).saturating_add(separator);
            if used.saturating_add(size) > room {
                let is_first = page.count == 0;
                if is_first {
                    // A part of a row is not JSON, so it has no brackets.
                    page.text.clear();
                    used = 0;
                }
                // If more than half of the room is left, the beginning of a line that does not fit is included.
                if is_first || (!is_rows && used < room / 2) {
                    let part = prefix(&shown, room.saturating_sub(used));
                    let rest = self.position(item).saturating_add(part.len());
                    page.end = if request.fields.is_empty() {
                        PageEnd::CutAt(rest)
                    } else {
                        PageEnd::Cut
                    };
                    page.text.push_str(part);
                    page.count = page.count.saturating_add(1);
                }
                break;
            }
            if is_rows && page.count > 0 {
                page.text.push_str(",\n");
            }
            page.text.push_str(&shown);
            page.count = page.count.saturating_add(1);
            used = used.saturating_add(size);
        }
        if is_rows && page.end == PageEnd::Whole {
            page.text.push(']');
            let table = self.is_table.then(|| table_of(&page.text)).flatten();
            if let Some(table) = table.filter(|table| escaped_size(table) <= room) {
                page.text = table;
            }
        }
        Ok(page)
    }

    fn bytes(&self, request: &PageRequest, room: usize) -> Result<PageText, String> {
        let total = self.text.len();
        check_offset(request.offset, total, Unit::Bytes)?;
        let start = self.text.floor_char_boundary(request.offset);
        let rest = self.text.get(start..).unwrap_or_default();
        let limit = request.limit.unwrap_or(usize::MAX);
        let limited = rest.get(..rest.floor_char_boundary(limit)).unwrap_or(rest);
        // The part contains at least one character; otherwise, the model would never get past it.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let limited = if limited.is_empty() {
            rest.get(..first).unwrap_or_default()
        } else {
            limited
        };
        let text = prefix(limited, room);
        Ok(PageText {
            text: text.to_owned(),
            unit: Unit::Bytes,
            offset: start,
            count: text.len(),
            total,
            end: PageEnd::Whole,
        })
    }

    fn check_fields(&self, fields: &[String]) -> Result<(), String> {
        let Some(rows) = self.rows.as_ref().filter(|_| !fields.is_empty()) else {
            return Ok(());
        };
        let has = |row: &&str, field: &str| {
            let members = entries(row).unwrap_or_default();
            members.iter().any(|(name, _)| *name == *field)
        };
        let mut fields = fields.iter();
        let Some(unknown) = fields.find(|field| !rows.items.iter().any(|row| has(row, field)))
        else {
            return Ok(());
        };
        let known = rows.fields().unwrap_or_default();
        if known.is_empty() {
            return Err("`fields` selects fields of objects, but the rows have none".into());
        }
        let similar = closest(unknown, known.iter().map(String::as_str));
        let hint = similar.map_or_else(
            || format!("there are {}", names(&known)),
            |similar| format!("did you mean `{similar}`?"),
        );
        Err(format!("no row has the field `{unknown}`; {hint}"))
    }

    /// Returns the position of a part of the text.
    fn position(&self, part: &str) -> usize {
        let (start, whole) = (part.as_ptr().addr(), self.text.as_ptr().addr());
        start.saturating_sub(whole)
    }
}

/// Checks that an offset is not beyond the end of the result.
fn check_offset(offset: usize, total: usize, unit: Unit) -> Result<(), String> {
    if offset < total || (offset == 0 && total == 0) {
        return Ok(());
    }
    let unit = unit.name();
    Err(format!(
        "`offset` {offset} is beyond the end: the result has {total} {unit}"
    ))
}

/// Returns a row with only these fields.
fn projected(row: &str, fields: &[String]) -> Result<String, String> {
    let members =
        entries(row).map_err(|_| "`fields` selects fields of objects, but not all rows are")?;
    let mut out = Vec::from(*b"{");
    for (name, value) in &members {
        if !fields.iter().any(|field| **field == **name) {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        mcp_protocol::jsonrpc::write_string(&mut out, name);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Returns a prefix that takes up at most `room` bytes inside a JSON string but contains at least one character.
fn prefix(text: &str, room: usize) -> &str {
    let mut end = text.floor_char_boundary(room);
    loop {
        let part = text.get(..end).unwrap_or_default();
        let size = escaped_size(part);
        if size <= room && end > 0 {
            return part;
        }
        let first = text.chars().next().map_or(0, char::len_utf8);
        // Escapes take up to six times as much room and are spread roughly evenly.
        let smaller = end.saturating_mul(room).checked_div(size).unwrap_or(0);
        let smaller = text.floor_char_boundary(smaller.min(end.saturating_sub(1)));
        if smaller <= first {
            return text.get(..first).unwrap_or_default();
        }
        end = smaller;
    }
}

// --- Sentences that describe large results and their parts to models.

/// Maximum number of bytes for a list of names.
const MAX_NAMES: usize = 400;

/// Returns the names as a list for use in a sentence. If there are too many names, the last ones are only counted.
pub(super) fn names(names: &[String]) -> String {
    let mut list = String::new();
    for (index, name) in names.iter().enumerate() {
        if list.len().saturating_add(name.len()) > MAX_NAMES {
            let more = names.len().saturating_sub(index);
            return format!("{list} and {more} more").trim_start().to_owned();
        }
        if index > 0 {
            list.push_str(", ");
        }
        list.push('`');
        list.push_str(name);
        list.push('`');
    }
    list
}

/// Describes the structure of a result.
pub(crate) fn shape(document: &Document<'_>) -> String {
    if !document.is_json {
        return format!("text of {} lines", document.text.lines().count());
    }
    let Some(rows) = &document.rows else {
        return match entries(document.text) {
            Ok(members) => {
                let members: Vec<_> = members.into_iter().map(|(name, _)| name.into()).collect();
                format!("a JSON object with {}", names(&members))
            }
            Err(_) => "a JSON value".to_owned(),
        };
    };
    let items = match rows.fields() {
        Some(fields) if !fields.is_empty() => {
            format!(
                "{} objects with the fields {}",
                rows.items.len(),
                names(&fields)
            )
        }
        _ => format!("{} values", rows.items.len()),
    };
    match &rows.member {
        None => format!("a JSON list of {items}"),
        Some(member) => {
            let others = entries(document.text).unwrap_or_default();
            let others = others.into_iter().filter(|(name, _)| *name != **member);
            let others: Vec<String> = others.map(|(name, _)| name.into()).collect();
            let others = if others.is_empty() {
                String::new()
            } else {
                format!(", alongside {}", names(&others))
            };
            let member = names(std::slice::from_ref(member));
            format!("a JSON object whose member {member} is a list of {items}{others}")
        }
    }
}

/// Describes a part and states where the next one begins.
pub(crate) fn page_note(page: &PageText) -> String {
    let (unit, total) = (page.unit.name(), page.total);
    let last = page.offset.saturating_add(page.count).saturating_sub(1);
    let part = format!("{unit} {} to {last} of {total}", page.offset);
    let single = unit.trim_end_matches('s');
    let incomplete = match page.end {
        PageEnd::Whole => String::new(),
        PageEnd::CutAt(rest) => format!(
            "; the last {single} does not fit: the rest begins at `offset` {rest} with the unit `bytes`"
        ),
        PageEnd::Cut => {
            format!("; the last {single} does not fit and was cut: select fewer fields")
        }
    };
    match page.next() {
        Some(next) => format!("{part}{incomplete}; the next ones begin at `offset` {next}"),
        None if page.end != PageEnd::Whole => format!("{part}{incomplete}"),
        None => format!("{part}; nothing follows"),
    }
}

/// Returns a duration in words.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs().max(1);
    let (number, unit) = if seconds.is_multiple_of(3600) {
        (seconds / 3600, "hour")
    } else if seconds >= 120 {
        (seconds / 60, "minute")
    } else {
        (seconds, "second")
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

// --- The structure of a large result: the rows of a JSON result, or the lines of a text result.

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
        const MAX_EXAMINED_ROWS: usize = 1_000;
        let mut names = Vec::new();
        let mut known = HashSet::new();
        for row in self.items.iter().take(MAX_EXAMINED_ROWS) {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page(
        text: &str,
        is_json: bool,
        request: &PageRequest,
        room: usize,
    ) -> Result<PageText, String> {
        Document::read(text, is_json).page(request, room)
    }

    fn from(offset: usize) -> PageRequest {
        PageRequest {
            offset,
            ..PageRequest::default()
        }
    }

    /// Reads a whole result, page by page.
    fn all_pages(text: &str, is_json: bool, unit: Unit, room: usize) -> Vec<PageText> {
        let mut pages: Vec<PageText> = Vec::new();
        loop {
            let request = PageRequest {
                unit: Some(unit),
                ..from(pages.last().and_then(PageText::next).unwrap_or_default())
            };
            let page = page(text, is_json, &request, room).unwrap();
            assert!(
                escaped_size(&page.text) <= room,
                "{page:?} is larger than {room}"
            );
            let is_last = page.next().is_none();
            pages.push(page);
            if is_last {
                return pages;
            }
        }
    }

    #[test]
    fn pages_of_rows_are_json_and_together_they_are_the_whole() {
        let rows: Vec<Value> = (0..50)
            .map(|id| json!({"id": id, "note": "\"é\n".repeat(id % 7)}))
            .collect();
        for text in [
            json!(rows).to_string(),
            json!({"total": 50, "rows": rows}).to_string(),
        ] {
            for room in [100, 317, 100_000] {
                let pages = all_pages(&text, true, Unit::Rows, room);
                let read = pages.iter().flat_map(|page| {
                    assert_eq!(page.end, PageEnd::Whole);
                    serde_json::from_str::<Vec<Value>>(&page.text).unwrap()
                });
                assert_eq!(read.collect::<Vec<_>>(), rows);
            }
        }
    }

    #[test]
    fn pages_of_lines_and_bytes_end_at_boundaries_and_together_they_are_the_whole() {
        let text = "line \"one\"\r\n\n🦀🦀🦀\nlast".repeat(9);
        for room in [24, 40, 1_000] {
            for unit in [Unit::Lines, Unit::Bytes] {
                let pages = all_pages(&text, false, unit, room);
                let read: String = pages.into_iter().map(|page| page.text).collect();
                assert_eq!(read, text, "{unit:?} in {room}");
            }
        }
    }

    #[test]
    fn the_rest_of_a_row_that_is_larger_than_a_page_is_found_by_its_bytes() {
        let large = "é\"".repeat(200);
        let text = json!([{"a": 1}, {"large": large}, {"a": 2}]).to_string();
        let first = page(&text, true, &from(1), 100).unwrap();
        assert_eq!((first.count, first.next()), (1, Some(2)));
        let PageEnd::CutAt(rest) = first.end else {
            panic!("{:?}", first.end);
        };
        assert!(text[..rest].ends_with(&first.text));
        let request = PageRequest {
            unit: Some(Unit::Bytes),
            ..from(rest)
        };
        let second = page(&text, true, &request, 100_000).unwrap();
        assert_eq!(
            first.text + second.text.strip_suffix(",{\"a\":2}]").unwrap(),
            json!({"large": large}).to_string()
        );
    }

    #[test]
    fn fields_are_selected_and_unknown_ones_explained() {
        let text = r#"{"rows":[{"id":1,"name":"a"},{"id":2,"extra":[1]}]}"#;
        let request = |fields: &[&str]| PageRequest {
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            ..PageRequest::default()
        };
        let read =
            |fields: &[&str]| page(text, true, &request(fields), 1_000).map(|page| page.text);
        assert_eq!(
            read(&["extra", "id"]).unwrap(),
            "[{\"id\":1},\n{\"id\":2,\"extra\":[1]}]"
        );
        for (fields, problem) in [
            (
                ["nmae"],
                "no row has the field `nmae`; did you mean `name`?",
            ),
            (
                ["zzz"],
                "no row has the field `zzz`; there are `id`, `name`, `extra`",
            ),
        ] {
            assert_eq!(read(&fields).unwrap_err(), problem);
        }
        let problem = page("[1,2]", true, &request(&["a"]), 1_000).unwrap_err();
        assert_eq!(
            problem,
            "`fields` selects fields of objects, but the rows have none"
        );
        let bytes = PageRequest {
            unit: Some(Unit::Bytes),
            ..request(&["id"])
        };
        let problem = page(text, true, &bytes, 1_000).unwrap_err();
        assert_eq!(
            problem,
            "`fields` selects fields of rows, so it needs the unit `rows`"
        );
    }

    #[test]
    fn offsets_beyond_the_end_and_missing_rows_are_explained() {
        for (text, is_json, request, problem) in [
            (
                "[1,2]",
                true,
                from(2),
                "`offset` 2 is beyond the end: the result has 2 rows",
            ),
            (
                "a\nb",
                false,
                from(usize::MAX),
                "`offset` 18446744073709551615 is beyond the end: the result has 2 lines",
            ),
            (
                "{\"a\":1}",
                true,
                from(7),
                "`offset` 7 is beyond the end: the result has 7 bytes",
            ),
            (
                "text",
                false,
                PageRequest {
                    unit: Some(Unit::Rows),
                    ..PageRequest::default()
                },
                "the result has no rows; use the unit `lines`",
            ),
        ] {
            assert_eq!(page(text, is_json, &request, 1_000).unwrap_err(), problem);
        }
        assert_eq!(page("[]", true, &from(0), 1_000).unwrap().text, "[]");
    }

    #[test]
    fn a_limit_shortens_a_page_and_the_smallest_page_still_advances() {
        let limited = |unit, limit| PageRequest {
            unit: Some(unit),
            limit: Some(limit),
            ..PageRequest::default()
        };
        let read = |request: &PageRequest, room| page("🦀\nab\n", false, request, room).unwrap();
        assert_eq!(read(&limited(Unit::Lines, 1), 100).text, "🦀\n");
        assert_eq!(read(&limited(Unit::Bytes, 5), 100).text, "🦀\n");
        assert_eq!(read(&limited(Unit::Bytes, usize::MAX), 100).count, 8);
        assert_eq!(read(&limited(Unit::Bytes, 1), 100).text, "🦀");
        assert_eq!(read(&limited(Unit::Bytes, 8), 1).text, "🦀");
    }
}
