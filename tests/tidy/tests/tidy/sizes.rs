//! Limits the length of files: one concept with all of its types, usually 100 to 600 lines, must be readable in one go.

use crate::exceptions;
use crate::sources;

const MAX_LINES: usize = 1_000;

#[test]
fn no_file_is_longer_than_1000_lines_without_a_reason() {
    let folders = [
        "benches",
        "crates",
        "examples",
        "fuzz/fuzz_targets",
        "mcp-macros",
        "mcp-runtime",
        "tests",
    ];
    let long = sources::files(&folders, "rs")
        .into_iter()
        .map(|source| (source.path, source.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| (path, format!("{lines} lines")));
    exceptions::check(
        "long-file",
        "a file holds one concept; split it, or say why not",
        long,
    );
}
