//! Parses options whose value must be one of a few words.

use darling::{Error, Result};
use mcp_schema::suggest::closest;

/// Returns the value that the word represents. For any other value, the error lists the words and suggests the one that
/// the author probably meant.
pub(crate) fn parse_word<T: Copy>(
    option: &str,
    value: &syn::Lit,
    words: &[(&str, T)],
) -> Result<T> {
    let written = match value {
        syn::Lit::Str(text) => text.value(),
        _ => String::new(),
    };
    if let Some((_, found)) = words.iter().find(|(word, _)| *word == written) {
        return Ok(*found);
    }
    let list = list_words(words);
    let message = match closest(&written, words.iter().map(|(word, _)| *word)) {
        Some(meant) => format!("`{option}` must be {list}; did you mean `\"{meant}\"`?"),
        None => format!("`{option}` must be {list}"),
    };
    Err(Error::custom(message).with_span(value))
}

/// Returns the words as `"a"`, `"b"` or `"c"`.
fn list_words<T>(words: &[(&str, T)]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|(word, _)| format!("`\"{word}\"`"))
        .collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}
