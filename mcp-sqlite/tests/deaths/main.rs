//! Kills a server with SIGKILL before and after every operation of its store, lets another process go on with the task, and
//! counts how often each step was done.
//!
//! `cargo test -p mcp-runtime-sqlite --test deaths` tries every single death, and then each death of the second process after
//! each death of the first. That takes less than a minute. The table has the single deaths, and the pairs that went wrong.
//!
//! The program is driver and server at once: with a folder in the variable `FOLDER`, it is the server.

#![allow(clippy::print_stdout, reason = "it prints a table")]

#[cfg(unix)]
mod driver;
#[cfg(unix)]
mod mortal;
#[cfg(unix)]
mod server;

#[cfg(unix)]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    match std::env::var_os("FOLDER") {
        Some(folder) => server::serve(folder.as_ref()).await,
        None if is_wanted() => driver::drive().await,
        None => Ok(()),
    }
}

/// Returns `true` unless `cargo test` was given the name of another test.
#[cfg(unix)]
fn is_wanted() -> bool {
    let names: Vec<_> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with('-'))
        .collect();
    names.is_empty() || names.iter().any(|name| "deaths".contains(&**name))
}

#[cfg(not(unix))]
fn main() {}
