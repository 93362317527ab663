//! How a resource template says which resources it has: `list = function`.

use std::future::Future;
use std::pin::Pin;

use crate::context::Context;
use crate::handler::tool_error::ToolError;
use crate::types::Resource;

/// Lists the resources of a template, a page at a time.
pub trait Lister: Send + Sync + std::fmt::Debug {
    /// The page after `cursor`, or the first one. Decodes nothing from the client but the cursor it gave out itself.
    fn list(
        &self,
        context: Context,
        cursor: Option<String>,
    ) -> Pin<Box<dyn Future<Output = Result<Page<Resource>, ToolError>> + Send>>;
}

/// A part of a list, and where to go on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What gives the next page; `None` on the last one.
    pub next: Option<String>,
}
