//! Checks the order of the modules of `http`, called rooms here: each may use only the modules before it in the list in
//! `http/mod.rs`.

use crate::sources::product;

const HTTP: &str = "mcp-runtime/src/http/";

/// Returns the rooms in the order of the list.
fn listed(list: &str) -> Vec<&str> {
    list.lines()
        .skip_while(|line| !line.ends_with("uses only those above it:"))
        .skip(2)
        .map_while(|line| line.strip_prefix("// "))
        .filter_map(|line| line.split_whitespace().next())
        .map(|room| room.trim_end_matches(".rs"))
        .collect()
}

/// Returns the rooms that a file refers to.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::http::").skip(1).flat_map(|rest| {
        let names = rest.strip_prefix('{').map_or_else(
            || {
                rest.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
                    .next()
            },
            |names| names.split('}').next(),
        );
        let names = names.unwrap_or_default().split(',').map(str::trim);
        names.filter(|name| name.starts_with(char::is_lowercase))
    })
}

#[test]
fn a_room_of_http_uses_only_those_before_it() {
    let sources = product();
    let list = sources
        .iter()
        .find(|source| source.path == format!("{HTTP}mod.rs"))
        .unwrap();
    let rooms = listed(&list.text);
    let position = |room: &str| rooms.iter().position(|listed| *listed == room);
    let mut complaints = Vec::new();
    for source in &sources {
        let Some(path) = source.path.strip_prefix(HTTP) else {
            continue;
        };
        let room = path.split('/').next().unwrap().trim_end_matches(".rs");
        if room == "mod" {
            continue;
        }
        let text = source.text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let Some(own) = position(room) else {
            complaints.push(format!("{path}: `{room}` is not in the list"));
            continue;
        };
        for used in named(text).filter(|used| *used != room) {
            if position(used).is_none_or(|used| used > own) {
                complaints.push(format!("{path}: uses `{used}`"));
            }
        }
    }
    assert!(rooms.len() > 10, "the list was not found: {rooms:?}");
    assert!(
        complaints.is_empty(),
        "a room of HTTP uses one that is not before it:\n  {}",
        complaints.join("\n  ")
    );
}
