//! A tool, a prompt, a template and shared state.
use mcp_runtime::prelude::*;
type Notes = std::sync::Mutex<Vec<(u8, String, Option<String>)>>;
/// Adds a note.
#[tool]
fn add(
    notes: &State<Notes>,
    #[arg(description = "What to remember")] text: String,
    #[arg(description = "How urgent it is", range(1..=5), default = 3)] urgency: u8,
    #[arg(description = "Who should see to it")] owner: Option<String>,
) {
    notes.lock().unwrap().push((urgency, text, owner));
}
/// Asks for a summary of the notes.
#[prompt]
fn summary(#[complete(styles)] style: &str) -> String {
    format!("Summarise the notes in {style} words.")
}
#[completer]
fn styles(_partial: &str) -> [&'static str; 2] {
    ["formal", "friendly"]
}
#[resource_template("notes:///{index}")]
fn note(notes: &State<Notes>, index: usize) -> Option<String> {
    notes.lock().unwrap().get(index).map(|note| note.1.clone())
}
#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().state(Notes::default()).run().await
}
