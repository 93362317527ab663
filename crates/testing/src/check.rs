//! The check of a server's definitions as a test, for pipelines that install nothing.

use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::{env, fs};

use mcp_check::{
    CheckReport, Judged, ServerReader, Surface, SurfaceChange, SurfaceList, compare_surfaces,
    read_pages,
};
use mcp_client::{InProcessClient, RequestError};
use mcp_core::context::Capability;
use mcp_core::dispatch::UnstartedServer;
use serde_json::Value;

use crate::TestClient;
use crate::declarations::UPDATE;

/// Checks a server's definitions: fails the test if a client or a model rejects a name, a schema, a page or a skill.
///
/// `mcp-dev check` prints the same report, for any server. The test prints it too, and the test harness shows it if the
/// test fails or with `-- --nocapture`. The server needs no values for its settings (`Server::env`), and no tool runs;
/// only the functions that return pages and skills do.
///
/// ```standalone_crate
/// # use mcp_runtime::prelude::*;
/// # use mcp_runtime::testing::check;
/// /// Adds two integers.
/// #[tool]
/// fn add(
///     /// The first number
///     a: i64,
///     /// The second number
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// # async fn test() {
/// check(new_server!()).strict().await;
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
/// ```
///
/// # Panics
///
/// Awaiting the returned value panics if there is such a problem, if the server does not start, or if the surface has
/// changes that break clients.
pub fn check(server: impl UnstartedServer) -> Check {
    Check {
        server: Box::new(server),
        is_strict: false,
        surface: None,
    }
}

/// A check that has not been made yet. Configure it, and then await this value.
#[must_use = "the check is made when this is awaited"]
#[derive(Debug)]
pub struct Check {
    server: Box<dyn UnstartedServer>,
    is_strict: bool,
    surface: Option<PathBuf>,
}

impl Check {
    /// Also fails the test if there is only advice, for example because a tool has no description.
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// Also compares the server with the surface in this file, and fails the test if a change breaks clients: a tool
    /// that was removed, or an argument that is now required. The path is relative to the package. If the
    /// `UPDATE_SURFACE` environment variable is set, writes the file instead.
    ///
    /// Unlike [`TestClient::assert_surface`], changes that break no client do not fail the test.
    pub fn surface(mut self, path: impl Into<PathBuf>) -> Self {
        self.surface = Some(path.into());
        self
    }

    #[expect(
        clippy::print_stderr,
        reason = "test harnesses capture the report and show it if the test fails"
    )]
    async fn run(mut self) {
        // Definitions do not depend on settings.
        self.server.ignore_missing_settings();
        let client = TestClient::modern_boxed(self.server).await;
        let surface = client.newest_surface();
        let client = &client.newest_side().client;
        let report = report(client, &surface);
        let mut report = match report.await {
            Ok(report) => report,
            Err(reason) => panic!("the server cannot be read: {reason}"),
        };
        if let Some(path) = &self.surface {
            report.changes = changes(path, &surface);
        }
        let text = report.to_text(|_| None);
        assert!(
            report.is_fine(self.is_strict) && !report.breaks_clients(),
            "the definitions have problems:\n{text}\n{}",
            if report.breaks_clients() {
                accept()
            } else {
                String::new()
            }
        );
        eprintln!("{text}");
    }
}

/// Says how to accept changes.
fn accept() -> String {
    format!("to accept the changes, run the test with {UPDATE}=1 in the environment")
}

/// Returns the changes since the file was written, or writes it.
fn changes(path: &Path, surface: &Surface) -> Vec<SurfaceChange> {
    if env::var_os(UPDATE).is_some() {
        if let Err(error) = fs::write(path, surface.to_text()) {
            panic!("{} cannot be written: {error}", path.display());
        }
        return Vec::new();
    }
    let saved = match fs::read_to_string(path) {
        Ok(saved) => saved,
        Err(error) => panic!(
            "{} cannot be read: {error}; to write it, run the test with {UPDATE}=1 in the environment",
            path.display()
        ),
    };
    match Surface::parse(&saved) {
        Ok(saved) => compare_surfaces(&saved, surface),
        Err(error) => panic!("{} is not a saved surface: {error}", path.display()),
    }
}

async fn report(client: &InProcessClient, surface: &Surface) -> Result<CheckReport, String> {
    let text = |failure: RequestError| failure.to_string();
    let listed = client.fetch_list(Capability::Tools).await.map_err(text)?;
    let items = |list: SurfaceList| surface.items(list);
    let tools = items(SurfaceList::Tools);
    let pages = read_pages(&TestedServer(client), tools, items(SurfaceList::Resources)).await;
    #[cfg(feature = "skills")]
    let skills =
        mcp_check::read_skills(&TestedServer(client), client.server_capabilities()).await?;
    Ok(CheckReport::new(&Judged {
        surface,
        listed: &listed,
        pages: &pages,
        #[cfg(feature = "skills")]
        skills: &skills,
    }))
}

/// Reads the server under test.
struct TestedServer<'a>(&'a InProcessClient);

impl ServerReader for TestedServer<'_> {
    async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let result = self.0.call(method, params).await;
        result.map_err(|failure| failure.to_string())
    }
}

impl IntoFuture for Check {
    type Output = ();
    type IntoFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
