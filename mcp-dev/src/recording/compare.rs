//! Finds differences that clients would see: compares two outcomes, ignoring values that differ in every run, such as
//! times and ids.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::read::Outcome;
use super::secrets::MASK;
use super::steady::{is_near, steady};

/// Maximum number of characters of a value to show, and maximum number to show before the first difference.
const MAX_SHOWN: usize = 120;
const LEAD: usize = 30;
/// Members of a result that depend on the connection or the era rather than on the client's request.
const PASSING: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "nextCursor"];
/// The lists, each with the member that identifies its entries. The order of entries is not significant.
const LISTS: [(&str, &str); 4] = [
    ("tools", "name"),
    ("prompts", "name"),
    ("resources", "uri"),
    ("resourceTemplates", "uriTemplate"),
];
/// The error codes for a resource that does not exist: the code used before 2026-07-28 and the code used since then.
const NOT_FOUND: [i64; 2] = [-32002, -32602];

/// A single difference.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Change {
    /// A JSON pointer into the message.
    pub(super) place: String,
    /// The recorded value, or `None` if the value is new.
    pub(super) before: Option<String>,
    /// The current value, or `None` if the value no longer exists.
    pub(super) now: Option<String>,
}

/// Compares recorded outcomes with current outcomes.
pub(super) struct Comparison<'a> {
    /// The time of the recording and the current time, in seconds since 1970. Times close to either of these are
    /// considered to depend on the run.
    pub(super) recorded: u64,
    pub(super) now: u64,
    /// `true` if the outcomes come from different eras.
    pub(super) across_eras: bool,
    /// JSON pointers to values that are not compared. `*` matches any single step.
    pub(super) ignored: &'a [String],
}

impl Comparison<'_> {
    pub(super) fn changes(&self, method: &str, before: Outcome, now: Outcome) -> Vec<Change> {
        if before.kind != now.kind {
            let change = Change {
                place: String::new(),
                before: Some(format!("{} {}", before.kind, shown(&before.value))),
                now: Some(format!("{} {}", now.kind, shown(&now.value))),
            };
            return vec![change];
        }
        let place = format!("/{}", before.kind);
        let [before, now] = [before, now].map(|outcome| self.essence(method, outcome));
        let mut found = Vec::new();
        self.differ(&before, &now, &place, &mut found);
        drop_echoes(&mut found);
        found.retain(|change| {
            !self
                .ignored
                .iter()
                .any(|pattern| fits_place(pattern, &change.place))
        });
        found
    }

    /// Returns the outcome without any data that depends on the connection, the era, or an unspecified order.
    fn essence(&self, method: &str, outcome: Outcome) -> Value {
        let mut value = outcome.value;
        if outcome.kind == "error" {
            if self.across_eras
                && value["code"]
                    .as_i64()
                    .is_some_and(|code| NOT_FOUND.contains(&code))
            {
                value["code"] = NOT_FOUND[1].into();
            }
            return value;
        }
        let Some(members) = value.as_object_mut() else {
            return value;
        };
        members.retain(|name, _| !PASSING.contains(&name.as_str()));
        // Only the modern era allows structured content that is not an object.
        if self.across_eras
            && let Some(structured) = members.get_mut("structuredContent")
            && let Some(inside) = structured.as_object_mut()
            && inside.len() == 1
            && let Some(inside) = inside.get_mut("result")
        {
            *structured = inside.take();
        }
        if method.ends_with("/list") {
            for (list, key) in LISTS {
                if let Some(entries) = members.get_mut(list) {
                    by_key(entries, key);
                }
            }
        }
        value
    }

    fn differ(&self, before: &Value, now: &Value, place: &str, found: &mut Vec<Change>) {
        match (before, now) {
            (Value::Object(old), Value::Object(new)) => {
                for (name, old) in old {
                    if is_meta(name, place) {
                        continue;
                    }
                    let place = format!("{place}/{}", step(name));
                    match new.get(name) {
                        Some(new) => self.differ(old, new, &place, found),
                        None => found.push(Change {
                            place,
                            before: Some(shown(old)),
                            now: None,
                        }),
                    }
                }
                for (name, new) in new {
                    if !is_meta(name, place) && !old.contains_key(name) {
                        found.push(Change {
                            place: format!("{place}/{}", step(name)),
                            before: None,
                            now: Some(shown(new)),
                        });
                    }
                }
            }
            (Value::Array(old), Value::Array(new)) => {
                if place.ends_with("/required") && as_set(old) == as_set(new) {
                    return;
                }
                for at in 0..old.len().max(new.len()) {
                    let place = format!("{place}/{at}");
                    match (old.get(at), new.get(at)) {
                        (Some(old), Some(new)) => self.differ(old, new, &place, found),
                        (old, new) => found.push(Change {
                            place,
                            before: old.map(shown),
                            now: new.map(shown),
                        }),
                    }
                }
            }
            (Value::String(old), Value::String(new)) => self.differ_in_text(old, new, place, found),
            (Value::Number(old), Value::Number(new)) if self.same_number(old, new) => {}
            // A hidden secret may have had any value.
            (Value::String(old), _) if old == MASK => {}
            _ if before == now => {}
            _ => found.push(Change {
                place: place.to_owned(),
                before: Some(shown(before)),
                now: Some(shown(now)),
            }),
        }
    }

    /// Compares two strings, which may contain JSON.
    fn differ_in_text(&self, old: &str, new: &str, place: &str, found: &mut Vec<Change>) {
        let [steady_old, steady_new] =
            [(old, self.recorded), (new, self.now)].map(|(text, time)| steady(text, time));
        if steady_old == steady_new || fits_mask(&steady_old, &steady_new) {
            return;
        }
        let read = |text| serde_json::from_str::<Value>(text).ok();
        if old.starts_with(['{', '['])
            && let (Some(old), Some(new)) = (read(old), read(new))
        {
            return self.differ(&old, &new, place, found);
        }
        let same = old
            .chars()
            .zip(new.chars())
            .take_while(|(old, new)| old == new);
        let from = same.count().saturating_sub(LEAD);
        found.push(Change {
            place: place.to_owned(),
            before: Some(shown_from(old, from)),
            now: Some(shown_from(new, from)),
        });
    }

    fn same_number(&self, old: &Number, new: &Number) -> bool {
        let near =
            |number: &Number, time| number.as_u64().is_some_and(|number| is_near(number, time));
        if old == new || (near(old, self.recorded) && near(new, self.now)) {
            return true;
        }
        let whole = |number: &Number| number.is_i64() || number.is_u64();
        // The numbers 1 and 1.0 are equal. Large integers can differ even if they are equal as floats.
        !(whole(old) && whole(new)) && old.as_f64().is_some() && old.as_f64() == new.as_f64()
    }
}

/// Appends a page to the preceding pages of a list.
pub(super) fn add_page(list: &mut Value, page: Value) {
    let Value::Object(page) = page else {
        return;
    };
    for (name, more) in page {
        if let (Some(Value::Array(entries)), Value::Array(more)) = (list.get_mut(&name), more) {
            entries.extend(more);
        }
    }
}

/// Converts a list into an object with a key for each entry. Entries without a key, or with a duplicate key, are kept
/// separately.
fn by_key(entries: &mut Value, key: &str) {
    let Value::Array(list) = entries.take() else {
        return;
    };
    let mut members = Map::new();
    for (at, entry) in list.into_iter().enumerate() {
        let name = entry[key]
            .as_str()
            .filter(|name| !members.contains_key(*name));
        let name = name.map_or_else(|| at.to_string(), str::to_owned);
        members.insert(name, entry);
    }
    *entries = Value::Object(members);
}

/// Removes differences in the JSON text that servers send for older clients if the same differences occur in the
/// structured content.
fn drop_echoes(found: &mut Vec<Change>) {
    const STRUCTURED: &str = "/result/structuredContent";
    let structured: Vec<String> = found
        .iter()
        .filter_map(|change| change.place.strip_prefix(STRUCTURED).map(str::to_owned))
        .collect();
    found.retain(|change| {
        let within = change.place.strip_prefix("/result/content/");
        let within = within.and_then(|rest| rest.split_once("/text"));
        !within.is_some_and(|(_, inner)| {
            !inner.is_empty() && structured.iter().any(|place| place.ends_with(inner))
        })
    });
}

/// Returns `true` if a member is about the connection. In a server's own data, `_meta` may have any meaning.
fn is_meta(name: &str, place: &str) -> bool {
    name == "_meta" && !place.starts_with("/result/structuredContent")
}

fn as_set(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().map(Value::to_string).collect()
}

/// Returns a name as a step of a JSON pointer.
fn step(name: &str) -> String {
    printable(&name.replace('~', "~0").replace('/', "~1"))
}

fn fits_place(pattern: &str, place: &str) -> bool {
    let mut steps = place.split('/');
    let all = pattern.split('/').all(|wanted| {
        let step = steps.next();
        step.is_some_and(|step| wanted == "*" || wanted == step)
    });
    // All parts of an ignored value are ignored, too.
    all && pattern.starts_with('/')
}

/// Returns `true` if `text` equals `masked` with secrets in place of the masks.
fn fits_mask(masked: &str, text: &str) -> bool {
    let mut parts = masked.split(MASK);
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return false;
    };
    for part in between {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the beginning of a value in a readable form.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shown_from(text, 0),
        other => printable(&cut(&other.to_string(), 0)),
    }
}

fn shown_from(text: &str, from: usize) -> String {
    let quoted = Value::from(cut(text, from)).to_string();
    printable(&quoted)
}

fn cut(text: &str, from: usize) -> String {
    let mut rest = text.chars().skip(from);
    let mut part: String = rest.by_ref().take(MAX_SHOWN).collect();
    if from > 0 {
        part.insert(0, '…');
    }
    if rest.next().is_some() {
        part.push('…');
    }
    part
}

/// Escapes all characters in the text that are invisible or that control a terminal.
pub(super) fn printable(text: &str) -> String {
    let acts = |character: char| {
        (character.is_control() && character != '\n' && character != '\t')
            || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        if acts(character) {
            clean.extend(character.escape_unicode());
        } else {
            clean.push(character);
        }
    }
    clean
}
