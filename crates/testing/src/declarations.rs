//! The server's declarations: its name and instructions, and its lists.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use mcp_check::{Surface, compare_surfaces};
use mcp_core::context::Capability;
use mcp_core::dispatch::UnstartedServer;
use mcp_core::observe::{LoggedFailure, Observer};
use mcp_protocol::types::{Implementation, Prompt, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::script::{OutcomeComparison, ScriptedClient};
use crate::{TestClient, parse_result};

impl TestClient {
    /// Lists all tools.
    pub async fn tools(&self) -> Vec<Tool> {
        self.list(Capability::Tools).await
    }

    /// Returns the schema of a tool's arguments, as JSON. With clients for both eras, returns the schema that the modern
    /// client receives.
    ///
    /// # Panics
    ///
    /// Panics if the server does not list the tool.
    pub async fn input_schema(&self, tool: &str) -> Value {
        let schema = self.find_tool(tool).await.input_schema;
        parse_result("tools/list", json!(schema))
    }

    /// Returns the schema of a tool's structured content, as JSON. With clients for both eras, returns the schema that
    /// the modern client receives.
    ///
    /// # Panics
    ///
    /// Panics if the server does not list the tool, or if the tool has no output schema.
    pub async fn output_schema(&self, tool: &str) -> Value {
        let schema = self.find_tool(tool).await.output_schema;
        assert!(schema.is_some(), "`{tool}` has no output schema");
        parse_result("tools/list", json!(schema))
    }

    async fn find_tool(&self, name: &str) -> Tool {
        let tools = self.tools().await;
        let names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        let mut tools = tools.into_iter();
        tools
            .find(|tool| tool.name == name)
            .unwrap_or_else(|| panic!("there is no tool `{name}`, only {names:?}"))
    }

    /// Returns the server's name, version, title and icons, as clients see them. With clients for both eras, returns
    /// those that the modern client receives.
    ///
    /// # Panics
    ///
    /// Panics if the server did not send a name and a version, as every server does.
    #[must_use]
    #[track_caller]
    pub fn server_info(&self) -> Implementation {
        match self.newest_side().client.server.implementation() {
            Ok(implementation) => implementation,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Returns the server's instructions for the model, if it has any.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.newest_side().client.server.instructions.as_deref()
    }

    pub(super) fn newest_side(&self) -> &ScriptedClient {
        self.sides.last().expect("a client has a side")
    }

    /// Lists all prompts.
    pub async fn prompts(&self) -> Vec<Prompt> {
        self.list(Capability::Prompts).await
    }

    /// Lists all resources with a fixed URI and all resources that templates list.
    pub async fn resources(&self) -> Vec<Resource> {
        self.list(Capability::Resources).await
    }

    /// Lists all resource templates.
    pub async fn resource_templates(&self) -> Vec<ResourceTemplate> {
        self.list(Capability::Templates).await
    }

    /// Fetches all pages of a list. Only names are compared between clients, because other members depend on the
    /// protocol version.
    async fn list<T: DeserializeOwned>(&self, list: Capability) -> Vec<T> {
        let mut settled = OutcomeComparison::new(list.member());
        let mut all = Vec::new();
        for side in &self.sides {
            all = match side.client.fetch_list(list).await {
                Ok(items) => items,
                Err(failure) => panic!("{} in {}: {failure}", list.member(), side.version()),
            };
            let names = all.iter().map(|item| item[list.item_key()].clone());
            settled.add(side, Ok(names.collect()));
        }
        // The outcome cannot be an error, because listing always succeeds here.
        drop(settled.outcome());
        let items = all.into_iter();
        items
            .map(|item| parse_result(list.member(), item))
            .collect()
    }
}

// --- Compares a server's surface with a file in tests.

/// Environment variable that, if set, causes surface files to be written rather than compared.
pub(super) const UPDATE: &str = "UPDATE_SURFACE";

impl TestClient {
    /// Returns JSON with everything that the server declares: its instructions, and its tools, prompts, resources and
    /// resource templates, each list sorted by name. Uses the newest protocol version under test.
    ///
    /// The text changes only if the declarations in the program change. The text does not depend on the server's
    /// version, the order of definitions, or the resources returned by the listing functions of templates, because
    /// those are data. `mcp-dev check --surface` reads and writes the same format.
    #[expect(
        clippy::unused_async,
        reason = "awaited, as are all methods that ask the server"
    )]
    pub async fn surface(&self) -> String {
        self.newest_surface().to_text()
    }

    pub(super) fn newest_surface(&self) -> Surface {
        let side = self.sides.last().expect("a client has a side");
        match side.client.surface() {
            Ok(members) => Surface::new(members),
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

// --- What a server needs to be tested.

/// Disables the limit on progress notifications, so that tests see every notification, and prints the causes of
/// internal errors, so that they are part of a failed test's output.
pub(crate) fn prepare(server: &mut dyn UnstartedServer) {
    server.limits_mut().calls.max_progress_per_second = u32::MAX;
    server.observers_mut().insert(PrintedFailures);
}

/// Prints failures to standard error, which test harnesses capture.
struct PrintedFailures;

impl Observer for PrintedFailures {
    #[expect(clippy::print_stderr, reason = "test harnesses capture only this")]
    fn fail(&self, failure: &LoggedFailure<'_>) {
        let LoggedFailure {
            called,
            what,
            cause,
            reference,
        } = failure;
        eprintln!("`{called}`: {what}: {cause} (reference {reference})");
    }
}
