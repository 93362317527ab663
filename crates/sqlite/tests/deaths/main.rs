//! Kills a server with SIGKILL before and after every operation of its store, lets another process continue the task,
//! and counts how often each step was done.
//!
//! `cargo test -p mcp-runtime-sqlite --test deaths` tries every single death of five tools and, for each tool, some
//! pairs of deaths, in which a second process dies after the first. With `-- --all`, it tries all such pairs and prints
//! every run. The table counts the tasks that completed, those that named the step in which a process died, those in
//! which a step that may be repeated was repeated, and those in which another step was done twice.
//!
//! The program is both driver and server: if the `FOLDER` variable contains a folder, the program is the server.

#![allow(clippy::print_stdout, reason = "it prints a table")]

#[cfg(unix)]
mod driver;
#[cfg(unix)]
mod judge;
#[cfg(unix)]
mod mortal;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod tools;

#[cfg(unix)]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    match std::env::var_os("FOLDER") {
        Some(folder) => server::serve(folder.as_ref()).await,
        None if is_wanted() => {
            driver::drive(std::env::args().any(|argument| argument == "--all")).await
        }
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
