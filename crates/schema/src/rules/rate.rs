//! The syntax of rates: `10/min`, `5/s burst 20`, `100/h per caller`, `60/min per claim tenant`.

use super::RuleVerdict;

/// The parts of a rate: `count` calls in each period of `seconds`, in bursts of up to `burst` calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSyntax<'t> {
    /// The number of calls, at least 1.
    pub count: u32,
    /// The unit of time.
    pub seconds: u64,
    /// The maximum burst size, at least 1. Defaults to `count`.
    pub burst: u32,
    /// The calls that are counted together.
    pub key: RateKeySyntax<'t>,
}

/// The calls that a rate counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateKeySyntax<'t> {
    /// All calls.
    All,
    /// Those of the same caller.
    Caller,
    /// Those whose credentials have the same value for this claim.
    Claim(&'t str),
    /// Those for which a trusted proxy has set this header to the same value.
    Header(&'t str),
}

/// A mistake in a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateError {
    /// The syntax is wrong.
    Form,
    /// The rate allows no calls.
    Zero,
    /// The unit of time is missing or unknown.
    Unit,
    /// `burst` is not followed by a positive number.
    Burst,
}

/// Checks that a rate consists of a number and a unit, optionally followed by `burst` and a number, and then by an
/// optional `per caller`, `per claim NAME` or `per header NAME`.
#[must_use]
pub const fn rate(text: &str) -> RuleVerdict {
    let Err(fault) = parse_rate(text) else {
        return RuleVerdict::HOLDS;
    };
    let said = match fault {
        RateError::Form => {
            "` is not valid; write a number and a unit, as in `10/min`, `5/s burst 20`, `100/h per caller` or `60/min per claim tenant`"
        }
        RateError::Zero => "` allows no calls; the minimum is 1",
        RateError::Unit => "` has no valid unit of time; write `10/s`, `10/min` or `10/h`",
        RateError::Burst => {
            "` has no burst size; write a number above zero after `burst`, as in `5/s burst 20`"
        }
    };
    RuleVerdict::wrong(&["the rate `", text, said])
}

/// Parses a rate.
///
/// # Errors
///
/// Returns the kind of mistake; [`rate`] returns a message that describes it.
pub const fn parse_rate(text: &str) -> Result<RateSyntax<'_>, RateError> {
    let bytes = text.as_bytes();
    let (Some(count), mut at) = read_number(bytes, 0) else {
        return Err(RateError::Form);
    };
    if count == 0 {
        return Err(RateError::Zero);
    }
    if at >= bytes.len() || bytes[at] != b'/' {
        return Err(RateError::Form);
    }
    at += 1;
    let seconds = if starts_with_word(bytes, at, b"s") {
        at += 1;
        1
    } else if starts_with_word(bytes, at, b"min") {
        at += 3;
        60
    } else if starts_with_word(bytes, at, b"h") {
        at += 1;
        3_600
    } else {
        return Err(RateError::Unit);
    };
    at = skip_spaces(bytes, at);
    let mut burst = count;
    if starts_with_word(bytes, at, b"burst") {
        burst = match read_number(bytes, skip_spaces(bytes, at + 5)) {
            (Some(burst), end) if burst > 0 => {
                at = skip_spaces(bytes, end);
                burst
            }
            _ => return Err(RateError::Burst),
        };
    }
    let rate = RateSyntax {
        count,
        seconds,
        burst,
        key: RateKeySyntax::All,
    };
    if at == bytes.len() {
        return Ok(rate);
    }
    if !starts_with_word(bytes, at, b"per") {
        return Err(RateError::Form);
    }
    match read_key(bytes, skip_spaces(bytes, at + 3)) {
        Some(key) => Ok(RateSyntax { key, ..rate }),
        None => Err(RateError::Form),
    }
}

/// Parses what follows `per`, which ends the rate.
const fn read_key(bytes: &[u8], at: usize) -> Option<RateKeySyntax<'_>> {
    if starts_with_word(bytes, at, b"caller") {
        let is_end = skip_spaces(bytes, at + 6) == bytes.len();
        return if is_end {
            Some(RateKeySyntax::Caller)
        } else {
            None
        };
    }
    let is_claim = starts_with_word(bytes, at, b"claim");
    if !is_claim && !starts_with_word(bytes, at, b"header") {
        return None;
    }
    let at = skip_spaces(bytes, at + if is_claim { 5 } else { 6 });
    let mut end = at;
    while end < bytes.len() && bytes[end] != b' ' {
        let byte = bytes[end];
        if !is_claim && !byte.is_ascii_alphanumeric() && byte != b'-' && byte != b'_' {
            return None;
        }
        end += 1;
    }
    if end == at || skip_spaces(bytes, end) != bytes.len() {
        return None;
    }
    let (name, _) = bytes.split_at(end);
    match core::str::from_utf8(name.split_at(at).1) {
        Ok(name) if is_claim => Some(RateKeySyntax::Claim(name)),
        Ok(name) => Some(RateKeySyntax::Header(name)),
        Err(_) => None,
    }
}

/// Parses the whole number at `at` and returns it together with the position after it. The number is `None` if there
/// are no digits or the value is too large.
const fn read_number(bytes: &[u8], mut at: usize) -> (Option<u32>, usize) {
    let start = at;
    let mut value: Option<u32> = Some(0);
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        value = match value {
            Some(value) => match value.checked_mul(10) {
                Some(value) => value.checked_add((bytes[at] - b'0') as u32),
                None => None,
            },
            None => None,
        };
        at += 1;
    }
    if at == start { (None, at) } else { (value, at) }
}

/// Returns `true` if the text at `at` starts with the word, followed by a space or the end of the text.
const fn starts_with_word(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    let mut index = 0;
    while index < word.len() {
        if at + index >= bytes.len() || bytes[at + index] != word[index] {
            return false;
        }
        index += 1;
    }
    at + index == bytes.len() || bytes[at + index] == b' '
}

const fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] == b' ' {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        use RateKeySyntax::{All, Caller, Claim, Header};
        let rate = |count, seconds, burst, key| RateSyntax {
            count,
            seconds,
            burst,
            key,
        };
        for (text, expected) in [
            ("10/min", rate(10, 60, 10, All)),
            ("5/s burst 20", rate(5, 1, 20, All)),
            ("100/h per caller", rate(100, 3_600, 100, Caller)),
            ("1/s  burst 2  per  caller ", rate(1, 1, 2, Caller)),
            ("60/min per claim tenant", rate(60, 60, 60, Claim("tenant"))),
            (
                "1/s per  claim https://a/ü ",
                rate(1, 1, 1, Claim("https://a/ü")),
            ),
            (
                "1/h burst 3 per header X-Tenant",
                rate(1, 3_600, 3, Header("X-Tenant")),
            ),
            ("4294967295/s", rate(u32::MAX, 1, u32::MAX, All)),
        ] {
            assert_eq!(parse_rate(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn each_malformed_rate_gets_its_own_error() {
        use RateError::{Burst, Form, Unit, Zero};
        for (text, fault) in [
            ("", Form),
            ("fast", Form),
            ("10", Form),
            ("10 / min", Form),
            ("-1/s", Form),
            ("1.5/s", Form),
            ("4294967296/s", Form),
            ("0/s", Zero),
            ("10/", Unit),
            ("10/m", Unit),
            ("10/minute", Unit),
            ("10/d", Unit),
            ("10/s burst", Burst),
            ("10/s burst 0", Burst),
            ("10/s burst many", Burst),
            ("10/s per", Form),
            ("10/s per client", Form),
            ("10/s per claim", Form),
            ("10/s per claim ", Form),
            ("10/s per claim a b", Form),
            ("10/s per header a:b", Form),
            ("10/s per header", Form),
            ("10/s perclaim a", Form),
            ("10/s per caller burst 5", Form),
            ("10/s please", Form),
            ("10/s burst 5x", Form),
        ] {
            assert_eq!(parse_rate(text), Err(fault), "{text}");
            assert!(!rate(text).holds());
        }
    }
}
