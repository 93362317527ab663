//! A tool, a prompt, a template and shared state.
use mcp_runtime::prelude::*;

struct Notes(Vec<&'static str>);

/// Searches the notes.
#[tool(read_only)]
fn search(
    notes: &State<Notes>,
    /// Words to look for
    query: &str,
    /// Most results to return
    #[arg(range(1..=100), default = 10)]
    limit: usize,
    /// First note to look at
    from: Option<usize>,
) -> String {
    let hits = notes.0.iter().skip(from.unwrap_or(0)).filter(|note| note.contains(query));
    hits.take(limit).copied().collect::<Vec<_>>().join("\n")
}

/// Asks for a summary.
#[prompt]
fn summary(#[complete(styles)] style: &str) -> String {
    format!("Summarise the notes in {style} style.")
}

#[completer]
fn styles(_partial: &str) -> Vec<&'static str> {
    vec!["formal", "friendly"]
}

/// One note.
#[resource_template("notes:///{id}")]
fn note(notes: &State<Notes>, id: usize) -> Option<String> {
    notes.0.get(id).map(ToString::to_string)
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    server!().state(Notes(vec!["buy milk", "call mum"])).run().await
}
