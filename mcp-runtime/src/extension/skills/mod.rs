//! The extension `io.modelcontextprotocol/skills`: instructions for models, with the files that they refer to.
//!
//! It is described with [`Extension`], as an author's own extension would be. `skill` has the rules for one skill,
//! `catalog` the answers about all of them, `folder` reads them from a directory, `watch` reports when it changes, and
//! `live` then replaces them.
//!
//! Specification: the repository `modelcontextprotocol/ext-skills`, version 2026-09-04.

mod catalog;
mod folder;
mod front_matter;
mod live;
mod skill;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::context::{Caller, Capability, Context};
use crate::extension::visibility::KeyVisibility;
use crate::extension::{Extension, ExtensionMethod, ExtensionResult};
use crate::handler::handler_error::{HandlerError, Result};
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::types::CacheScope;
use live::LiveSkills;
pub use skill::Skill;

/// The identifier of the extension.
const ID: &str = "io.modelcontextprotocol/skills";
/// Maximum number of entries on a page.
const PAGE: usize = 100;
/// Maximum length of a cursor or URI in a request, in bytes.
const MAX_TEXT: usize = 8 << 10;

/// Skills to serve, for [`Server::skills`](crate::Server::skills).
///
/// ```no_run
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::skills::Skills;
///
/// let server = new_server!().skills(Skills::dir("skills"));
/// ```
///
/// Each skill is a directory with a `SKILL.md`, which begins with front matter in YAML that has a `name` (the name of the
/// directory) and a `description`. Clients list skills with `skills/list`, and read their files as resources whose URIs
/// begin with `skill://`. Every entry has the digest and size of each file, and the bytes that a client reads always match
/// the entry. Only clients that use 2026-07-28 see the extension; the resources are served in every version.
///
/// Source: the extension `io.modelcontextprotocol/skills`.
#[derive(Default)]
#[must_use = "skills do nothing unless they are given to a server"]
pub struct Skills {
    in_memory: Vec<Skill>,
    directories: Vec<PathBuf>,
    visible_if: KeyVisibility,
    ttl: Duration,
}

impl Skills {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves the skills below a directory, which is watched while the server runs. See [`directory`](Self::directory).
    pub fn dir(path: impl Into<PathBuf>) -> Self {
        Self::new().directory(path)
    }

    /// Adds the skills below a directory. Start-up fails if one of them is invalid.
    ///
    /// The directory is watched. When a file changes, its skill is read and checked as a whole, so digests and contents
    /// change together, and clients are notified. A skill that has become invalid stays as it was, and so does one whose
    /// path another skill takes; an error is logged. A skill whose `SKILL.md` is gone is removed.
    /// Hidden files are left out; links and names that are not UTF-8 make a skill invalid.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directories.push(path.into());
        self
    }

    /// Adds a skill that is held in memory.
    pub fn skill(mut self, skill: Skill) -> Self {
        self.in_memory.push(skill);
        self
    }

    /// Shows a skill, identified by its path, only to callers for whom the function returns `true`. To others, it and its
    /// files do not exist. By default, every caller sees every skill.
    ///
    /// The function runs for one skill or more in every request for skills or their files, and when a skill changes, so
    /// it must not block. If it panics, the skill is hidden.
    pub fn visible_if(
        mut self,
        visible_if: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible_if = KeyVisibility::new(visible_if);
        self
    }

    /// Sets how long clients may cache entries. Defaults to zero.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Converts the collection into an extension.
    pub(crate) fn into_extension(self) -> Extension {
        let ttl = self.ttl;
        let scope = if self.visible_if.is_restricted() {
            CacheScope::Private
        } else {
            CacheScope::Public
        };
        let live = LiveSkills::new(self.visible_if);
        let (list, get, read) = (Arc::clone(&live), Arc::clone(&live), Arc::clone(&live));
        let (skills, directories) = (self.in_memory, self.directories);
        Extension::new(ID)
            .settings(json!({"directoryRead": true}))
            .since(ProtocolVersion::OLDEST_MODERN)
            .needs_declaration(false)
            .capability(Capability::Resources)
            .setup(move |server| live.start(skills, directories, server))
            .method(ExtensionMethod::new(
                "skills/list",
                move |params: ListParams, ctx: Context| {
                    let page = list.list(ctx.caller(), params.cursor.as_deref(), PAGE);
                    async move { Ok::<_, HandlerError>(page?.cached(ttl, scope)) }
                },
            ))
            .method(ExtensionMethod::new(
                "skills/get",
                move |params: UriParams, ctx: Context| {
                    let entry = get.entry(ctx.caller(), &params.uri);
                    async move { Ok::<_, HandlerError>(entry?.cached(ttl, scope)) }
                },
            ))
            .method(ExtensionMethod::new(
                "resources/directory/read",
                move |params: UriParams, ctx: Context| {
                    let page = read.children(ctx.caller(), &params, PAGE);
                    async move { page }
                },
            ))
    }
}

impl std::fmt::Debug for Skills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skills")
            .field("in_memory", &self.in_memory.len())
            .field("directories", &self.directories)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct ListParams {
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct UriParams {
    uri: String,
    cursor: Option<String>,
}

/// Returns the path or URI after which a page begins. Cursors have a prefix, so that those of other lists are refused.
fn after<'c>(list: &str, cursor: Option<&'c str>) -> Result<Option<&'c str>> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let after = cursor
        .strip_prefix(list)
        .filter(|_| cursor.len() <= MAX_TEXT);
    let after = after.and_then(|rest| rest.strip_prefix(':'));
    after
        .map(Some)
        .ok_or_else(|| invalid("the cursor does not belong to this list; start again without one"))
}

/// Creates error -32602.
fn invalid(message: &str) -> HandlerError {
    HandlerError::protocol(ErrorObject::invalid_params(message))
}

/// Creates a result with a list and the cursor for the next page.
fn page(name: &str, list: &str, page: catalog::CatalogPage) -> Result<ExtensionResult> {
    let mut members = serde_json::Map::new();
    members.insert(name.to_owned(), page.items.into());
    if let Some(next) = page.next_cursor {
        members.insert("nextCursor".to_owned(), format!("{list}:{next}").into());
    }
    ExtensionResult::new(members)
}
