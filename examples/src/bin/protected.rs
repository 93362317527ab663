//! Notes protected by access tokens: `protected ISSUER RESOURCE [ADDRESS]`. The authorization server ISSUER issues the
//! tokens; this server is known as RESOURCE, such as `http://127.0.0.1:8000/mcp`, and listens at ADDRESS, by default
//! 127.0.0.1:8000. Needs the feature `auth` of the examples.

use std::sync::{Mutex, PoisonError};

use mcp_runtime::auth::{Jwt, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;

/// The notes of all users, each with its author.
type Notes = Mutex<Vec<(String, String)>>;

/// Lists the notes that you wrote.
#[tool(read_only, scopes("notes:read"))]
fn list_notes(ctx: &Context, notes: &State<Notes>) -> Vec<String> {
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    let own = notes.iter().filter(|(author, _)| *author == author_of(ctx));
    own.map(|(_, note)| note.clone()).collect()
}

/// Writes a note.
#[tool(scopes("notes:read", "notes:write"))]
fn write_note(
    ctx: &Context,
    notes: &State<Notes>,
    #[arg(length(1..=1000))] note: String,
) -> String {
    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    notes.push((author_of(ctx), note));
    format!("{} notes", notes.len())
}

/// Returns the caller's subject: the user and not the client program, so that notes belong to users.
fn author_of(ctx: &Context) -> String {
    ctx.principal()
        .map_or_else(String::new, |who| who.subject().to_owned())
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(issuer), Some(resource)) = (arguments.next(), arguments.next()) else {
        return Err("usage: protected ISSUER RESOURCE [ADDRESS]".into());
    };
    let address = arguments.next();
    // Clients request the scope for reading first, and further scopes when a call needs them.
    let protected =
        ProtectedResource::new(resource, Jwt::issuer(issuer)).require_scopes(["notes:read"]);
    new_server!()
        .state(Notes::default())
        .http(HttpOptions::new().authenticate(protected))
        .serve_http(address.as_deref().unwrap_or("127.0.0.1:8000"))
        .await?;
    Ok(())
}
