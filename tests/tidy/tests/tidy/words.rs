//! Checks that all text for users, which is documentation, messages and the guide, has a single word for each concept.

use crate::exceptions;
use crate::sources::{files, product, root};

/// Returns the words and phrases that the project does not use, in lower case with single spaces, each with its
/// replacement.
fn words() -> Vec<(String, String)> {
    std::fs::read_to_string(root().join("tests/tidy/words.txt"))
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (word, instead) = line
                .split_once(" -> ")
                .unwrap_or_else(|| panic!("no ` -> ` in: {line}"));
            (word.trim().to_owned(), instead.trim().to_owned())
        })
        .collect()
}

/// Returns the words of a text in lower case, with a single space before and after each word. Code in backticks is
/// removed.
fn normal(text: &str) -> String {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" x ");
    let mut normal = String::from(" ");
    for word in
        prose.split(|letter: char| !(letter.is_alphanumeric() || letter == '\'' || letter == '-'))
    {
        if !word.is_empty() {
            normal.push_str(&word.to_lowercase());
            normal.push(' ');
        }
    }
    normal
}

#[test]
fn texts_for_users_avoid_the_listed_words() {
    let words = words();
    let mut broken = Vec::new();
    let mut look = |path: &str, line: usize, text: &str| {
        let text = normal(text);
        for (word, instead) in &words {
            if text.contains(&format!(" {word} ")) {
                broken.push((
                    format!("{path} `{word}`"),
                    format!("line {line}: say {instead}"),
                ));
            }
        }
    };
    for source in product() {
        for (line, comment) in source.comments() {
            look(&source.path, line, &comment);
        }
        for (line, text) in source.strings() {
            look(&source.path, line, &text);
        }
    }
    for page in files(&["README.md", "docs"], "md") {
        if page.path == "docs/requirements.md" {
            continue;
        }
        let mut is_code = false;
        for (number, line) in page.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                look(&page.path, number + 1, line);
            }
        }
    }
    exceptions::check("word", "use the word of the glossary", broken);
}
