//! Removes the parts of strings and numbers that differ in every run: times close to the time of the run, and random
//! ids.

use super::secrets::MASK;

/// `d` matches a decimal digit and `x` a hexadecimal digit.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
const TIMES: [&str; 2] = ["dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd"];
/// The length of a day in seconds.
const DAY: u64 = 24 * 60 * 60;

/// Returns `true` if a number is within a day of a run's time, in seconds or milliseconds.
pub(super) fn is_near(number: u64, time: u64) -> bool {
    let times = [number, number / 1_000];
    times.iter().any(|one| one.abs_diff(time) <= DAY)
}

/// Returns `true` if text from a recording made at the given time is the same in every run.
pub(super) fn is_steady(text: &str, time: u64) -> bool {
    steady(text, time) == text && !text.contains(MASK)
}

/// Returns text without random ids and without times close to the given time.
pub(super) fn steady(text: &str, time: u64) -> String {
    let bytes = text.as_bytes();
    let mut steady = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if fits(UUID, rest) {
            steady.extend(b"<id>");
            at += UUID.len();
        } else if TIMES.iter().any(|pattern| fits(pattern, rest)) && is_day_near(rest, time) {
            steady.extend(b"<time>");
            at += TIMES[0].len() + zone(rest.get(TIMES[0].len()..).unwrap_or_default());
        } else {
            steady.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&steady).into_owned()
}

/// Returns `true` if the date at the beginning is at most a day away from the given time.
fn is_day_near(date: &[u8], time: u64) -> bool {
    let number = |from: usize, to: usize| {
        let digits = date.get(from..to).unwrap_or_default();
        digits
            .iter()
            .fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    // For this calculation, years begin in March, so that a leap day is the last day of its year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year.saturating_sub(1), month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    // In this numbering, the first day of 1970 is day 719,469.
    (days * DAY).abs_diff(719_469 * DAY + time / DAY * DAY) <= DAY
}

/// Returns the combined length of fractional seconds and a time zone.
fn zone(text: &[u8]) -> usize {
    let mut length = 0;
    if text.first() == Some(&b'.') {
        let digits = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit());
        length = 1 + digits.count();
    }
    match text.get(length) {
        Some(b'Z' | b'z') => length + 1,
        Some(b'+' | b'-') if fits("dd:dd", text.get(length + 1..).unwrap_or_default()) => {
            length + 6
        }
        _ => length,
    }
}

fn fits(pattern: &str, text: &[u8]) -> bool {
    let fits = |(wanted, byte): (u8, &u8)| match wanted {
        b'd' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        other => other == *byte,
    };
    pattern.len() <= text.len() && pattern.bytes().zip(text).all(fits)
}
