//! Return types for completers, and the ranking of candidates.
//!
//! Ranking requires neither a dictionary nor an index. A single pass over the candidates assigns each of them to a
//! class according to how it matches the partial text. Candidates in the same class keep their order, so authors decide
//! which of them come first.

use mcp_schema::suggest::distance;

use crate::handler::handler_error::{HandlerError, IntoHandlerError};
use crate::order::sort_by;
use crate::types::Completion;

/// Maximum number of values in a result, as defined by the specification.
const MAX_VALUES: usize = 100;
/// Maximum length of a partial text to search for, in characters. Longer text would not match any useful candidate.
const MAX_SEARCHED_CHARACTERS: usize = 256;
/// Maximum length of a partial text in which typos are tolerated, in characters.
const MAX_FORGIVEN_CHARACTERS: usize = 32;
/// Maximum number of candidates that are compared in a way that tolerates typos.
const MAX_FORGIVEN_CANDIDATES: usize = 20_000;
/// Maximum number of characters to examine in each candidate.
const LOOKED_AT: usize = 1024;

/// The candidates returned by a completer, in any order; the framework ranks them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidates {
    /// The candidates.
    pub values: Vec<String>,
    /// `true` if `values` are already filtered and sorted by relevance, in which case they are not ranked again.
    pub ranked: bool,
    /// The total number of candidates, if `values` contains only some of them.
    pub total: Option<u64>,
}

impl Candidates {
    /// Creates candidates to be ranked. Equally good candidates keep the given order.
    pub fn new<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Self {
        Self {
            values: values.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Creates candidates that are already filtered and sorted by relevance, such as the results of a search engine.
    pub fn ranked<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Self {
        Self {
            ranked: true,
            ..Self::new(values)
        }
    }

    /// Sets the total number of candidates, if only some of them are included.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }
}

/// A type that a completer may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a completer",
    label = "not a list of candidates",
    note = "return a `Vec`, array or slice of strings, `Candidates`, or a `Result` of these"
)]
pub trait IntoCompletionResult {
    /// Returns the candidates.
    ///
    /// # Errors
    ///
    /// Returns the completer's error.
    fn into_completion_result(self) -> Result<Candidates, HandlerError>;
}

impl IntoCompletionResult for Candidates {
    fn into_completion_result(self) -> Result<Candidates, HandlerError> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<S: Into<String>> IntoCompletionResult for Vec<S> {
    fn into_completion_result(self) -> Result<Candidates, HandlerError> {
        Ok(Candidates::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<S: Into<String>, const N: usize> IntoCompletionResult for [S; N] {
    fn into_completion_result(self) -> Result<Candidates, HandlerError> {
        Ok(Candidates::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<S: AsRef<str>> IntoCompletionResult for &[S] {
    fn into_completion_result(self) -> Result<Candidates, HandlerError> {
        Ok(Candidates::new(self.iter().map(AsRef::as_ref)))
    }
}

impl<T: IntoCompletionResult, E: IntoHandlerError> IntoCompletionResult for Result<T, E> {
    fn into_completion_result(self) -> Result<Candidates, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_completion_result()
    }
}

/// The ways in which a candidate can match the partial text, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchQuality {
    Exact,
    Prefix,
    WordStart,
    Substring,
    /// Matches a prefix, allowing for one or two typos.
    Mistyped,
    /// Contains all characters in order, with other characters in between. Holds the number of gaps.
    Scattered(usize),
}

impl MatchQuality {
    fn contains_the_text(&self) -> bool {
        *self <= Self::Substring
    }
}

/// Returns the hundred best candidates for the partial text, ignoring case. Candidates that do not contain the text are
/// returned only if no candidate contains it.
pub(crate) fn rank(partial: &str, candidates: Candidates) -> Completion {
    let Candidates {
        mut values,
        ranked,
        total,
    } = candidates;
    let typed: Vec<char> = fold_case(partial)
        .take(MAX_SEARCHED_CHARACTERS + 1)
        .collect();
    if !ranked && !typed.is_empty() {
        let mut tolerated = MAX_FORGIVEN_CANDIDATES;
        let classes = values.into_iter().filter_map(|value| {
            classify(&typed, &value, &mut tolerated).map(|class| (class, value))
        });
        let mut classes: Vec<(MatchQuality, String)> = classes.collect();
        // The sort is stable, so equally good candidates keep the author's order.
        sort_by(&mut classes, |(one, _), (other, _)| one.cmp(other));
        // A guess about a typo is only noise next to a candidate that contains the text.
        if classes
            .first()
            .is_some_and(|(best, _)| best.contains_the_text())
        {
            classes.retain(|(class, _)| class.contains_the_text());
        }
        values = classes.into_iter().map(|(_, value)| value).collect();
    }
    let found = u64::try_from(values.len()).unwrap_or(u64::MAX);
    // A total set by the completer includes candidates that the completer did not return.
    let total = total.map_or(found, |total| total.max(found));
    values.truncate(MAX_VALUES);
    let mut completion = Completion::default();
    completion.has_more = Some(total > u64::try_from(values.len()).unwrap_or(u64::MAX));
    completion.total = Some(total);
    completion.values = values;
    completion
}

fn fold_case(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase)
}

fn classify(typed: &[char], value: &str, tolerated: &mut usize) -> Option<MatchQuality> {
    if typed.len() > MAX_SEARCHED_CHARACTERS {
        return None;
    }
    let folded: Vec<char> = fold_case(value).take(LOOKED_AT).collect();
    if folded == typed {
        return Some(MatchQuality::Exact);
    }
    if folded.starts_with(typed) {
        return Some(MatchQuality::Prefix);
    }
    let mut inside = false;
    let mut before: Option<char> = None;
    let mut original = value.chars();
    for (start, window) in folded.windows(typed.len()).enumerate() {
        // A capital letter inside a word starts a new word, provided that case folding preserved the positions of
        // characters.
        let capital = original.next().is_some_and(char::is_uppercase)
            && before.is_some_and(char::is_lowercase);
        let begins =
            start == 0 || before.is_some_and(|before| !before.is_alphanumeric()) || capital;
        if window == typed {
            if begins {
                return Some(MatchQuality::WordStart);
            }
            inside = true;
        }
        before = value_char(value, start);
    }
    if inside {
        return Some(MatchQuality::Substring);
    }
    if *tolerated > 0 && (3..=MAX_FORGIVEN_CHARACTERS).contains(&typed.len()) {
        *tolerated -= 1;
        let limit = if typed.len() < 5 { 1 } else { 2 };
        let close = (typed.len().saturating_sub(1)..=typed.len().saturating_add(1)).any(|end| {
            folded
                .get(..end.min(folded.len()))
                .is_some_and(|start| distance(typed, start, limit).is_some())
        });
        if close {
            return Some(MatchQuality::Mistyped);
        }
    }
    count_gaps(typed, &folded).map(MatchQuality::Scattered)
}

/// Returns the character before the next window. Only ASCII text is guaranteed to keep its character positions when
/// case is folded. For other text, a wrong guess only places the candidate in a different class.
fn value_char(value: &str, index: usize) -> Option<char> {
    if value.is_ascii() {
        value.as_bytes().get(index).copied().map(char::from)
    } else {
        None
    }
}

/// Counts the gaps between the characters of the partial text. Returns `None` unless all characters occur in order.
fn count_gaps(typed: &[char], folded: &[char]) -> Option<usize> {
    let mut gaps = 0_usize;
    let mut rest = typed.iter().peekable();
    let mut together = true;
    for character in folded {
        if rest.peek() == Some(&character) {
            rest.next();
            if !together {
                gaps = gaps.saturating_add(1);
            }
            together = true;
        } else {
            together = false;
        }
    }
    rest.next().is_none().then_some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(partial: &str, values: &[&str]) -> Vec<String> {
        rank(partial, values.into_completion_result().unwrap()).values
    }

    #[test]
    fn better_matches_come_first_and_ties_keep_their_order() {
        let values = [
            "micropython",
            "cpython",
            "Python 3",
            "python",
            "my_python",
            "pithon",
            "rust",
        ];
        assert_eq!(
            ranked("python", &values),
            ["python", "Python 3", "my_python", "micropython", "cpython",]
        );
        assert_eq!(
            ranked("python", &["p-y-t-h-o-n", "pithon", "rust"]),
            ["pithon", "p-y-t-h-o-n"]
        );
    }

    #[test]
    fn guesses_are_offered_only_if_no_candidate_contains_the_text() {
        let kinds = ["food", "travel", "other"];
        assert_eq!(ranked("tr", &kinds), ["travel"]);
        assert_eq!(ranked("ther", &kinds), ["other"]);
        assert_eq!(ranked("tar", &kinds), ["travel"]);
    }

    #[test]
    fn an_empty_value_offers_all_candidates_in_their_order() {
        assert_eq!(ranked("", &["b", "a"]), ["b", "a"]);
    }

    #[test]
    fn a_capital_letter_starts_a_word_in_completion() {
        assert_eq!(
            ranked("name", &["surname", "fileName"]),
            ["fileName", "surname"]
        );
    }

    #[test]
    fn typing_errors_are_tolerated() {
        assert_eq!(ranked("pyhton", &["python", "ruby"]), ["python"]);
        assert_eq!(ranked("tokoi", &["tokio-util", "actix"]), ["tokio-util"]);
    }

    #[test]
    fn at_most_a_hundred_are_offered_and_all_are_counted() {
        let values: Vec<String> = (0..150).map(|number| format!("item {number}")).collect();
        let completion = rank("item", Candidates::new(values.clone()));
        assert_eq!(
            (
                completion.values.len(),
                completion.total,
                completion.has_more
            ),
            (100, Some(150), Some(true))
        );
        let completion = rank("x", Candidates::ranked(["b", "a"]).with_total(7));
        assert_eq!(
            (completion.values, completion.total, completion.has_more),
            (vec!["b".into(), "a".into()], Some(7), Some(true))
        );
        let completion = rank("item 1", Candidates::new(["item 1"]));
        assert_eq!(
            (completion.total, completion.has_more),
            (Some(1), Some(false))
        );
    }

    #[test]
    fn a_very_long_partial_value_has_no_completions() {
        assert!(ranked(&"x".repeat(100_000), &["x", "y"]).is_empty());
    }

    #[test]
    fn characters_beyond_ascii_are_compared_as_characters() {
        assert_eq!(ranked("ÄRG", &["gar", "Ärger"]), ["Ärger"]);
    }
}
