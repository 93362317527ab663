//! Issues on GitHub: search, read, comment. Any server in front of a REST API looks much like this one.
//!
//! `GITHUB_TOKEN` is needed for private repositories and for comments; `github --help` lists all settings.

mod api;
#[cfg(test)]
mod tests;
mod tools;

use mcp_runtime::prelude::*;

use crate::api::{Api, Settings};

fn server() -> Server {
    new_server!()
        .env::<Settings>("GITHUB_")
        .state_with(async |settings: State<Settings>| Api::new(&settings))
        .instructions("Read an issue before you comment on it: it may have been answered.")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    server().run().await
}
