//! Rewords the errors that darling reports when it parses options.
//!
//! These errors can be told apart only by their messages. Unrecognized messages are passed on unchanged.

/// Converts darling's errors to syn's and rewords their messages, keeping their spans.
pub(crate) fn reworded(error: darling::Error) -> syn::Error {
    let mut errors = syn::Error::from(error)
        .into_iter()
        .map(|error| syn::Error::new(error.span(), reword(&error.to_string())));
    let Some(mut first) = errors.next() else {
        return syn::Error::new(proc_macro2::Span::call_site(), "invalid options");
    };
    first.extend(errors);
    first
}

fn reword(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("Unknown field: ") {
        let (name, hint) = rest.split_once(". ").unwrap_or((rest, ""));
        return match hint_for(name.trim_matches('`'), hint) {
            Some(hint) => format!("unknown option {name}; {hint}"),
            None => format!("unknown option {name}"),
        };
    }
    if let Some(name) = text.strip_prefix("Duplicate field ") {
        return format!("option {name} is given twice");
    }
    if let Some(kind) = text
        .strip_prefix("Unexpected type ")
        .or_else(|| text.strip_prefix("Unexpected literal type "))
    {
        return format!("a value of type {kind} is not allowed here");
    }
    match text {
        "Unexpected meta-item format `literal`" => {
            "expected `option = value`, such as `title = \"…\"`".to_owned()
        }
        "Unexpected meta-item format `name-value`" | "Unexpected meta-item format `list`" => {
            "this option takes no value".to_owned()
        }
        other => other.to_owned(),
    }
}

/// Suggests a replacement for an unknown option. `hint` is darling's suggestion.
fn hint_for(name: &str, hint: &str) -> Option<String> {
    let instead = match name {
        "min" | "max" | "minimum" | "maximum" | "ge" | "le" | "gt" | "lt" => {
            "write `range(1..=9)` for numbers, `length(1..=9)` for strings and lists"
        }
        "min_length" | "max_length" | "min_items" | "max_items" => "write `length(1..=9)`",
        "regex" => "write `pattern = \"…\"`",
        "rename" => "write `name = \"…\"`",
        "required" | "optional" => "an `Option<T>` is optional, anything else is required",
        _ => "",
    };
    if !instead.is_empty() {
        return Some(instead.to_owned());
    }
    if let Some(meant) = hint.strip_prefix("Did you mean `") {
        let meant = meant.trim_end_matches("`?");
        return is_close(name, meant).then(|| format!("did you mean `{meant}`?"));
    }
    let known = hint.strip_prefix("Available values: ")?;
    Some(format!("options are {known}"))
}

/// Returns `true` if one name is a prefix of the other or their edit distance is small. Darling also suggests names
/// that are only vaguely similar; this check filters them out.
fn is_close(written: &str, name: &str) -> bool {
    let begins = written.len().min(name.len()) >= 3
        && (written.starts_with(name) || name.starts_with(written));
    begins || edit_distance(written, name) * 2 < written.len().max(name.len())
}

/// Returns the edit distance: the minimum number of bytes to insert, delete or replace.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, left) in a.bytes().enumerate() {
        let mut corner = above[0];
        above[0] = row + 1;
        for (column, right) in b.bytes().enumerate() {
            let replaced = corner + usize::from(left != right);
            corner = above[column + 1];
            above[column + 1] = replaced.min(corner.min(above[column]) + 1);
        }
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::reword;

    #[test]
    fn unknown_options_are_reworded() {
        for (text, expected) in [
            (
                "Unknown field: `titel`. Did you mean `title`?",
                "unknown option `titel`; did you mean `title`?",
            ),
            (
                "Unknown field: `x`. Available values: `crate`, `name`",
                "unknown option `x`; options are `crate`, `name`",
            ),
            ("Unknown field: `x`", "unknown option `x`"),
            (
                "Unknown field: `secs`. Did you mean `to`?",
                "unknown option `secs`",
            ),
            (
                "Unknown field: `desc`. Did you mean `description`?",
                "unknown option `desc`; did you mean `description`?",
            ),
            (
                "Unknown field: `max`. Did you mean `name`?",
                "unknown option `max`; write `range(1..=9)` for numbers, `length(1..=9)` for strings and lists",
            ),
            ("Duplicate field `x`", "option `x` is given twice"),
            ("anything else", "anything else"),
        ] {
            assert_eq!(reword(text), expected);
        }
    }
}
