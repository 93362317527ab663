//! Validates the `_meta` keys that a program sets.
//!
//! Specification: 2026-07-28, basic, "_meta".

use crate::protocol::is_reserved_meta_key;
use crate::types::Meta;

/// Returns all problems with the keys. The reserved keys in `permitted` may be used, because they are defined by
/// extensions.
pub(super) fn meta_problems(meta: Option<&Meta>, permitted: &[String]) -> Vec<String> {
    meta.into_iter()
        .flat_map(Meta::keys)
        .filter(|key| !permitted.contains(key))
        .filter_map(|key| entry_problem(key))
        .collect()
}

fn entry_problem(key: &str) -> Option<String> {
    meta_key_problem(key).or_else(|| {
        is_reserved_meta_key(key).then(|| {
            format!(
                "meta key `{key}` is reserved for the protocol; use another prefix, such as `com.example/`"
            )
        })
    })
}

/// Returns the reason why a key violates the grammar, or `None` if the key is valid.
pub(crate) fn meta_key_problem(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !prefix.split('.').all(is_prefix_label)) {
        return Some(format!(
            "meta key `{key}`: the part before `/` must be labels separated by dots, such as `com.example`"
        ));
    }
    (!is_key_name(name)).then(|| {
        format!("meta key `{key}`: a name consists of letters and digits, with `-`, `_` and `.` only between them")
    })
}

/// Returns `true` if the label starts with a letter, ends with a letter or digit, and contains only letters, digits and
/// `-` in between.
fn is_prefix_label(label: &str) -> bool {
    label.starts_with(|first: char| first.is_ascii_alphabetic())
        && label.ends_with(|last: char| last.is_ascii_alphanumeric())
        && label
            .chars()
            .all(|inner| inner.is_ascii_alphanumeric() || inner == '-')
}

/// Returns `true` if the name is empty, or if it begins and ends with an alphanumeric character.
fn is_key_name(name: &str) -> bool {
    let alphanumeric = |end: char| end.is_ascii_alphanumeric();
    name.is_empty()
        || (name.starts_with(alphanumeric)
            && name.ends_with(alphanumeric)
            && name
                .chars()
                .all(|inner| inner.is_ascii_alphanumeric() || "-_.".contains(inner)))
}

#[cfg(test)]
mod tests {
    use super::entry_problem;

    // Covers: META-07, META-09
    #[test]
    fn own_keys_pass_and_reserved_ones_do_not() {
        for (key, fine) in [
            ("ui", true),
            ("", true),
            ("com.example/flag", true),
            ("com.example/", true),
            ("example.com/a.b-c_d", true),
            ("io.modelcontextprotocol/x", false),
            ("dev.mcp/x", false),
            ("tools.mcp.com/x", false),
            ("mcp.dev/x", false),
            ("com.mcp-tools/x", true),
            ("com.example.mcp/x", true),
            ("1com/x", false),
            ("com-/x", false),
            ("/x", false),
            ("a b", false),
            ("-a", false),
            ("a/b/c", false),
        ] {
            assert_eq!(
                entry_problem(key).is_none(),
                fine,
                "{key}: {:?}",
                entry_problem(key)
            );
        }
    }
}
