//! {{description}}.

// Reports a crate of tools that `Cargo.toml` lists but no `use` names: its tools would be missing.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

#[cfg(test)]
mod tests;
mod tools;

use mcp_runtime::prelude::*;

/// The settings. `--help` lists the variables.
#[data(input)]
struct Settings {
    /// The word before a name
    #[serde(default = "hello")]
    greeting: String,
}

fn hello() -> String {
    "Hello".to_owned()
}

/// Adds everything to a server that has its settings.
fn configure(server: Server) -> Server {
    server.instructions("Greet users by their first names.")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let server = new_server!().env::<Settings>("{{project-name | shouty_snake_case}}_");
    configure(server).run().await
}
