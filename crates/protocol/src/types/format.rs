//! Formats for string fields in forms.

/// The format of a string field, against which each answer is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldFormat {
    /// `email`
    Email,
    /// `uri`
    Uri,
    /// `date`: `2026-07-28`
    Date,
    /// `date-time`: `2026-07-28T12:00:00Z`
    DateTime,
}

impl FieldFormat {
    /// Returns the name of the format, as sent on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }

    /// Returns `true` if the text is in this format. Does not check whether an email address or URI exists.
    #[doc(hidden)]
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => text.split_once('@').is_some_and(|(name, host)| {
                let is_plain =
                    |part: &str| !part.is_empty() && !part.contains(['@', ' ', '\n', '\r']);
                is_plain(name) && is_plain(host)
            }),
            Self::Uri => text.split_once(':').is_some_and(|(scheme, rest)| {
                let mut letters = scheme.bytes();
                letters
                    .next()
                    .is_some_and(|first| first.is_ascii_alphabetic())
                    && letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
                    && !rest.is_empty()
                    && !rest.contains(char::is_whitespace)
            }),
            Self::Date => is_date(text),
            Self::DateTime => text
                .split_once(['T', 't'])
                .is_some_and(|(date, time)| is_date(date) && is_time(time)),
        }
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let Some(year) = parse_digits(year, 4) else {
        return false;
    };
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match parse_digits(month, 2) {
        Some(2) if leap => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        Some(1..=12) => 31,
        _ => return false,
    };
    parse_digits(day, 2).is_some_and(|day| (1..=days).contains(&day))
}

fn is_time(text: &str) -> bool {
    let Some(zone) = text.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (time, zone) = text.split_at(zone);
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let clock = |text: &str, seconds: bool| {
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            [h, m] if !seconds => is_number_up_to(h, 23) && is_number_up_to(m, 59),
            [h, m, s] if seconds => {
                is_number_up_to(h, 23) && is_number_up_to(m, 59) && is_number_up_to(s, 60)
            }
            _ => false,
        }
    };
    let zone_fits = match zone.get(1..) {
        Some("") => zone.eq_ignore_ascii_case("z"),
        Some(offset) => clock(offset, false),
        None => false,
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    clock(whole, true) && is_fraction && zone_fits
}

fn is_number_up_to(text: &str, max: u32) -> bool {
    parse_digits(text, 2).is_some_and(|number| number <= max)
}

fn parse_digits(text: &str, count: usize) -> Option<u32> {
    let fits = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_field_formats_are_validated() {
        for (format, text, fits) in [
            (FieldFormat::Email, "a@b.c", true),
            (FieldFormat::Email, "a@b@c", false),
            (FieldFormat::Email, "@b", false),
            (FieldFormat::Uri, "https://x", true),
            (FieldFormat::Uri, "urn:x", true),
            (FieldFormat::Uri, "x y:z", false),
            (FieldFormat::Uri, "x", false),
            (FieldFormat::Date, "2024-02-29", true),
            (FieldFormat::Date, "2023-02-29", false),
            (FieldFormat::Date, "2023-13-01", false),
            (FieldFormat::Date, "23-1-1", false),
            (FieldFormat::DateTime, "2026-07-28T12:00:00Z", true),
            (FieldFormat::DateTime, "2026-07-28T12:00:00.5+02:00", true),
            (FieldFormat::DateTime, "2026-07-28T12:00:00", false),
            (FieldFormat::DateTime, "2026-07-28T25:00:00Z", false),
            (FieldFormat::DateTime, "2026-07-28", false),
        ] {
            assert_eq!(format.fits(text), fits, "{text}");
        }
    }
}
