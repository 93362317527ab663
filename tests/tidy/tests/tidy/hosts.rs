//! Checks that the core and the crates below it ask only the room of hosts for a clock, random bytes, timers, tasks and threads, so
//! that they run where there is no operating system. The compiler does not notice: what panics there compiles.

use quote::ToTokens as _;

use crate::sources::product;

/// The crates that run without an operating system.
const CRATES: [&str; 3] = ["crates/core/", "crates/protocol/", "crates/schema/"];

/// What they may not name, as tokens.
const OF_THE_SYSTEM: [&str; 7] = [
    "getrandom",
    "spawn_blocking",
    "std :: thread",
    "SystemTime :: now",
    "tokio :: runtime",
    "tokio :: spawn",
    "tokio :: time",
];

#[test]
fn only_the_room_of_hosts_asks_the_operating_system() {
    let mut broken = Vec::new();
    for source in product() {
        let path = &source.path;
        // The second has tasks of transports, which are not compiled for such targets.
        let is_exempt = path.starts_with("crates/core/src/host/") || path.ends_with("/spawn.rs");
        if is_exempt || !CRATES.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for item in source.items() {
            let item = item.to_token_stream().to_string();
            let named = OF_THE_SYSTEM.iter().find(|named| item.contains(**named));
            let imports_clock = item.starts_with("use std :: time") && item.contains("Instant");
            if let Some(named) = named.or(imports_clock.then_some(&"Instant of std")) {
                broken.push(format!("{path}: {named}"));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "ask `crate::host` instead of the operating system\n  {}",
        broken.join("\n  ")
    );
}
