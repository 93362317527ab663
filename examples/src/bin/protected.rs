//! Notes that belong to users, protected by the access tokens of an authorization server: `protected --http`.
//!
//! `PROTECTED_ISSUER` is the authorization server, and `PROTECTED_URL` the URL by which clients know this server;
//! `protected --help` lists the settings. Over standard input and output, the only user is the one who started the
//! program, and no settings are needed. Needs the feature `auth` of the examples.

use std::sync::{Mutex, PoisonError};

use mcp_runtime::auth::{Jwt, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;

/// The environment variables, such as `PROTECTED_ISSUER`.
#[data(input)]
struct Settings {
    /// URL of the authorization server, exactly as in `iss` of its tokens
    #[arg(pattern = "^https?://")]
    issuer: String,
    /// URL by which clients know this server, such as `https://mcp.example.com/mcp`; its tokens are issued for this URL
    #[arg(pattern = "^https?://")]
    url: String,
}

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
async fn main() -> Result<(), mcp_runtime::Error> {
    Server::new("protected", "1.0.0")
        .state(Notes::default())
        .http_from_env("PROTECTED_", |Settings { issuer, url }| {
            // Clients request the scope for reading first, and further scopes when a call needs them.
            let protected = ProtectedResource::new(url, Jwt::issuer(issuer));
            HttpOptions::new().authenticate(protected.require_scopes(["notes:read"]))
        })
        .run()
        .await
}
