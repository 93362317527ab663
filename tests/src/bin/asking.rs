//! Runs the server that asks questions over standard input and output. Tests configure it with an environment variable.

use tests::asking::{SETUP, Setup, server};

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let setup = std::env::var(SETUP).unwrap_or_default();
    let setup: Setup = serde_json::from_str(&setup).expect("a test starts this program");
    server(&setup).run().await
}
