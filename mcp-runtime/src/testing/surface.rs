//! The surface of a server under test, compared with a file.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use crate::client::surface::Surface;
use crate::client::surface::compare::compare;
use crate::testing::TestClient;

/// Set to anything, it writes surface files anew rather than comparing.
const UPDATE: &str = "UPDATE_SURFACE";

impl TestClient {
    /// Everything the server declares, as JSON: its instructions, and its tools, prompts, resources and resource templates
    /// by name. In the newest revision under test.
    ///
    /// It changes when what the program declares does, and with nothing else: not with the server's version, nor the order of
    /// definitions, nor the resources that listing functions of templates give, which are data and never part of it. The command line's `check --surface` reads and writes the same.
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

    /// Compares [`surface`](Self::surface) with a file, whose path is relative to the package, and says what changed and
    /// what of it breaks clients. With `UPDATE_SURFACE` in the environment it writes the file instead.
    ///
    /// # Panics
    ///
    /// If they differ, or the file cannot be read or written.
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
            Err(error) => changes = format!("it cannot be read: {error}\n"),
        }
        panic!(
            "the server is not what {} says:\n{changes}{again}",
            path.display()
        );
    }
}
