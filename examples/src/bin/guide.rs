//! The parts of most servers: a tool, a prompt with completion, a typed template, and state.
use mcp_runtime::prelude::*;

/// Text, urgency and owner.
type Note = (String, u8, Option<String>);
type Notes = std::sync::Mutex<Vec<Note>>;

/// Adds a note.
#[tool]
fn add(
    notes: &State<Notes>,
    /// Text of the note
    text: String,
    /// Urgency, from 1 to 5
    #[arg(range(1..=5), default = 3)]
    urgency: u8,
    /// Person responsible
    owner: Option<String>,
) {
    notes.lock().unwrap().push((text, urgency, owner));
}

/// Asks for a summary of the notes.
#[prompt]
fn summary(#[complete(["formal", "friendly"])] style: &str) -> String {
    format!("Summarise the notes in {style} words.")
}

/// One note.
#[resource_template("notes:///{index}")]
fn note(notes: &State<Notes>, index: usize) -> Option<Json<Note>> {
    notes.lock().unwrap().get(index).cloned().map(Json)
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().state(Notes::default()).run().await
}
