//! Answers the extension's requests and reads files. Each caller is served only the skills that it may see.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use mcp_schema::template::normal_uri;
use notify::RecommendedWatcher;
use serde_json::json;

use crate::context::Context;
use crate::extension::ExtensionResult;
use crate::extension::skills::FindSkills;
use crate::extension::skills::catalog::{Catalog, Sight};
use crate::extension::skills::skill::{ServedFile, ServedSkill};
use crate::handler::extension::KeyVisibility;
use crate::handler::handler_error::{HandlerError, Result};
use crate::jsonrpc::ErrorObject;
use crate::types::ResourceContents;

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
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&catalog)
    }

    pub(super) fn replace_catalog(&self, catalog: Arc<Catalog>) {
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
