//! Names, media types and times.
//!
//! Specification: 2026-07-28, server/tools, "Tool Names"; RFC 9110 (tokens), RFC 6749 (scopes), ISO 8601.

use super::RuleVerdict;

/// Maximum length of a tool name, in bytes.
const MAX_NAME: usize = 128;

/// Checks that a tool name consists of 1 to 128 characters from `A-Z a-z 0-9 _ - .`.
#[must_use]
pub const fn tool_name(name: &str) -> RuleVerdict {
    const ALLOWED: &str = "; use 1 to 128 of A-Z a-z 0-9 _ - .";
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return RuleVerdict::wrong(&["tool name is empty", ALLOWED]);
    }
    if bytes.len() > MAX_NAME {
        return RuleVerdict::wrong(&["tool name `", name, "` is too long", ALLOWED]);
    }
    let mut index = 0;
    while index < bytes.len() {
        let byte = bytes[index];
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) {
            let verdict = RuleVerdict::wrong(&["tool name `", name, "` contains "]);
            return verdict.with_named(byte).with(ALLOWED);
        }
        index += 1;
    }
    RuleVerdict::HOLDS
}

/// Checks that a header name is a token as defined by RFC 9110: letters, digits and ``!#$%&'*+-.^_`|~``.
#[must_use]
pub const fn header(name: &str) -> RuleVerdict {
    const ALLOWED: &str = "; use letters, digits and `-`, as in `Region`";
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return RuleVerdict::wrong(&["header name is empty", ALLOWED]);
    }
    let mut index = 0;
    while index < bytes.len() {
        if !is_token(bytes[index]) {
            let verdict = RuleVerdict::wrong(&["header name `", name, "` contains "]);
            return verdict.with_named(bytes[index]).with(ALLOWED);
        }
        index += 1;
    }
    RuleVerdict::HOLDS
}

/// Checks that a scope consists of one or more visible ASCII characters other than `"` and `\` (RFC 6749, section 3.3).
#[must_use]
pub const fn scope(scope: &str) -> RuleVerdict {
    const ALLOWED: &str = "; use visible ASCII without quotes and backslashes, as in `notes:write`";
    let bytes = scope.as_bytes();
    if bytes.is_empty() {
        return RuleVerdict::wrong(&["scope is empty", ALLOWED]);
    }
    let mut index = 0;
    while index < bytes.len() {
        if !matches!(bytes[index], 0x21 | 0x23..=0x5B | 0x5D..=0x7E) {
            let verdict = RuleVerdict::wrong(&["scope `", scope, "` contains "]);
            return match bytes[index] {
                b' ' => verdict.with("a space, which separates scopes"),
                other => verdict.with_named(other),
            }
            .with(ALLOWED);
        }
        index += 1;
    }
    RuleVerdict::HOLDS
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Checks that a media type consists of two tokens separated by a slash, optionally followed by a semicolon and
/// parameters.
///
/// The parameters are not checked.
#[must_use]
pub const fn media_type(text: &str) -> RuleVerdict {
    let bytes = text.as_bytes();
    let mut index = 0;
    let mut slash = 0;
    while index < bytes.len() && bytes[index] != b';' {
        let byte = bytes[index];
        if byte == b'/' && slash == 0 && index > 0 {
            slash = index;
        } else if !(is_token(byte) || byte == b' ' && trailing_space(bytes, index)) {
            slash = 0;
            break;
        }
        index += 1;
    }
    if slash == 0 || slash + 1 >= index {
        return RuleVerdict::wrong(&["media type `", text, "` is not of the form `text/markdown`"]);
    }
    RuleVerdict::HOLDS
}

/// Returns `true` if only spaces precede the parameters.
const fn trailing_space(bytes: &[u8], mut index: usize) -> bool {
    while index < bytes.len() && bytes[index] == b' ' {
        index += 1;
    }
    index < bytes.len() && bytes[index] == b';'
}

/// Checks that a time is an ISO 8601 date, such as `2026-07-28`, or date and time, such as `2026-07-28T12:00:00Z`.
#[must_use]
pub const fn timestamp(text: &str) -> RuleVerdict {
    let bytes = text.as_bytes();
    let date = matches_digits(bytes, 0, b"0000-00-00");
    let whole = match bytes.len() {
        10 => true,
        17.. => bytes[10] == b'T' && matches_digits(bytes, 11, b"00:00") && ends_with_zone(bytes),
        _ => false,
    };
    if date && whole {
        return RuleVerdict::HOLDS;
    }
    RuleVerdict::wrong(&[
        "`",
        text,
        "` is not an ISO 8601 time such as `2026-07-28T12:00:00Z`",
    ])
}

const fn ends_with_zone(bytes: &[u8]) -> bool {
    let length = bytes.len();
    bytes[length - 1] == b'Z'
        || (matches!(bytes[length - 6], b'+' | b'-') && matches_digits(bytes, length - 5, b"00:00"))
}

/// Returns `true` if the bytes from `start` match `form`, in which each `0` matches any digit.
const fn matches_digits(bytes: &[u8], start: usize, form: &[u8]) -> bool {
    if bytes.len() < start + form.len() {
        return false;
    }
    let mut index = 0;
    while index < form.len() {
        let byte = bytes[start + index];
        let fits = if form[index] == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == form[index]
        };
        if !fits {
            return false;
        }
        index += 1;
    }
    true
}
