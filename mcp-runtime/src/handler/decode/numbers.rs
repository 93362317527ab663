//! Finds the numbers in a JSON value.

use crate::jsonrpc::Scan;

/// Returns the position and the text of each number in a valid value. Digits inside strings are not numbers.
pub(super) fn numbers(json: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0_usize;
    std::iter::from_fn(move || {
        loop {
            let rest = json.get(at..)?;
            let start = at;
            match rest.as_bytes().first()? {
                b'"' => at = at.checked_add(Scan::new(rest).next_value()?.len())?,
                b'-' | b'0'..=b'9' => {
                    let number = Scan::new(rest).next_number()?;
                    at = at.checked_add(number.len())?;
                    return Some((start, number));
                }
                _ => at = at.checked_add(1)?,
            }
        }
    })
}
