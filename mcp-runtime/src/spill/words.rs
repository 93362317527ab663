//! Sentences that describe large results and their parts to models.

use std::time::Duration;

use super::document::Document;
use super::page::{PageEnd, PageText};
use crate::handler::decode::entries;

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
