//! Templates: no URI takes long to match, no matched value is absolute or has `..`, and matching reverses expansion.
//! Input: a template, a URI, and values for the variables, each on its own line.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::Template;

/// Maximum length of a URI that is matched.
const LONGEST: usize = 8 << 10;

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let (Some(source), Some(uri)) = (lines.next(), lines.next()) else {
        return;
    };
    let Ok(template) = Template::parse(source) else {
        return;
    };
    let values: Vec<&str> = lines.filter(|value| is_safe(value)).collect();
    let repeated = uri.repeat(LONGEST / uri.len().max(1));
    for uri in [uri, &repeated] {
        for (name, value) in template.matches(uri).unwrap_or_default() {
            assert!(template.variables().iter().any(|known| known == name));
            assert!(stays_below(&value), "{source} {uri}: {value:?}");
        }
    }
    let given = |name: &str| {
        let at = template
            .variables()
            .iter()
            .position(|known| known == name)?;
        values.get(at).copied()
    };
    let uri = template.expand(given);
    let found = template.matches(&uri);
    if values.len() < template.variables().len() || !is_plain(source) {
        return;
    }
    let mut found = found.unwrap_or_else(|| panic!("{source} does not match {uri}"));
    found.sort_by_key(|(name, _)| template.variables().iter().position(|known| known == name));
    let found: Vec<&str> = found.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(found, values[..found.len()], "{source} {uri}");
    assert_eq!(found.len(), template.variables().len(), "{source} {uri}");
});

/// Returns `true` if a value may be matched at all.
fn is_safe(value: &str) -> bool {
    !value.is_empty() && stays_below(value)
}

/// Returns `true` if a value joined to a directory stays below it, as the standard library and Windows read paths.
fn stays_below(value: &str) -> bool {
    let path = value.replace('\\', "/");
    let has_drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !has_drive && !path.contains('\0') && Path::new(&path).components().all(is_below)
}

/// Returns `true` if each expression is followed by text that cannot occur in its values, so that there is only one way
/// to read a URI.
fn is_plain(template: &str) -> bool {
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((inner, after)) = after.split_once('}') else {
            return false;
        };
        let separator = match inner.as_bytes() {
            [b'+' | b'#' | b'.', ..] => return false,
            [b'?' | b'&', ..] => '&',
            [b'/', ..] => '/',
            [b';', ..] => ';',
            _ => ',',
        };
        if inner.contains('*') {
            return false;
        }
        let next = match after.strip_prefix('{') {
            // The beginning of an expression; one without an operator begins with its value.
            Some(expression) => expression
                .chars()
                .next()
                .filter(|mark| "/;?&#".contains(*mark)),
            None => after.chars().next(),
        };
        let ends = match next {
            None => after.is_empty(),
            Some(next) => next != separator && next != '=' && ":/?#[]@!$&'()*+,;".contains(next),
        };
        if !ends {
            return false;
        }
        rest = after;
    }
    true
}
