//! Files of the repository that tests generate: tables and output in the guide, and lists that change only on purpose.

use std::{env, fs};

use similar::TextDiff;

use crate::root;

/// Checks that a file has its generated text. `path` is relative to the repository. If the `RENEW` variable is set, as
/// `.ci/renew` does, the file is written instead.
///
/// # Panics
///
/// Panics with the lines that differ if the file has another text.
pub fn check_generated(path: &str, generated: &str) {
    let file = root().join(path);
    if env::var_os("RENEW").is_some() {
        fs::write(file, generated).unwrap();
        return;
    }
    let present = fs::read_to_string(file).unwrap_or_default();
    assert!(
        present == generated,
        "{}",
        difference(path, &present, generated)
    );
}

/// Checks that a page of the guide is what `renewed` makes of it.
///
/// # Panics
///
/// Panics with the lines that differ if the page has another text.
pub fn check_page(page: &str, renewed: impl Fn(&str) -> String) {
    let page = format!("docs/{page}");
    let file = root().join(&page);
    let present = fs::read_to_string(file).unwrap();
    check_generated(&page, &renewed(&present));
}

fn difference(path: &str, present: &str, generated: &str) -> String {
    let difference = TextDiff::from_lines(present, generated);
    let lines = difference.unified_diff().context_radius(0).to_string();
    format!(
        "{path} is not what is generated now; if the new lines are right, run .ci/renew\n{lines}"
    )
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn only_the_lines_that_differ_are_shown() {
        let shown = difference("a.md", "one\ntwo\nthree\n", "one\n2\nthree\n");
        assert!(shown.starts_with("a.md is not "), "{shown}");
        assert!(shown.ends_with("\n-two\n+2\n"), "{shown}");
        assert!(
            !shown.contains("one") && !shown.contains("three"),
            "{shown}"
        );
    }
}
