//! Limits the length of files, because each file should contain a single concept.

use crate::exceptions;
use crate::sources;

const MOST_LINES: usize = 400;

#[test]
fn no_file_is_longer_than_400_lines_without_a_reason() {
    let folders = [
        "benches",
        "examples",
        "fuzz/fuzz_targets",
        "mcp-macros",
        "mcp-protocol",
        "mcp-redis",
        "mcp-runtime",
        "mcp-schema",
        "mcp-skills",
        "mcp-sqlite",
        "tests",
    ];
    let long = sources::files(&folders, "rs")
        .into_iter()
        .map(|source| (source.path, source.text.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| (path, format!("{lines} lines")));
    exceptions::check(
        "long-file",
        "a file holds one concept; split it, or say why not",
        long,
    );
}
