//! The server: the tools of the crate `booking`, settings, and what wraps every call.

// Reports a crate of tools that `Cargo.toml` lists but no `use` names: its tools would be missing.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

mod settings;

use std::future::ready;
use std::path::Path;

use booking::Calendar;
use mcp_runtime::middleware::{AuditRecord, audit};
use mcp_runtime::prelude::*;

pub use settings::Settings;

/// Adds everything to a server that is only named.
pub fn configure(server: Server, settings: &Settings) -> Server {
    let (rooms, journal) = (settings.rooms.clone(), settings.journal.clone());
    let watched = journal.clone();
    server
        .title("Meeting rooms")
        .instructions("Times are UTC: convert those of the user.")
        .middleware(audit(AuditRecord::log))
        .rate("50/s")
        .ready_check("journal", move || ready(is_writable(&watched)))
        .state_with(move || ready(Calendar::open(&rooms, &journal)))
}

fn is_writable(journal: &Path) -> std::io::Result<()> {
    std::fs::OpenOptions::new()
        .append(true)
        .open(journal)
        .map(drop)
}
