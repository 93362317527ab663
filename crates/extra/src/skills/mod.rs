//! The extension `io.modelcontextprotocol/skills`: instructions for models, with the files to which they refer.
//!
//! The extension is described with [`Extension`], like an author's own extension. The rules for a skill are in
//! [`mcp_skills`]; `skills!` applies the same rules at compile time. `catalog` contains all
//! skills as clients see them, and `live` replaces them when a directory changes. This file answers requests.
//!
//! Specification: the repository `modelcontextprotocol/ext-skills`, version 2026-09-04.

mod catalog;
mod live;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
pub use catalog::Skill;
use mcp_core::context::{Caller, Capability, Context, ServerHandle};
use mcp_core::dispatch::{ServerAddOn, ServerParts};
use mcp_core::extension::{Extension, ExtensionMethod, ExtensionResult};
use mcp_core::handler::extension::KeyVisibility;
use mcp_core::handler::handler_error::{HandlerError, IntoHandlerError, Result};
use mcp_protocol::ProtocolVersion;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_protocol::types::{CacheScope, ResourceContents};
use mcp_schema::template::normal_uri;
use mcp_skills::skill::{CheckedSkill, CheckedSkillFile};
use notify::RecommendedWatcher;
use serde::Deserialize;
use serde_json::json;

use crate::skills::catalog::{Catalog, ServedFile, ServedSkill, Sight};

/// The identifier of the extension.
pub const ID: &str = "io.modelcontextprotocol/skills";

/// Skills to serve, for `Server::with`.
///
/// ```no_run
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::skills::Skills;
///
/// let server = new_server!().with(Skills::dir("skills"));
/// ```
///
/// Each skill is a directory with a `SKILL.md`, which begins with YAML front matter that contains a `name` (the
/// directory's name) and a `description`. Clients list skills with `skills/list` and read their files as resources
/// whose URIs begin with `skill://`. Every entry contains the digest and size of each file, and the bytes that a client
/// reads always match the entry. Only clients that use 2026-07-28 see the extension; the resources are served in every
/// version.
///
/// | Skills that are | use |
/// |---|---|
/// | part of the program, and checked when it is compiled | `skills!` |
/// | read when the server starts, and again when they change | [`dir`](Self::dir) |
/// | created by the program | [`skill`](Self::skill) |
/// | found for each request | [`dynamic`](Self::dynamic) |
///
/// Source: the extension `io.modelcontextprotocol/skills`.
#[derive(Default)]
#[must_use = "skills do nothing unless they are given to a server"]
pub struct Skills {
    in_memory: Vec<Skill>,
    compiled: Vec<Arc<ServedSkill>>,
    directories: Vec<PathBuf>,
    functions: Vec<Box<FindSkills>>,
    visible_if: KeyVisibility,
    ttl: Duration,
}

/// A function that returns the skills for a request.
type FindSkills =
    dyn Fn(Context) -> Pin<Box<dyn Future<Output = Result<Vec<Skill>>> + Send>> + Send + Sync;

impl ServerAddOn for Skills {
    fn add_to(self, parts: &mut ServerParts) {
        parts.extensions.push(self.into_extension());
    }
}

impl Skills {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves the skills in a directory and its subdirectories, which are watched while the server runs. See
    /// [`directory`](Self::directory).
    pub fn dir(path: impl Into<PathBuf>) -> Self {
        Self::new().directory(path)
    }

    /// Adds the skills in a directory and its subdirectories. Start-up fails if any skill is invalid, or if a directory
    /// that neither is a skill nor contains one has files in it.
    ///
    /// The directory is watched. When a file changes, its skill is read and checked as a whole, so digests and contents
    /// change together, and clients are notified. If a skill becomes invalid, or another skill takes its path, the
    /// previous version remains in use and an error is logged. A skill whose `SKILL.md` no longer exists is removed.
    /// Hidden files are omitted; links and names that are not UTF-8 make a skill invalid.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directories.push(path.into());
        self
    }

    /// Adds a skill that is held in memory.
    pub fn skill(mut self, skill: Skill) -> Self {
        self.in_memory.push(skill);
        self
    }

    /// Adds the skills that a function returns for each request's caller. These skills are used for the list, for
    /// `skills/get`, for directories, and for files that do not belong to any other skill. They do not appear in
    /// `resources/list`.
    ///
    /// ```
    /// use mcp_runtime::Context;
    /// use mcp_runtime::skills::{Skill, Skills};
    ///
    /// async fn of_team(ctx: Context) -> mcp_runtime::Result<Vec<Skill>> {
    ///     let team = ctx.principal().map_or("everybody", |principal| principal.subject());
    ///     let text = format!("---\nname: on-call\ndescription: Duties of {team}\n---\n");
    ///     Ok(vec![Skill::new("on-call", text)])
    /// }
    ///
    /// let skills = Skills::new().dynamic(of_team);
    /// ```
    ///
    /// A skill is checked and hashed each time, unless the function returns a clone of a skill that it keeps. A skill
    /// that is invalid, or whose path belongs to another skill in this collection, is omitted and an error is logged.
    /// If the function fails, the request fails.
    pub fn dynamic<F, A, E>(mut self, find: F) -> Self
    where
        F: Fn(Context) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Vec<Skill>, E>> + Send + 'static,
        E: IntoHandlerError,
    {
        self.functions.push(Box::new(move |ctx| {
            let found = find(ctx);
            Box::pin(async move { found.await.map_err(IntoHandlerError::into_handler_error) })
        }));
        self
    }

    /// Shows a skill, identified by its path, only to callers for whom the function returns `true`. For all other
    /// callers, the skill and its files do not exist. By default, every caller sees every skill.
    ///
    /// The function runs for one or more skills in every request for skills or their files, and when a skill changes,
    /// so it must not block. If it panics, the skill is hidden.
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

    fn into_extension(self) -> Extension {
        let ttl = self.ttl;
        let scope = if self.visible_if.is_restricted() || !self.functions.is_empty() {
            CacheScope::Private
        } else {
            CacheScope::Public
        };
        let live = LiveSkills::new(self.functions, self.visible_if);
        let needs_no_state = live.needs_no_state();
        let method = |method: ExtensionMethod| {
            let method = method.built_in();
            if needs_no_state {
                method.without_state()
            } else {
                method
            }
        };
        let (list, get, read) = (Arc::clone(&live), Arc::clone(&live), Arc::clone(&live));
        let (in_memory, compiled, directories) = (self.in_memory, self.compiled, self.directories);
        let start = move |server: &ServerHandle| {
            live.start(checked(&in_memory, compiled), directories, server)
        };
        Extension::new(ID)
            .settings(json!({"directoryRead": true}))
            .since(ProtocolVersion::OLDEST_MODERN)
            .needs_declaration(false)
            .capability(Capability::Resources)
            .setup(start)
            .method(method(ExtensionMethod::new(
                "skills/list",
                move |params: ListParams, ctx: Context| {
                    let live = Arc::clone(&list);
                    async move {
                        let page = live.list(&ctx, params.cursor.as_deref()).await;
                        page.map(|page| page.cached(ttl, scope))
                    }
                },
            )))
            .method(method(ExtensionMethod::new(
                "skills/get",
                move |params: UriParams, ctx: Context| {
                    let live = Arc::clone(&get);
                    async move {
                        let entry = live.get(&ctx, &params.uri).await;
                        entry.map(|entry| entry.cached(ttl, scope))
                    }
                },
            )))
            .method(method(ExtensionMethod::new(
                "resources/directory/read",
                move |params: UriParams, ctx: Context| {
                    let live = Arc::clone(&read);
                    async move {
                        let cursor = params.cursor.as_deref();
                        live.children(&ctx, (&params.uri, cursor)).await
                    }
                },
            )))
    }
}

/// Checks the skills in memory. Returns these skills together with those that were checked at compile time, and a
/// message for each mistake.
fn checked(
    in_memory: &[Skill],
    mut compiled: Vec<Arc<ServedSkill>>,
) -> (Vec<Arc<ServedSkill>>, Vec<String>) {
    let mut problems = Vec::new();
    for skill in in_memory {
        match skill.served() {
            Ok(skill) => compiled.push(skill),
            Err(found) => problems.extend(found.iter().map(ToString::to_string)),
        }
    }
    (compiled, problems)
}

impl std::fmt::Debug for Skills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skills")
            .field("in_memory", &self.in_memory)
            .field("compiled", &self.compiled.len())
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

// --- Answers the extension's requests and reads files. Each caller is served only the skills that it may see.

/// Maximum length of a cursor or URI in a request, in bytes.
const MAX_TEXT: usize = 8 << 10;

/// A running server's skills.
pub(super) struct LiveSkills {
    /// The skills that are the same for all requests, until a directory changes.
    catalog: RwLock<Arc<Catalog>>,
    /// Functions that return further skills for each request.
    functions: Vec<Box<FindSkills>>,
    pub(super) visible_if: KeyVisibility,
    /// Watches the directories. Dropping the watcher ends the thread that handles changes to the directories.
    watcher: OnceLock<RecommendedWatcher>,
}

impl LiveSkills {
    pub(super) fn new(functions: Vec<Box<FindSkills>>, visible_if: KeyVisibility) -> Arc<Self> {
        Arc::new(Self {
            catalog: RwLock::default(),
            functions,
            visible_if,
            watcher: OnceLock::new(),
        })
    }

    /// Returns the skills that are the same for all requests.
    fn catalog(&self) -> Arc<Catalog> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&catalog)
    }

    fn replace_catalog(&self, catalog: Arc<Catalog>) {
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog;
    }

    /// Watches directories for as long as these skills are served.
    pub(super) fn keep_watcher(&self, watcher: RecommendedWatcher) {
        let _ = self.watcher.set(watcher);
    }

    /// Returns a page of the result of `skills/list`.
    pub(super) async fn list(
        &self,
        ctx: &Context,
        cursor: Option<&str>,
    ) -> Result<ExtensionResult> {
        let after = after("skills", cursor)?;
        let catalog = self.all(ctx).await?;
        self.see(ctx, |sight| catalog.list(after, sight))
    }

    /// Returns `true` unless functions of the author run, which may take state from their context.
    pub(super) fn needs_no_state(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns the result of `skills/get`.
    pub(super) async fn get(&self, ctx: &Context, uri: &str) -> Result<ExtensionResult> {
        let uri = normal_uri(uri);
        let entry = self.find(ctx, |catalog, sight| catalog.entry(&uri, sight).cloned());
        let entry = entry.await?;
        let entry = entry.ok_or_else(|| invalid("no skill has this URI"))?;
        ExtensionResult::new(json!({ "skill": entry }))
    }

    /// Returns a page of the result of `resources/directory/read`.
    pub(super) async fn children(
        &self,
        ctx: &Context,
        (uri, cursor): (&str, Option<&str>),
    ) -> Result<ExtensionResult> {
        let after = after("directory", cursor)?;
        let catalog = self.all(ctx).await?;
        let page = self.see(ctx, |sight| {
            let uri = Some(uri).filter(|uri| uri.len() <= MAX_TEXT)?;
            catalog.children(&normal_uri(uri), after, sight)
        });
        page.unwrap_or_else(|| Err(invalid("no directory has this URI")))
    }

    /// Returns the contents of the file at a path.
    pub(super) async fn read(&self, ctx: &Context, path: &str) -> Result<ResourceContents> {
        let file = self.find(ctx, |catalog, sight| catalog.file(path, sight).cloned());
        let file = file.await?.ok_or_else(HandlerError::resource_not_found)?;
        Ok(contents(&file))
    }

    /// Searches the skills that are the same for all requests and, if there is no match, the skills that functions
    /// return.
    async fn find<T>(
        &self,
        ctx: &Context,
        look_up: impl Fn(&Catalog, Sight<'_>) -> Option<T>,
    ) -> Result<Option<T>> {
        let catalog = self.catalog();
        let found = self.see(ctx, |sight| look_up(&catalog, sight));
        if found.is_some() || self.functions.is_empty() {
            return Ok(found);
        }
        let catalog = self.all(ctx).await?;
        Ok(self.see(ctx, |sight| look_up(&catalog, sight)))
    }

    /// Returns the skills for this request, including those that functions return.
    ///
    /// A skill returned by a function is omitted if it is invalid or if another skill already has its path.
    async fn all(&self, ctx: &Context) -> Result<Arc<Catalog>> {
        let fixed = self.catalog();
        if self.functions.is_empty() {
            return Ok(fixed);
        }
        let mut all = fixed.copy();
        for function in &self.functions {
            for skill in function(ctx.clone()).await? {
                let added = skill.served().map_err(|problems| {
                    let problems = problems.iter().map(ToString::to_string);
                    problems.collect::<Vec<_>>().join("; ")
                });
                if let Err(problem) = added.and_then(|skill| all.insert(skill)) {
                    tracing::error!(problem, "a skill returned by a function was skipped");
                }
            }
        }
        Ok(Arc::new(all))
    }

    /// Calls a function with the caller's view of the skills.
    fn see<T>(&self, ctx: &Context, look: impl FnOnce(Sight<'_>) -> T) -> T {
        if !self.visible_if.is_restricted() {
            return look(None);
        }
        let is_visible =
            |skill: &ServedSkill| self.visible_if.is_visible_to(ctx.caller(), &skill.path);
        look(Some(&is_visible))
    }
}

fn contents(file: &ServedFile) -> ResourceContents {
    let contents = match std::str::from_utf8(&file.contents) {
        Ok(text) => ResourceContents::text(file.uri.clone(), text),
        Err(_) => ResourceContents::blob(file.uri.clone(), &file.contents),
    };
    contents.with_mime_type(file.mime_type)
}

/// Returns the path or URI after which a page begins. Cursors have a prefix, so cursors from other lists are rejected.
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

// --- Skills that are part of the program, as generated by `skills!`.

/// A skill that was checked when the program was compiled.
#[derive(Clone, Copy, Debug)]
pub struct CompiledSkill {
    /// The path of the skill.
    pub path: &'static str,
    /// The front matter, in JSON.
    pub front_matter: &'static str,
    /// The files, sorted by path.
    pub files: &'static [CompiledSkillFile],
}

/// A file of a skill that was checked when the program was compiled.
#[derive(Clone, Copy, Debug)]
pub struct CompiledSkillFile {
    /// The path relative to the skill.
    pub path: &'static str,
    /// The digest of the contents.
    pub digest: &'static str,
    /// The bytes.
    pub contents: &'static [u8],
}

/// Returns the contents of a file that had `SIZE` bytes when the macro read it. If the file's size changes before the
/// compiler reads it again, compilation fails, because the digest would be wrong.
#[must_use]
pub const fn skill_contents<const SIZE: usize>(contents: &'static [u8; SIZE]) -> &'static [u8] {
    contents
}

/// Returns skills that were checked when the program was compiled. Only the front matter is parsed again, and files are
/// not hashed again.
pub fn compiled_skills(skills: &'static [CompiledSkill]) -> Skills {
    Skills {
        compiled: skills.iter().map(serve).collect(),
        ..Skills::default()
    }
}

fn serve(skill: &CompiledSkill) -> Arc<ServedSkill> {
    let files = skill.files.iter().map(|file| CheckedSkillFile {
        path: file.path.to_owned(),
        contents: Bytes::from_static(file.contents),
        digest: file.digest.to_owned(),
    });
    Arc::new(ServedSkill::new(CheckedSkill {
        path: skill.path.to_owned(),
        front_matter: serde_json::from_str(skill.front_matter).unwrap_or_default(),
        files: files.collect(),
    }))
}
