//! Callers: the definitions that each may see and use, and proof that nothing of one caller is of use to another.

mod bound;
mod calls;
mod cursors;
mod lists;
mod notifications;
mod resources;
mod start;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::Resource;
use mcp_runtime::{Caller, Principal};
use tests::link::Hub;
use tests::{Client, Version};

/// Everybody may.
#[tool(tags("identity"))]
fn look(who: Option<Principal>) -> String {
    who.map_or_else(|| "anonymous".to_owned(), |who| who.subject().to_owned())
}

/// Only known callers may.
#[tool(tags("identity"))]
fn sign(who: &Principal, caller: &Caller) -> String {
    let scopes: Vec<_> = who.scopes().collect();
    assert!(!caller.is_trusted());
    format!("{}: {}", who.subject(), scopes.join(" "))
}

/// Needs two scopes.
#[tool(tags("identity"), scopes("notes:read", "notes:write"))]
fn write_note() -> &'static str {
    "written"
}

/// Needs a scope and asks a question before continuing.
#[tool(tags("identity"), scopes("notes:write"))]
async fn erase(ctx: Context) -> Result<String> {
    let Sure { sure } = ctx.elicit("Sure?").await?;
    Ok(format!("erased: {sure}"))
}

#[derive(Elicit)]
struct Sure {
    sure: bool,
}

/// Is there for the staff.
#[tool(tags("identity"), visible_if = is_staff)]
fn staff_room() -> &'static str {
    "coffee"
}

/// Its visibility cannot be decided.
#[tool(tags("riddle"), visible_if = undecided)]
fn riddle() -> &'static str {
    "solved"
}

fn is_staff(caller: &Caller) -> bool {
    caller.has_scope("staff")
}

fn undecided(_: &Caller) -> bool {
    panic!("who knows?")
}

/// Needs a scope.
#[prompt(tags("identity"), scopes("notes:read"))]
fn summary(#[complete(["all", "new"])] which: String) -> String {
    which
}

/// Is there for the staff.
#[prompt(tags("identity"), visible_if = is_staff)]
fn rota(#[complete(["today", "tomorrow"])] day: String) -> String {
    day
}

#[resource("identity:open", tags("identity"), cache = "public")]
fn open() -> &'static str {
    "open"
}

#[resource(
    "identity:notes",
    tags("identity"),
    scopes("notes:read"),
    cache = "public"
)]
fn notes() -> &'static str {
    "notes"
}

#[resource("identity:staff", tags("identity"), visible_if = is_staff)]
fn staff() -> &'static str {
    "staff"
}

#[resource_template("note:///{id}", tags("identity"), scopes("notes:read"), list = all_notes)]
fn note(#[complete(["1", "2"])] id: u32) -> String {
    format!("note {id}")
}

async fn all_notes() -> Vec<Resource> {
    vec![Resource::new("note:///1", "first")]
}

#[resource_template("rota:///{day}", tags("identity"), visible_if = is_staff, list = all_rotas)]
fn rota_of(#[complete(["today"])] day: String) -> String {
    day
}

async fn all_rotas() -> Vec<Resource> {
    vec![Resource::new("rota:///today", "today")]
}

/// Changes a resource, for those who follow it.
#[tool(tags("identity"))]
fn touch(ctx: Context, uri: &str) {
    ctx.server().notify().resource_updated(uri);
}

pub(crate) fn server() -> Server {
    Server::new("identity", "1")
        .only(Selected::tag("identity"))
        .scope_implies("admin", ["staff", "notes:write"])
        .scope_implies("notes:write", ["notes:read"])
}

/// A caller in the tests.
#[derive(Clone, Copy, Debug)]
enum Identity {
    /// An anonymous caller.
    Anonymous,
    /// The user who started the server.
    Owner,
    /// A principal with these scopes.
    Known(&'static str, &'static [&'static str]),
}

const READER: Identity = Identity::Known("reader", &["notes:read"]);
const WRITER: Identity = Identity::Known("writer", &["notes:write"]);
const STAFF: Identity = Identity::Known("staff", &["staff"]);
const ADMIN: Identity = Identity::Known("admin", &["admin"]);

impl Identity {
    async fn connect(self, hub: &Hub, version: Version) -> Client {
        let mut client = hub.client_as(version, |connection| match self {
            Self::Anonymous => connection,
            Self::Owner => connection.trusted(),
            Self::Known(subject, scopes) => connection.with_principal(
                Principal::new(subject)
                    .with_issuer("tests")
                    .with_scopes(scopes.to_vec()),
            ),
        });
        client.capabilities = super::asking::able();
        client.connect().await
    }
}
