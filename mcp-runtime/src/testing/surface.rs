//! Comparison of a server's surface with a file, in tests.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use crate::client::surface::Surface;
use crate::client::surface::compare::compare;
use crate::testing::TestClient;

/// Environment variable; if set, surface files are written rather than compared.
const UPDATE: &str = "UPDATE_SURFACE";

impl TestClient {
    /// Returns everything the server declares, as JSON: its instructions, and its tools, prompts, resources and resource
    /// templates by name. In the newest protocol version under test.
    ///
    /// The text changes only with the declarations of the program, not with the server's version, the order of definitions,
    /// or the resources from listing functions of templates, which are data. The command line's `check --surface` reads and
    /// writes the same format.
    pub async fn surface(&self) -> String {
        self.newest_surface().await.to_text()
    }

    async fn newest_surface(&self) -> Surface {
        let side = self.sides.last().expect("a client has a side");
        match Surface::of(&side.client).await {
            Ok(surface) => surface,
            Err(failure) => panic!("a list cannot be read: {failure}"),
        }
    }

    /// Compares [`surface`](Self::surface) with a file, whose path is relative to the package, and reports the changes and
    /// which of them break clients. If `UPDATE_SURFACE` is in the environment, writes the file instead.
    ///
    /// # Panics
    ///
    /// If they differ, or if the file cannot be read or written.
    pub async fn assert_surface(&self, path: impl AsRef<Path>) {
        let (path, surface) = (path.as_ref(), self.newest_surface().await);
        let text = surface.to_text();
        if env::var_os(UPDATE).is_some() {
            if let Err(error) = fs::write(path, &text) {
                panic!("{} cannot be written: {error}", path.display());
            }
            return;
        }
        let again = format!("to write it, run the test with {UPDATE}=1 in the environment");
        let saved = match fs::read_to_string(path) {
            Ok(saved) => saved.replace("\r\n", "\n"),
            Err(error) => panic!("{} cannot be read: {error}; {again}", path.display()),
        };
        if saved == text {
            return;
        }
        let mut changes = String::new();
        match Surface::parse(&saved) {
            Ok(saved) => {
                for change in compare(&saved, &surface) {
                    let _ = writeln!(changes, "{change}");
                }
            }
            Err(error) => changes = format!("the file cannot be parsed: {error}\n"),
        }
        panic!(
            "the server differs from {}:\n{changes}{again}",
            path.display()
        );
    }
}
