//! Durations as people write and read them.

use std::time::Duration;

/// The units, largest first, with their lengths in seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Reads a duration such as `90s`, `15m`, `2h` or `3d`.
pub(super) fn read(text: &str) -> Result<Duration, String> {
    let invalid = || format!("`{text}` is not a duration such as `90s`, `15m`, `2h` or `3d`");
    let unit = text.chars().last().ok_or_else(invalid)?;
    let (_, seconds) = UNITS
        .into_iter()
        .find(|(known, _)| *known == unit)
        .ok_or_else(invalid)?;
    let number = text.strip_suffix(unit).unwrap_or_default();
    let number: u64 = number.parse().map_err(|_| invalid())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// Writes a duration with its two largest units, such as `2h 5m`.
pub(super) fn write(duration: Duration) -> String {
    let mut left = duration.as_secs();
    let mut parts = Vec::new();
    for (unit, seconds) in UNITS {
        let number = left / seconds;
        left %= seconds;
        if number > 0 || (unit == 's' && parts.is_empty()) {
            parts.push(format!("{number}{unit}"));
        } else if !parts.is_empty() {
            break;
        }
        if parts.len() == 2 {
            break;
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        for (text, seconds) in [
            ("0s", Some(0)),
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("2h", Some(7_200)),
            ("3d", Some(259_200)),
            ("", None),
            ("5", None),
            ("m", None),
            ("-1m", None),
            ("1.5h", None),
            ("1w", None),
            ("5µ", None),
        ] {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(read(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn the_two_largest_units_are_written() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (61, "1m 1s"),
            (3_600, "1h"),
            (3_601, "1h"),
            (7_500, "2h 5m"),
            (90_061, "1d 1h"),
        ] {
            assert_eq!(write(Duration::from_secs(seconds)), text);
        }
    }
}
