//! Compares names at compile time, for suggestions in compile errors.

/// Maximum length of a name to be compared, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Returns `true` if two names are equal.
#[must_use]
pub const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Returns `true` if at most two edits turn `written` into `name`, and the number of edits is less than half the length
/// of the longer name.
///
/// An edit inserts, deletes or replaces a byte.
#[must_use]
pub const fn is_close(written: &str, name: &str) -> bool {
    let (written, name) = (written.as_bytes(), name.as_bytes());
    if written.len() > MAX_NAME_BYTES || name.len() > MAX_NAME_BYTES {
        return false;
    }
    let longer = if written.len() > name.len() {
        written.len()
    } else {
        name.len()
    };
    let distance = distance(written, name);
    distance <= 2 && distance * 2 < longer
}

/// Returns the number of edits between two names of at most [`MAX_NAME_BYTES`] bytes each.
const fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut above = [0; MAX_NAME_BYTES + 1];
    let mut column = 0;
    while column <= b.len() {
        above[column] = column;
        column += 1;
    }
    let mut row = 0;
    while row < a.len() {
        let mut corner = above[0];
        above[0] = row + 1;
        let mut column = 0;
        while column < b.len() {
            let replaced = corner + (a[row] != b[column]) as usize;
            corner = above[column + 1];
            let moved = min(corner, above[column]) + 1;
            above[column + 1] = min(replaced, moved);
            column += 1;
        }
        row += 1;
    }
    above[b.len()]
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::is_close;

    #[test]
    fn only_close_names_are_meant() {
        for (written, name, expected) in [
            ("id", "id", true),
            ("idd", "id", true),
            ("note_id", "noteid", true),
            ("usr", "user", true),
            ("key", "id", false),
            ("to", "secs", false),
            ("a", "b", false),
            ("", "", false),
            ("größe", "grösse", true),
        ] {
            assert_eq!(is_close(written, name), expected, "{written} {name}");
            assert_eq!(is_close(name, written), expected, "{name} {written}");
        }
        let longest = "a".repeat(64);
        assert!(is_close(&longest, &longest.replacen('a', "b", 1)));
        let long = "a".repeat(65);
        assert!(!is_close(&long, &long));
    }
}
