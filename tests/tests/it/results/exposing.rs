//! Errors whose message the model may read: for single variants, inside other errors, and for a whole server.

use std::error::Error;
use std::fmt;

use anyhow::Context as _;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;

use crate::support::connect;

/// Written for the model.
#[expose]
#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only members may")
    }
}

impl Error for Refused {}

/// As `thiserror` writes it: the first variant is transparent, the second has a source.
#[expose]
#[derive(Debug)]
enum StoreError {
    #[expose]
    Transparent(Refused),
    Wrapped {
        source: Refused,
    },
    Database(std::io::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transparent(refused) => refused.fmt(f),
            Self::Wrapped { .. } => f.write_str("secret query"),
            Self::Database(error) => write!(f, "secret host: {error}"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Transparent(refused) => refused.source(),
            Self::Wrapped { source } => Some(source),
            Self::Database(error) => Some(error),
        }
    }
}

/// Is not marked, but its cause is.
#[derive(Debug)]
struct Unmarked(StoreError);

impl fmt::Display for Unmarked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret path")
    }
}

impl Error for Unmarked {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn store(kind: &str) -> Result<(), StoreError> {
    Err(match kind {
        "transparent" => StoreError::Transparent(Refused),
        "wrapped" => StoreError::Wrapped { source: Refused },
        _ => StoreError::Database(std::io::Error::other("down")),
    })
}

/// Fails with an error of the store.
#[tool(tags("exposing"))]
fn of_store(kind: &str) -> Result<()> {
    Ok(store(kind)?)
}

/// Fails with it as its own error.
#[tool(tags("exposing"))]
fn directly(kind: &str) -> Result<(), StoreError> {
    store(kind)
}

/// Fails with an error around it.
#[tool(tags("exposing"))]
fn around(kind: &str) -> Result<()> {
    Ok(store(kind).map_err(Unmarked)?)
}

/// Fails with it in a box.
#[tool(tags("exposing"))]
fn boxed(kind: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    Ok(store(kind)?)
}

/// Fails with it and some context.
#[tool(tags("exposing"))]
fn with_context(kind: &str) -> anyhow::Result<()> {
    store(kind).context("secret step")
}

/// Fails with a message of another library.
#[tool(tags("exposing"))]
fn with_anyhow() -> anyhow::Result<()> {
    Err(std::io::Error::other("cause")).context("message")
}

/// Panics.
#[tool(tags("exposing"))]
fn falls_over() {
    panic!("secret state")
}

#[resource("exposing:it", tags("exposing"))]
fn unreadable() -> anyhow::Result<String> {
    anyhow::bail!("no disk")
}

fn server() -> Server {
    Server::new("exposing", "1").only(Selected::tag("exposing"))
}

#[tokio::test]
async fn only_exposed_error_variants_are_shown() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for tool in ["of_store", "directly", "around", "boxed", "with_context"] {
            for kind in ["transparent", "wrapped"] {
                let shown = client.refused(tool, json!({"kind": kind})).await;
                assert_eq!(shown, "only members may", "{tool} {kind}");
            }
            let hidden = client.refused(tool, json!({"kind": "database"})).await;
            assert!(
                hidden.starts_with("internal error (reference"),
                "{tool}: {hidden}"
            );
        }
        let hidden = client.refused("with_anyhow", json!({})).await;
        assert!(hidden.starts_with("internal error (reference"), "{hidden}");
    }
}

#[tokio::test]
async fn a_whole_server_may_show_its_errors_but_not_its_panics() {
    for version in Version::ERAS {
        let mut client = connect(server().expose_errors(), version).await;
        let shown = client.refused("with_anyhow", json!({})).await;
        assert_eq!(shown, "message: cause");
        let shown = client.refused("around", json!({"kind": "database"})).await;
        assert_eq!(shown, "secret path: secret host: down");
        // A message that is written for the model is left unchanged.
        let shown = client.refused("of_store", json!({"kind": "wrapped"})).await;
        assert_eq!(shown, "only members may");
        let read = json!({"uri": "exposing:it"});
        let failure = client.fails("resources/read", read, -32603).await;
        assert_eq!(failure.message, "no disk");
        let call = json!({"name": "falls_over", "arguments": {}});
        let failure = client.fails("tools/call", call, -32603).await;
        assert_eq!(failure.message, "internal error");
    }
}
