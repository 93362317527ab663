//! One page of a list: rendered already, or still to be asked of the listers of templates.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::{Context, List};
use crate::handler::listing::Lister;
use crate::handler::tool_error::ToolError;
use crate::protocol::ProtocolVersion;
use crate::registry::cursor::{Cursor, INNER, Mark, Place};
use crate::registry::entry::{Entry as _, ResourceEntry};
use crate::registry::table::{Table, append};

/// One page of a list.
pub(crate) enum Page {
    /// The text of its members, such as `"tools":[…],"nextCursor":"…"`.
    Ready(Arc<str>),
    /// User code must be asked first; only for `resources/list`.
    Listing(Listing),
}

/// A page of resources whose templates are still to be asked.
pub(crate) struct Listing {
    /// The resources already on the page, with commas between, and how many.
    pub(super) text: String,
    pub(super) count: usize,
    /// Templates to ask, in order.
    pub(super) listers: Vec<(Mark, Arc<dyn Lister>)>,
    /// Where the first of them goes on.
    pub(super) cursor: Option<String>,
    /// What was listed already; not listed again.
    pub(super) listed: Arc<Table<ResourceEntry>>,
    pub(super) size: usize,
    pub(super) version: ProtocolVersion,
}

/// How often a lister may answer with an empty page that is not its last before it counts as faulty.
const EMPTY: usize = 64;

impl Listing {
    /// Asks the listers in turn until the page is full. Gives the text of the members.
    ///
    /// # Errors
    ///
    /// What a lister failed with.
    pub(crate) fn start(
        self,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Result<String, ToolError>> + Send>> {
        Box::pin(self.compose(context))
    }

    async fn compose(mut self, context: Context) -> Result<String, ToolError> {
        let mut empty = 0_usize;
        let mut listers = std::mem::take(&mut self.listers).into_iter().peekable();
        while let Some((mark, lister)) = listers.peek() {
            if self.count >= self.size {
                let place = Place::Within(mark.clone(), self.cursor.take());
                return Ok(self.finish(Some(place)));
            }
            let asked = self.cursor.take();
            let page = lister.list(context.clone(), asked.clone()).await?;
            for resource in page.items {
                if self.listed.get(&resource.uri).is_none() {
                    append(&mut self.text, resource, self.version);
                    self.count = self.count.saturating_add(1);
                }
            }
            match page.next {
                None => {
                    listers.next();
                }
                Some(next) => {
                    if next.len() > INNER {
                        return Err(ToolError::opaque(format!(
                            "a lister's cursor has {} bytes; at most {INNER} fit",
                            next.len()
                        )));
                    }
                    empty = empty.saturating_add(1);
                    if empty > EMPTY || asked.as_ref() == Some(&next) {
                        return Err(ToolError::opaque(
                            "a lister does not come to an end: it goes on without giving resources",
                        ));
                    }
                    if self.count > 0 {
                        let place = Place::Within(mark.clone(), Some(next));
                        return Ok(self.finish(Some(place)));
                    }
                    self.cursor = Some(next);
                }
            }
        }
        Ok(self.finish(None))
    }

    fn finish(&self, next: Option<Place>) -> String {
        let mut text = format!("\"{}\":[{}]", ResourceEntry::MEMBER, self.text);
        if let Some(place) = next {
            let cursor = Cursor {
                list: List::Resources,
                place,
            };
            text.push_str(",\"nextCursor\":\"");
            text.push_str(&cursor.encode());
            text.push('"');
        }
        text
    }
}
