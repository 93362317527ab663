//! Notes in an `SQLite` database: tools, a URI for each note, a prompt, and notifications to clients when a note
//! changes.
//!
//! The database is the file named by `NOTES_DB`, or `notes.db` in the current directory.

mod store;

use mcp_runtime::handler::{ListCursor, Page};
use mcp_runtime::prelude::*;
use mcp_runtime::types::{Resource, ResourceContents};
use store::{Note, Store};

/// Maximum number of notes on a page of the list, and in a prompt.
const PAGE: u32 = 50;

/// The result of a search.
#[data(output)]
struct Found {
    /// The notes, newest first
    notes: Vec<Note>,
}

/// Adds a note.
#[tool(blocking)]
fn add(
    ctx: &Context,
    store: &State<Store>,
    /// The topic, in a word or two
    #[arg(length(1..=100))]
    topic: &str,
    /// The text of the note
    #[arg(length(1..=10_000))]
    text: &str,
) -> Result<Json<Note>> {
    let note = store.add(topic, text)?;
    ctx.server().notify().resources_changed();
    Ok(Json(note))
}

/// Finds notes, newest first.
#[tool(blocking, read_only)]
fn search(
    store: &State<Store>,
    /// Words that occur together in the note; an empty string finds every note
    words: &str,
    /// Maximum number of notes to find
    #[arg(range(1..=100), default = 10)]
    limit: u32,
) -> Result<Json<Found>> {
    let notes = store.search(words, limit)?;
    Ok(Json(Found { notes }))
}

/// Changes a note. Omitted arguments leave their part unchanged.
#[tool(blocking, destructive, idempotent)]
fn edit(
    ctx: &Context,
    store: &State<Store>,
    /// The number of the note
    id: i64,
    /// The topic, in a word or two
    #[arg(length(1..=100))]
    topic: Option<String>,
    /// The text of the note
    #[arg(length(1..=10_000))]
    text: Option<String>,
) -> Result<Json<Note>> {
    let Some(note) = store.edit(id, topic, text)? else {
        bail!("there is no note {id}; `search` finds those there are");
    };
    ctx.server().notify().resource_updated(note.uri());
    Ok(Json(note))
}

/// Deletes a note permanently.
#[tool(blocking, destructive, idempotent)]
fn delete(
    ctx: &Context,
    store: &State<Store>,
    /// The number of the note
    id: i64,
) -> Result<String> {
    if !store.delete(id)? {
        bail!("there is no note {id}; `search` finds those there are");
    }
    let notify = ctx.server().notify();
    notify.resource_updated(format!("notes:///{id}"));
    notify.resources_changed();
    Ok(format!("deleted note {id}"))
}

/// One note.
#[resource_template("notes:///{id}", mime_type = "text/plain", list = notes)]
fn note(store: &State<Store>, #[complete(ids)] id: i64) -> Result<Option<String>> {
    Ok(store.get(id)?.map(|note| note.text))
}

/// Returns a page of all notes. The cursor is the number of the page's last note.
fn notes(store: &State<Store>, cursor: ListCursor) -> Result<Page<Resource>> {
    let last: i64 = cursor.0.map_or(Ok(0), |cursor| cursor.parse())?;
    let notes = store.after(last, PAGE)?;
    let next = notes.last().map(|note| note.id.to_string());
    let resources: Vec<_> = notes
        .iter()
        .map(|note| Resource::new(note.uri(), &note.topic).with_mime_type("text/plain"))
        .collect();
    let page = Page::new(resources);
    Ok(match next {
        Some(next) => page.with_next(next),
        None => page,
    })
}

/// The newest notes.
#[completer]
fn ids(_partial: &str, store: &State<Store>) -> Result<Vec<String>> {
    let notes = store.search("", 1000)?;
    Ok(notes.iter().map(|note| note.id.to_string()).collect())
}

/// Starts a conversation about the notes on a topic.
#[prompt]
fn discuss(store: &State<Store>, #[complete(topics)] topic: &str) -> Result<Vec<PromptMessage>> {
    let question = format!("What is missing in my notes on {topic}?");
    let notes = store.about(topic, PAGE)?;
    let mut messages: Vec<_> = notes
        .into_iter()
        .map(|note| ResourceContents::text(note.uri(), note.text).with_mime_type("text/plain"))
        .map(PromptMessage::user)
        .collect();
    messages.push(PromptMessage::user(question));
    Ok(messages)
}

#[completer]
fn topics(_partial: &str, store: &State<Store>) -> Result<Vec<String>> {
    Ok(store.topics()?)
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::var_os("NOTES_DB").unwrap_or_else(|| "notes.db".into());
    Server::new("notes", "1.0.0")
        .instructions("Search before you add a note: there may be one to edit.")
        .state(Store::open(path)?)
        .run()
        .await?;
    Ok(())
}
