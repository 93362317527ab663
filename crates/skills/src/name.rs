//! Skill names, and the paths of skills and files.

/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// Checks the name of a skill, which is also the name of its directory.
///
/// # Errors
///
/// Returns the mistake.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_fine = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if is_fine {
        return Ok(());
    }
    Err(format!(
        "name `{name}`: use 1 to {MAX_NAME} characters from a-z, 0-9 and `-`, with `-` only between other characters \
         and never twice in a row"
    ))
}

/// Checks that each part of a path is a plain name.
///
/// # Errors
///
/// Returns the mistake.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    if path.split('/').all(is_plain) {
        return Ok(());
    }
    Err("a path consists of names separated by `/`, without `.`, `..` and `\\`")
}

/// Joins two paths. The first path may be empty.
#[must_use]
pub fn join(path: &str, below: &str) -> String {
    match path.trim_end_matches('/') {
        "" if path.is_empty() => below.to_owned(),
        path => format!("{path}/{below}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_names_are_short_and_plain() {
        for name in ["a", "pdf-tools", "2026", &"x".repeat(64)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "A", "a_b", "a--b", "-a", "a-", "é", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn skill_paths_that_leave_their_directory_are_refused() {
        for path in ["a", "a/b.md", "a b/..c"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        for path in ["", "/a", "a/", "a//b", "./a", "a/../b", "a\\b", "a\0"] {
            assert!(check_path(path).is_err(), "{path}");
        }
        assert_eq!(join("", "a"), "a");
        assert_eq!(join("skills/", "a"), "skills/a");
        assert_eq!(join("/", "a"), "/a");
    }
}
