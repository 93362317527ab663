//! What checks the repository itself: generated files, and lines of code. The rules are the test target `tidy`.

use std::path::{Path, PathBuf};

pub mod code_lines;
pub mod generated;

/// Returns the root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
