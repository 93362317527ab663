//! Pages of `skills/list` that have already been rendered.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::extension::ExtensionResult;
use crate::handler::handler_error::Result;
use crate::lock::lock;

/// Maximum number of pages that are kept.
const MAX_PAGES: usize = 64;

/// Identifies a page by the skills that its callers see (`None` for all skills; otherwise, `true` for each visible
/// skill) and by the number of skills before the page.
pub(super) type PageKey = (Option<Box<[bool]>>, usize);

/// Pages that have been rendered, which are shared by callers who see the same skills.
#[derive(Debug, Default)]
pub(super) struct RenderedPages(Mutex<HashMap<PageKey, ExtensionResult>>);

impl RenderedPages {
    /// Returns a page, rendering it if necessary.
    ///
    /// # Errors
    ///
    /// Fails with the error of `render`.
    pub(super) fn get(
        &self,
        key: PageKey,
        render: impl FnOnce() -> Result<ExtensionResult>,
    ) -> Result<ExtensionResult> {
        let known = lock(&self.0).get(&key).cloned();
        if let Some(page) = known {
            return Ok(page);
        }
        let page = render()?;
        let mut known = lock(&self.0);
        if known.len() >= MAX_PAGES {
            known.clear();
        }
        known.insert(key, page.clone());
        Ok(page)
    }
}
