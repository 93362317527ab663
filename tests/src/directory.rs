//! Directories for tests.

use std::path::{Path, PathBuf};

use crate::Version;

/// A directory for a single test. It is deleted when this is dropped.
#[derive(Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// Creates a directory.
    #[must_use]
    pub fn new(name: &str, version: Version) -> Self {
        let name = format!("mcp-{name}-{}-{}", std::process::id(), version.date());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns a path in this directory.
    #[must_use]
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
