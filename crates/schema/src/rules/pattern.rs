//! Regular expressions, as far as they can be judged without compiling them.
//!
//! The engine matches in linear time, so it lacks the constructs that would need more, and it has no Unicode tables.

use super::RuleVerdict;

/// Checks that a regular expression has no construct that the engine does not support.
#[must_use]
pub const fn pattern(pattern: &str) -> RuleVerdict {
    let bytes = pattern.as_bytes();
    let mut index = 0;
    let mut in_class = false;
    while index < bytes.len() {
        match bytes[index] {
            b'\\' if index + 1 < bytes.len() => {
                match bytes[index + 1] {
                    b'p' | b'P' => {
                        return unsupported(
                            pattern,
                            "classes of Unicode characters such as `\\p{L}`",
                            "list the characters, as in `[A-Za-zÀ-ÿ]`, or check the string in a newtype's `TryFrom`",
                        );
                    }
                    b'1'..=b'9' | b'k' => {
                        return unsupported(
                            pattern,
                            "references to groups such as `\\1`",
                            "check the string in a newtype's `TryFrom`",
                        );
                    }
                    _ => {}
                }
                index += 1;
            }
            b'[' if !in_class => in_class = true,
            b']' if in_class => in_class = false,
            b'(' if !in_class && is_look_around(bytes, index + 1) => {
                return unsupported(
                    pattern,
                    "look-around assertions such as `(?=…)`",
                    "check the string in a newtype's `TryFrom`",
                );
            }
            _ => {}
        }
        index += 1;
    }
    RuleVerdict::HOLDS
}

/// Returns `true` for `?=`, `?!`, `?<=` and `?<!`.
const fn is_look_around(bytes: &[u8], start: usize) -> bool {
    let (_, rest) = bytes.split_at(start);
    matches!(
        rest,
        [b'?', b'=' | b'!', ..] | [b'?', b'<', b'=' | b'!', ..]
    )
}

const fn unsupported(pattern: &str, what: &str, instead: &str) -> RuleVerdict {
    RuleVerdict::wrong(&[
        "pattern `",
        pattern,
        "` has ",
        what,
        ", which are not supported; ",
        instead,
    ])
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn constructs_that_the_engine_lacks_are_found() {
        for (text, found) in [
            (r"^\p{L}+$", "Unicode"),
            (r"[^\P{L}]", "Unicode"),
            (r"(a)\1", "references"),
            (r"(?<n>a)\k<n>", "references"),
            ("^(?=.*a).+$", "look-around"),
            ("a(?!b)", "look-around"),
            ("(?<=a)b", "look-around"),
            ("(?<!a)b", "look-around"),
        ] {
            let verdict = pattern(text);
            assert!(verdict.text().contains(found), "{text}: {}", verdict.text());
            #[cfg(feature = "schemas")]
            assert!(regex_lite::Regex::new(text).is_err(), "{text}");
        }
        for text in [
            "",
            r"^\\p$",
            r"[(?=]",
            r"(?:a|b)",
            r"(?<n>a)",
            r"^\d{3}-\w+$",
            r"\[(?i)a",
            "\\",
        ] {
            assert!(pattern(text).holds(), "{text}");
        }
    }
}
