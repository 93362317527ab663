//! Checks that comments begin with their subject or a verb.

use crate::sources::product;

/// Maximum percentage of comments that may begin with a question word.
const MOST_QUESTIONS: usize = 3;

const QUESTION_WORDS: [&str; 11] = [
    "What",
    "Who",
    "Whom",
    "Whose",
    "Where",
    "Whether",
    "How",
    "Which",
    "When",
    "With whom",
    "Of whom",
];

#[test]
fn hardly_any_comment_begins_with_a_question_word() {
    for krate in [
        "mcp-macros/",
        "mcp-protocol/",
        "mcp-redis/",
        "mcp-runtime/",
        "mcp-schema/",
        "mcp-skills/",
        "mcp-sqlite/",
    ] {
        let mut all = 0;
        let mut questions = Vec::new();
        for source in product()
            .iter()
            .filter(|source| source.path.starts_with(krate))
        {
            for (line, comment) in source.comments() {
                if !comment.starts_with(char::is_alphabetic) {
                    continue;
                }
                all += 1;
                let is_question = QUESTION_WORDS.iter().any(|word| {
                    comment
                        .strip_prefix(word)
                        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
                });
                if is_question {
                    questions.push(format!(
                        "{}:{line}: {}",
                        source.path,
                        comment.lines().next().unwrap_or_default()
                    ));
                }
            }
        }
        assert!(
            questions.len() * 100 <= all * MOST_QUESTIONS,
            "{} of {all} comments of {krate} begin with a question word, more than {MOST_QUESTIONS} %; say what the thing is or does:\n{}",
            questions.len(),
            questions.join("\n")
        );
    }
}
