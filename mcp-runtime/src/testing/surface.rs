//! Compares a server's surface with a file in tests.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use crate::client::surface::Surface;
use crate::client::surface::compare::compare_surfaces;
use crate::testing::TestClient;

/// Environment variable that, if set, causes surface files to be written rather than compared.
const UPDATE: &str = "UPDATE_SURFACE";

impl TestClient {
    /// Returns JSON with everything that the server declares: its instructions, and its tools, prompts, resources and
    /// resource templates, each list sorted by name. Uses the newest protocol version under test.
    ///
    /// The text changes only if the declarations in the program change. The text does not depend on the server's
    /// version, the order of definitions, or the resources returned by the listing functions of templates, because
    /// those are data. The `check --surface` command reads and writes the same format.
    #[expect(
        clippy::unused_async,
        reason = "awaited, as are all methods that ask the server"
    )]
    pub async fn surface(&self) -> String {
        self.newest_surface().to_text()
    }

    fn newest_surface(&self) -> Surface {
        let side = self.sides.last().expect("a client has a side");
        match Surface::of(&side.client) {
            Ok(surface) => surface,
            Err(failure) => panic!("a list cannot be read: {failure}"),
        }
    }

    /// Compares [`surface`](Self::surface) with a file and reports the changes, indicating which of them break clients.
    /// The path is relative to the package. If the `UPDATE_SURFACE` environment variable is set, writes the file
    /// instead.
    ///
    /// # Panics
    ///
    /// Panics if the surface differs from the file, or if the file cannot be read or written.
    #[expect(
        clippy::unused_async,
        reason = "awaited, as are all methods that ask the server"
    )]
    pub async fn assert_surface(&self, path: impl AsRef<Path>) {
        let (path, surface) = (path.as_ref(), self.newest_surface());
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
                for change in compare_surfaces(&saved, &surface) {
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
