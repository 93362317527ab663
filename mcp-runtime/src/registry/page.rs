//! A page of a list, which is either already rendered or waiting for the templates' listers.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::context::{Capability, Context};
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::rules;
use crate::protocol::ProtocolVersion;
use crate::registry::callable::{TemplateLister, append_item};
use crate::registry::cursor::{Cursor, CursorPosition, CursorReader, CursorSeal, INNER, ItemMark};
use crate::registry::table::CallableTable;

/// One page of a list.
pub(crate) enum ListPage {
    /// The JSON text of the page's members, such as `"tools":[…],"nextCursor":"…"`.
    Ready(Bytes),
    /// User code must run first. This occurs only for `resources/list`.
    Listing(Arc<PartialPage>),
}

/// A page of resources that remains incomplete until its templates' listers have run.
pub(crate) struct PartialPage {
    /// The resources already on the page, as comma-separated JSON, and their number.
    pub(super) text: String,
    pub(super) count: usize,
    /// The templates whose listers must run, in order.
    pub(super) listers: Vec<(ItemMark, TemplateWithLister)>,
    /// The cursor to pass to the first lister.
    pub(super) cursor: Option<String>,
    /// The key of the caller who may use the page's cursors.
    pub(super) caller: String,
    /// Seals the page's cursors.
    pub(super) seal: Arc<dyn CursorSeal>,
    /// The resources that have their own definitions, which are not listed again if a lister also returns them.
    pub(super) listed: Arc<CallableTable>,
    pub(super) size: usize,
    pub(super) version: ProtocolVersion,
}

/// A template that has a lister for its resources.
pub(super) struct TemplateWithLister {
    pub(super) uri_template: Arc<str>,
    pub(super) lister: TemplateLister,
}

impl TemplateWithLister {
    /// Adds the template's name to an error from its lister.
    fn record_failure(&self, failure: HandlerError) -> HandlerError {
        let listing = format!("listing the resources of `{}`", self.uri_template);
        with_origin(failure, listing)
    }
}

/// Adds what was being done to an error from a lister or source. Hidden causes remain hidden.
pub(crate) fn with_origin(failure: HandlerError, doing: String) -> HandlerError {
    HandlerError(match failure.0 {
        HandlerErrorRepr::Exposed(text) | HandlerErrorRepr::ResourceNotFound(Some(text)) => {
            HandlerErrorRepr::Exposed(format!("{doing}: {text}"))
        }
        HandlerErrorRepr::ResourceNotFound(None) => {
            HandlerErrorRepr::Exposed(format!("{doing}: there is no such resource"))
        }
        HandlerErrorRepr::Opaque(source) => {
            HandlerErrorRepr::Opaque(Box::new(OriginFailure { doing, source }))
        }
        other @ (HandlerErrorRepr::Protocol(_)
        | HandlerErrorRepr::Busy(_)
        | HandlerErrorRepr::Reauthorize(_)
        | HandlerErrorRepr::Arguments(_)
        | HandlerErrorRepr::Unwritable(_)) => other,
    })
}

/// An error from a lister or source, for the log.
#[derive(Debug)]
struct OriginFailure {
    doing: String,
    source: Box<dyn StdError + Send + Sync>,
}

impl fmt::Display for OriginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.doing)
    }
}

impl StdError for OriginFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}

/// Maximum number of empty pages with a cursor that a lister or source may return before it is considered faulty.
const EMPTY: usize = 64;

/// The pages of listers or sources from which one page is put together, and which must end.
#[derive(Default)]
pub(crate) struct PageWalk {
    empty: usize,
}

impl PageWalk {
    /// Notes that the page at `at` has a `next` page.
    ///
    /// # Errors
    ///
    /// Returns the problem if the cursor is longer than `max` bytes or the pages seem to have no end.
    pub(crate) fn step(&mut self, at: Option<&str>, next: &str, max: usize) -> Result<(), String> {
        if next.len() > max {
            let size = next.len();
            return Err(format!(
                "a cursor is {size} bytes long, but the maximum is {max}"
            ));
        }
        self.empty = self.empty.saturating_add(1);
        if self.empty > EMPTY || at == Some(next) {
            return Err("the list never ends: its pages continue but contain no items".into());
        }
        Ok(())
    }
}

impl PartialPage {
    /// Runs the listers one after another until the page is full. Returns the JSON text of the page's members.
    ///
    /// # Errors
    ///
    /// Returns an error if a lister fails.
    pub(crate) fn start_composing(
        self: Arc<Self>,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Result<String, HandlerError>> + Send>> {
        Box::pin(async move { self.compose_page(context).await })
    }

    async fn compose_page(&self, context: Context) -> Result<String, HandlerError> {
        let (mut text, mut count) = (self.text.clone(), self.count);
        let mut cursor = self.cursor.clone();
        let mut walk = PageWalk::default();
        let mut listers = self.listers.iter().peekable();
        while let Some((mark, template)) = listers.peek() {
            if count >= self.size {
                let position = CursorPosition::Within(mark.clone(), cursor);
                return Ok(self.finish(&text, Some(position)));
            }
            let asked = cursor.take();
            let page = template.lister.list(context.clone(), asked.clone());
            let page = page
                .await
                .map_err(|failure| template.record_failure(failure))?;
            for mut resource in page.items {
                if let Err(problem) = rules::uri(&resource.uri).into_result() {
                    tracing::error!(
                        name = resource.name,
                        problem,
                        "a listed resource was skipped"
                    );
                    continue;
                }
                if let Cow::Owned(normal) = Capability::Resources.lookup_key(&resource.uri) {
                    resource.uri = normal;
                }
                if self.listed.get(&resource.uri).is_none() {
                    append_item(&mut text, resource, self.version);
                    count = count.saturating_add(1);
                }
            }
            match page.next {
                None => {
                    listers.next();
                }
                Some(next) => {
                    let step = walk.step(asked.as_deref(), &next, INNER);
                    step.map_err(|problem| template.record_failure(HandlerError::opaque(problem)))?;
                    if count > 0 {
                        let position = CursorPosition::Within(mark.clone(), Some(next));
                        return Ok(self.finish(&text, Some(position)));
                    }
                    cursor = Some(next);
                }
            }
        }
        Ok(self.finish(&text, None))
    }

    fn finish(&self, items: &str, next: Option<CursorPosition>) -> String {
        let list = Capability::Resources;
        let mut text = format!("\"{}\":[{items}]", list.member());
        if let Some(position) = next {
            let cursor = Cursor { list, position };
            text.push_str(",\"nextCursor\":\"");
            let reader = CursorReader {
                seal: &*self.seal,
                caller: &self.caller,
                // What listers return may depend on the caller even if the definitions do not.
                is_shared: false,
            };
            text.push_str(&cursor.encode(reader));
            text.push('"');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Caller, EditStep};
    use crate::handler::dynamic::{DynamicItem, DynamicTemplate, ItemKind as _};
    use crate::handler::listing;
    use crate::registry::fixture::{Closed, change, context, early, page, resource, test_seal};
    use crate::registry::{Registry, Sources};
    use crate::types::Resource;

    /// A template that lists these pages of resources and uses page numbers as cursors.
    fn template(uri: &str, pages: &'static [&'static [&'static str]]) -> DynamicItem {
        DynamicTemplate::new(uri, uri, |_, _| async { Closed })
            .list(move |_, cursor| async move {
                let number: usize = match cursor {
                    None => 0,
                    Some(cursor) => cursor.parse().map_err(|_| "no page number")?,
                };
                let items = pages[number].iter().map(|uri| Resource::new(*uri, *uri));
                Ok(listing::Page {
                    items: items.collect(),
                    next: (number + 1 < pages.len()).then(|| (number + 1).to_string()),
                })
            })
            .into_item()
    }

    fn registry(resources: &[&str], templates: Vec<DynamicItem>, page_size: usize) -> Registry {
        Registry::build(Sources {
            only: Some(Vec::new()),
            early: early(
                resources
                    .iter()
                    .map(|uri| resource(uri).into_item())
                    .chain(templates),
            ),
            page_size,
            ..Sources::default()
        })
        .unwrap()
    }

    fn walk(registry: &Registry) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let (items, next) = page(
                &registry.snapshot(),
                Capability::Resources,
                cursor.as_deref(),
            );
            pages.push(items);
            cursor = next;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn listed_resources_follow_those_with_an_address_of_their_own() {
        let listers = || {
            vec![
                template("b:{x}", &[&["b:1", "b:2"], &["b:3"]]),
                template("c:{x}", &[&["c:1"]]),
            ]
        };
        for (resources, page_size, pages) in [
            (
                &["a:1"][..],
                1_000,
                vec![vec!["a:1", "b:1", "b:2"], vec!["b:3", "c:1"]],
            ),
            (
                &["a:1", "a:2", "a:3"][..],
                2,
                vec![
                    vec!["a:1", "a:2"],
                    vec!["a:3", "b:1", "b:2"],
                    vec!["b:3", "c:1"],
                ],
            ),
            (
                &["a:1"][..],
                1,
                vec![vec!["a:1"], vec!["b:1", "b:2"], vec!["b:3"], vec!["c:1"]],
            ),
            (&[][..], 2, vec![vec!["b:1", "b:2"], vec!["b:3", "c:1"]]),
        ] {
            assert_eq!(walk(&registry(resources, listers(), page_size)), pages);
        }
    }

    #[test]
    fn what_is_no_address_is_left_out_of_a_list() {
        let listers = vec![template("b:{x}", &[&["b:1", "b:olive oil", "b", "b:2"]])];
        assert_eq!(walk(&registry(&[], listers, 10)), [["b:1", "b:2"]]);
    }

    #[test]
    fn empty_pages_of_a_lister_are_passed_over() {
        let listers = vec![template("b:{x}", &[&[], &[], &["b:1"], &[]])];
        assert_eq!(
            walk(&registry(&[], listers, 10)),
            [vec!["b:1".to_owned()], vec![]]
        );
    }

    #[test]
    fn a_resource_is_not_listed_twice() {
        let listers = vec![template("a:{x}", &[&["a:1", "a:2"]])];
        assert_eq!(
            walk(&registry(&["a:1"], listers, 10)),
            [["a:1", "a:2"].map(str::to_owned)]
        );
    }

    #[test]
    fn a_walk_goes_on_after_a_template_that_is_gone() {
        let listers = vec![
            template("b:{x}", &[&["b:1"], &["b:2"]]),
            template("c:{x}", &[&["c:1"]]),
        ];
        let registry = registry(&[], listers, 10);
        let (_, next) = page(&registry.snapshot(), Capability::Resources, None);
        change(
            &registry,
            Capability::Templates,
            vec![EditStep::Remove("b:{x}".into())],
        );
        let (items, _) = page(&registry.snapshot(), Capability::Resources, next.as_deref());
        assert_eq!(items, ["c:1"]);
        change(
            &registry,
            Capability::Templates,
            vec![EditStep::Remove("c:{x}".into())],
        );
        let end = page(&registry.snapshot(), Capability::Resources, next.as_deref());
        assert_eq!(end, (vec![], None));
    }

    #[test]
    fn a_lister_that_never_ends_or_says_too_much_fails() {
        let endless = |next: fn(Option<String>) -> String| {
            DynamicTemplate::new("b:{x}", "b", |_, _| async { Closed })
                .list(move |_, cursor| async move {
                    Ok(listing::Page {
                        items: Vec::new(),
                        next: Some(next(cursor)),
                    })
                })
                .into_item()
        };
        for next in [
            (|_| "x".repeat(INNER + 1)) as fn(Option<String>) -> String,
            |_| "same".into(),
            |cursor| cursor.unwrap_or_default() + "x",
        ] {
            let registry = registry(&[], vec![endless(next)], 10);
            let version = crate::registry::fixture::MODERN;
            let Ok(ListPage::Listing(listing)) = registry
                .snapshot()
                .seen_by(&Caller::trusted())
                .page(Capability::Resources, version, None, &test_seal())
            else {
                panic!("there is a lister");
            };
            let listed = futures_util::FutureExt::now_or_never(listing.start_composing(context()));
            assert!(listed.unwrap().is_err());
        }
    }
}
