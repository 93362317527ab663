//! Every attribute once, with most of its options.
#![deny(
    warnings,
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    single_use_lifetimes
)]
#![deny(
    missing_debug_implementations,
    unused_results,
    clippy::all,
    clippy::pedantic
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    clippy::unused_self,
    reason = "the functions only have signatures"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::{Caller, Principal};

/// Adds two integers.
#[tool]
fn add(
    /// Left operand
    a: i64,
    /// Right operand
    b: i64,
) -> String {
    (a + b).to_string()
}

const SLOW: Duration = Duration::from_secs(90);

/// Searches.
#[tool(
    name = "notes.search",
    title = "Search notes",
    read_only,
    destructive = false,
    idempotent,
    open_world = false,
    icons = ["https://example.com/a.png", icon(src = "https://example.com/b.svg", mime_type = "image/svg+xml", sizes = "48x48 any", theme = "dark")],
    meta = json!({ "a": 1 }),
    tags("reading"),
    timeout = "5s",
    requires(sampling, elicitation_url),
    strict,
    ttl = "1m",
    cache = "public"
)]
async fn search(
    ctx: &Context,
    state: State<AtomicU64>,
    /// Words to look for
    #[arg(length(1..=200), pattern = "^[a-z]", example = "rust")]
    query: &str,
    #[arg(range(1..=100), default = 10, header = "Limit")] limit: u32,
    #[arg(default = Some(3))] least: Option<u8>,
    #[arg(default)] most: f64,
    #[arg(length(..=5), items(length(1..), format = "uri"))] tags: Option<Vec<String>>,
    r#type: &[u8],
) -> Result<Json<u64>> {
    let _ = (ctx, limit, least, most, tags);
    Ok(Json(
        state.load(Ordering::Relaxed) + query.len() as u64 + r#type.len() as u64,
    ))
}

/// Sleeps.
#[tool(blocking, timeout = SLOW, schema = json!({ "type": "object" }))]
fn sleep(#[arg(name = "milliSeconds")] milliseconds: u64) -> String {
    std::thread::sleep(Duration::from_millis(milliseconds));
    String::new()
}

/// Asks for a review.
#[prompt(title = "Review", tags("code"), scopes("code:read"), visible_if = Caller::is_trusted)]
fn review(code: String, #[complete(frameworks)] framework: Option<String>) -> String {
    format!("{code}{framework:?}")
}

/// Frameworks.
#[completer]
async fn frameworks(
    partial: &str,
    code: Option<String>,
) -> Result<mcp_runtime::handler::Candidates> {
    let _ = (partial, code);
    bail!("none")
}

/// Code.
#[completer(prompt = review, argument = "code")]
fn codes(partial: String) -> Result<mcp_runtime::handler::Candidates> {
    bail!("no {partial}")
}

/// A note.
#[resource_template(
    "notes:///{id}{?part}",
    mime_type = "text/markdown",
    audience(user, assistant),
    priority = 0.5
)]
async fn note(
    #[complete(frameworks)] id: u32,
    part: Option<String>,
    ctx: Context,
) -> Result<mcp_runtime::types::ReadResourceResult> {
    let _ = (id, part, ctx);
    bail!("none")
}

/// Settings.
#[resource(
    "config://app",
    mime_type = "application/json",
    size = 12,
    last_modified = "2026-07-28T12:00:00Z",
    ttl = "1h"
)]
fn config(ctx: Context) -> Result<mcp_runtime::types::ReadResourceResult> {
    let _ = ctx;
    bail!("none")
}

/// Notes.
#[derive(Debug, Default)]
pub struct Notes {
    count: AtomicU64,
}

#[server]
impl Notes {
    const STEP: u64 = 1;

    /// Counts.
    #[tool]
    pub fn count(&self) -> String {
        self.count
            .fetch_add(Self::STEP, Ordering::Relaxed)
            .to_string()
    }

    /// Deletes.
    #[tool(destructive)]
    async fn delete(
        &self,
        ctx: Context,
        #[arg(default = Self::STEP)] id: u64,
    ) -> Result<Json<u64>> {
        let _ = ctx;
        Ok(Json(id + self.count.load(Ordering::Relaxed)))
    }

    /// No receiver.
    #[tool(scopes("notes:read", "https://example.com/notes.write"), visible_if = Self::is_known)]
    fn version(who: &Principal, also: Option<Principal>, caller: &Caller) -> String {
        format!("{} {also:?} {caller:?}", who.subject())
    }

    fn is_known(caller: &Caller) -> bool {
        caller.principal().is_some()
    }

    /// A prompt.
    #[prompt]
    pub fn summary(&self, #[complete(Self::ids)] id: String) -> String {
        id
    }

    /// Ids.
    #[completer(prompt = Notes::summary, argument = "id")]
    fn ids(&self, partial: &str) -> Result<mcp_runtime::handler::Candidates> {
        bail!("no {partial}")
    }
}

#[server]
impl Notes {
    /// Another block.
    #[tool]
    fn more<'a>(&'a self, text: &'a str) -> String {
        text.to_owned()
    }
}

/// A place.
#[data]
#[derive(Debug)]
pub struct Place {
    /// The city.
    pub city: String,
}

/// Visits.
#[tool]
fn visit(place: Place, #[arg(flatten)] also: Place) -> Json<Place> {
    let _ = also;
    Json(place)
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _ = [
        tool(add),
        tool(Notes::count),
        prompt(review),
        resource(config),
        resource_template(note),
        completer(codes),
    ];
    let _ = add(1, 2);
    Ok(())
}

#[test]
fn the_program_runs() {
    main().unwrap();
}
