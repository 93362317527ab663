//! The schemas for the files, and a function that checks files against them.
//!
//! These are the official schemas without the parts intended only for human readers: descriptions, examples, defaults
//! and formats.
//!
//! Sources: `server-2025-12-11.json`: repository modelcontextprotocol/registry,
//! `internal/validators/schemas/2025-12-11.json`; `mcpb-manifest-0.3.json`: repository modelcontextprotocol/mcpb,
//! `schemas/mcpb-manifest-v0.3.schema.json`.

use mcp_schema::check::Validator;
use serde_json::Value;

/// The schema for `server.json`.
pub(super) const SERVER: &str = include_str!("schema/server-2025-12-11.json");

/// The schema for a bundle's `manifest.json`.
pub(super) const BUNDLE: &str = include_str!("schema/mcpb-manifest-0.3.json");

/// Checks a file before it is written.
///
/// # Errors
///
/// Returns an error that lists all problems.
pub(super) fn check(file: &str, schema: &str, value: &Value) -> Result<(), String> {
    let schema = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    let faults = Validator::new(schema)?.check(value);
    if faults.is_empty() {
        return Ok(());
    }
    let lines = faults
        .iter()
        .map(|fault| format!("\n{}: {}", fault.pointer, fault.message));
    Err(format!(
        "{file} would be invalid:{}",
        lines.collect::<String>()
    ))
}
