//! The settings, and the document that they name.

use std::fmt;
use std::time::Duration;

use mcp_runtime::prelude::data;
use mcp_runtime::serde_json::{self, Value};
use mcp_runtime::server::Secret;
use reqwest::{Client, Url, redirect};

use crate::api::read_body;

/// The size in bytes up to which documents are read.
const MAX_DOCUMENT: usize = 16 << 20;

/// The settings. The variables begin with `OPENAPI_`.
#[data(input)]
pub struct Settings {
    /// OpenAPI document, 3.0 or 3.1, in JSON: a path or a URL
    pub document: String,
    /// URL of the API; by default the first of the document's `servers`. Required if there is a token and the document
    /// is a file
    pub base_url: Option<Url>,
    /// Bearer token for the API
    pub token: Option<Secret<String>>,
    /// Tags whose operations become tools; by default all
    #[arg(default)]
    pub tags: Vec<String>,
    /// Ids of operations that become tools; by default all
    #[arg(default)]
    pub operations: Vec<String>,
    /// Ids of operations that do not become tools
    #[arg(default)]
    pub without: Vec<String>,
    /// Time limit for a request in seconds
    #[arg(range(1..=240), default = 20)]
    pub timeout: u64,
}

impl Settings {
    /// Returns the URL of the document, or `None` if it is a file.
    pub fn document_url(&self) -> Option<Url> {
        let is_url = ["http://", "https://"].iter();
        let is_url = is_url.clone().any(|start| self.document.starts_with(start));
        is_url.then(|| Url::parse(&self.document).ok()).flatten()
    }

    /// Makes the client. It follows no redirects, which could lead to another host.
    pub fn client(&self) -> Result<Client, SetupError> {
        // Fails if the program has chosen another provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("openapi/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .timeout(Duration::from_secs(self.timeout));
        client
            .build()
            .map_err(|error| SetupError::new(format!("no HTTP client: {error}")))
    }

    /// Reads the document. The token is for the API only, so it is not sent along.
    pub async fn read_document(&self) -> Result<Value, SetupError> {
        let name = &self.document;
        let failed = |problem: String| SetupError::new(format!("the document {name}: {problem}"));
        let bytes = match self.document_url() {
            Some(url) => {
                let response = self.client()?.get(url).send().await;
                let response = response.map_err(|error| failed(error.to_string()))?;
                if !response.status().is_success() {
                    return Err(failed(format!("status {}", response.status())));
                }
                let body = read_body(response, MAX_DOCUMENT).await;
                body.map_err(|error| failed(error.to_string()))?
            }
            None => std::fs::read(name).map_err(|error| failed(error.to_string()))?,
        };
        if bytes.len() > MAX_DOCUMENT {
            return Err(failed(format!("it has more than {MAX_DOCUMENT} bytes")));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            failed(format!(
                "it is not JSON ({error}); convert YAML first, for example with `yq -o json`"
            ))
        })
    }
}

/// The reasons why the server cannot start. `Debug` is the text, too, because that is what `main` prints.
pub struct SetupError(Vec<String>);

impl SetupError {
    pub fn new(problem: impl Into<String>) -> Self {
        Self(vec![problem.into()])
    }

    /// Returns an error if there are problems.
    pub fn check(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self(problems))
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SetupError {}
