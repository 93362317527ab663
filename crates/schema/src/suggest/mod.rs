//! "Did you mean" suggestions: finds the known name that is closest to an unknown one.
//!
//! A wrong suggestion is worse for a model than no suggestion, so a name is suggested only if it is at most two edits
//! away and the edits change less than half of it.

mod close;
mod words;

pub use close::{is_close, same};
pub use words::words;

/// Maximum number of edits between the written name and the suggested name.
const MAX_EDITS: usize = 2;
/// Maximum length of a name to be compared, in characters.
const MAX_NAME_CHARACTERS: usize = 128;

/// Returns the name closest to `written`, if one is close enough. If several names are equally close, returns the
/// first.
///
/// A name is close enough if it is at most two edits away and the edits change less than half of it. An edit inserts,
/// deletes or replaces a character, or swaps it with its neighbor. Case, `-`, `_` and spaces are ignored. A name longer
/// than 128 characters is not close to any other.
#[must_use]
pub fn closest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let written: Vec<char> = significant_characters(written)?;
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let Some(candidate) = significant_characters(name) else {
            continue;
        };
        let limit =
            MAX_EDITS.min(best.map_or(MAX_EDITS, |(distance, _)| distance.saturating_sub(1)));
        if let Some(distance) = distance(&written, &candidate, limit)
            && distance.saturating_mul(2) < candidate.len().max(written.len())
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, name));
            if distance == 0 {
                break;
            }
        }
    }
    best.map(|(_, name)| name)
}

/// Returns the significant characters, or `None` if there are too many. Case, `-`, `_` and spaces are ignored because
/// they are often confused.
fn significant_characters(name: &str) -> Option<Vec<char>> {
    let mut characters = Vec::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if characters.len() == MAX_NAME_CHARACTERS {
            return None;
        }
        if !matches!(character, '-' | '_' | ' ') {
            characters.push(character);
        }
    }
    Some(characters)
}

/// Counts the characters that must be inserted, deleted, replaced or swapped with a neighbor to turn `a` into `b`.
/// Returns `None` if the count exceeds `limit`.
#[must_use]
pub fn distance(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let width = b.len().saturating_add(1);
    let mut before: Vec<usize> = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    let mut previous: Option<char> = None;
    for (row, &left) in a.iter().enumerate() {
        let mut current = Vec::with_capacity(width);
        let mut corner = row.saturating_add(1);
        current.push(corner);
        let mut least = corner;
        let mut passed: Option<char> = None;
        for (column, &top) in b.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX);
            let replace = at(&above, column).saturating_add(usize::from(left != top));
            let delete = at(&above, column.saturating_add(1)).saturating_add(1);
            let insert = corner.saturating_add(1);
            corner = replace.min(delete).min(insert);
            if previous == Some(top)
                && passed == Some(left)
                && let Some(earlier) = column.checked_sub(1)
            {
                corner = corner.min(at(&before, earlier).saturating_add(1));
            }
            least = least.min(corner);
            current.push(corner);
            passed = Some(top);
        }
        if least > limit {
            return None;
        }
        before = std::mem::replace(&mut above, current);
        previous = Some(left);
    }
    above.last().copied().filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn only_close_names_are_suggested() {
        let names = ["rust", "go", "python", "limit", "max_results", "a", "to"];
        for (written, suggestion) in [
            ("rsut", Some("rust")),
            ("limt", Some("limit")),
            ("Python", Some("python")),
            ("maxResults", Some("max_results")),
            ("goo", Some("go")),
            ("b", None),
            ("B", None),
            ("", None),
            ("javascript", None),
            ("secs", None),
        ] {
            assert_eq!(closest(written, names), suggestion, "{written}");
        }
    }
}
