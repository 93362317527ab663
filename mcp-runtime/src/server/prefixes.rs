//! Prefixes of names, for functions of several crates in one server.

use crate::handler::definition::Selected;
use crate::server::Server;

impl Server {
    /// Puts a prefix before the names of these tools and prompts, for example because two crates have a tool of the
    /// same name.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// mod notes {
    ///     # use mcp_runtime::prelude::*;
    ///     #[tool]
    ///     pub fn search(text: &str) -> String {
    ///         # text.to_owned()
    ///     }
    /// }
    ///
    /// // Clients see the tool `notes_search`.
    /// let server = new_server!().prefix_names("notes_", [tool(notes::search)]);
    /// ```
    ///
    /// A crate can export the array, so that a server names all of its functions at once. The functions that are served
    /// do not change: see [`only`](Self::only).
    ///
    /// Start-up fails if a function is not annotated, is not a tool or prompt, or is given two prefixes, and if a name
    /// with its prefix is invalid or used twice.
    pub fn prefix_names(
        mut self,
        prefix: impl Into<String>,
        functions: impl IntoIterator<Item = Selected>,
    ) -> Self {
        let functions = functions.into_iter().collect();
        self.prefixes.push((prefix.into(), functions));
        self
    }
}
