//! Splits names and descriptions into words that can be compared.
//!
//! `closeIssues`, `close_issue` and "Close issues." have the same words.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the words in a text, in lower case and without English plural endings. Identifiers are split at case changes
/// and at characters that are neither letters nor digits. Each character of a script that is written without spaces is
/// a word.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    WordReader {
        chars: text.chars().peekable(),
        previous: None,
        word: String::new(),
        unspaced: None,
    }
}

/// Iterates over the words in a text.
struct WordReader<'t> {
    chars: Peekable<Chars<'t>>,
    previous: Option<char>,
    /// The beginning of a word that may continue.
    word: String,
    /// A character that is itself a word and has been read but not returned yet.
    unspaced: Option<char>,
}

impl Iterator for WordReader<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if let Some(char) = self.unspaced.take() {
            return Some(char.into());
        }
        while let Some(char) = self.chars.next() {
            let is_lower = |char: &char| char.is_lowercase();
            let begins = char.is_uppercase()
                && self.previous.is_some_and(|previous| {
                    // This applies to `closeIssue`, and to the last capital letter of `HTTPServer`.
                    !previous.is_uppercase() || self.chars.peek().is_some_and(is_lower)
                });
            self.previous = Some(char);
            let mut ended = String::new();
            if begins || !char.is_alphanumeric() || is_unspaced(char) {
                ended = std::mem::take(&mut self.word);
            }
            if is_unspaced(char) {
                self.unspaced = Some(char);
            } else if char.is_alphanumeric() {
                self.word.extend(char.to_lowercase());
            }
            if !ended.is_empty() {
                return Some(singular(ended));
            }
            if let Some(char) = self.unspaced.take() {
                return Some(char.into());
            }
        }
        let last = std::mem::take(&mut self.word);
        (!last.is_empty()).then(|| singular(last))
    }
}

/// Returns `true` for Chinese characters and Japanese syllables.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Removes the ending of an English plural or of a verb such as "closes".
fn singular(mut word: String) -> String {
    let replaced = |ending: &str| word.len() > ending.len() + 1 && word.ends_with(ending);
    if replaced("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "shes", "ches", "xes"].into_iter().any(replaced) {
        word.truncate(word.len() - 2);
    } else if replaced("s")
        && !["ss", "us", "is"]
            .into_iter()
            .any(|end| word.ends_with(end))
    {
        word.truncate(word.len() - 1);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sentences_are_split_into_the_same_words() {
        for (text, expected) in [
            ("close_issue", "close issue"),
            ("closeIssues", "close issue"),
            ("Closes issues.", "close issue"),
            ("repos.list-branches", "repo list branch"),
            ("HTTPServer v2", "http server v2"),
            ("getURLs", "get ur ls"),
            ("status is less: bus", "status is less bus"),
            ("queries, boxes", "query box"),
            ("日本の地図", "日 本 の 地 図"),
            ("Größe ändern", "größe ändern"),
            (" - ", ""),
            ("s", "s"),
        ] {
            let words: Vec<_> = words(text).collect();
            assert_eq!(words.join(" "), expected, "{text}");
        }
    }
}
