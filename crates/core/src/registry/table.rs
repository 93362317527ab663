//! The callables in a list, which can be looked up by name and are kept in a stable order. List pages are rendered only
//! once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use mcp_schema::template::normal_uri;

use crate::context::{Capability, Context};
use crate::fnv::{FnvMap, fnv};
use crate::handler::definition::Kind;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::rules;
use crate::order;
use crate::order::set_of;
use crate::protocol::ProtocolVersion;
use crate::registry::callable::{Callable, TemplateLister, append_item, push_item};
use crate::registry::cursor::{
    Cursor, CursorPosition, CursorReader, CursorSeal, INNER, ItemMark, OrderKey, fingerprint,
};

/// A callable and its position.
#[derive(Clone, Debug)]
pub(crate) struct TableSlot {
    pub(crate) key: OrderKey,
    pub(crate) callable: Arc<Callable>,
    pub(crate) enabled: bool,
    /// `false` if the server's own tag selection excludes the callable.
    pub(crate) selected: bool,
}

impl TableSlot {
    /// Returns `true` if the callable is enabled and selected, so that callers who may see it can use it.
    pub(crate) fn is_served(&self) -> bool {
        self.enabled && self.selected
    }
}

/// All callables in a list. A table is immutable; an edit creates a new table.
#[derive(Debug)]
pub(crate) struct CallableTable {
    list: Capability,
    /// The callables, in order.
    slots: Vec<TableSlot>,
    /// Maps names to indexes in `slots`.
    names: FnvMap<Arc<str>, usize>,
    /// The indexes in `slots` of the callables that are served.
    visible: Vec<usize>,
    /// The URIs of the resources that belong to tools, in order, with the indexes of the tools in `slots`.
    companions: Vec<(Box<str>, usize)>,
    /// `true` if any selected callable has access rules.
    restricted: bool,
    /// `true` if the list is declared. A list is declared if it contains, has contained or may later contain callables,
    /// including disabled callables.
    offered: bool,
    /// The tags of all callables, whether or not they are served.
    tags: BTreeSet<Box<str>>,
    /// `true` if an argument of any callable has or has had completions.
    completed: bool,
    /// The number of callables with arguments that are mirrored in HTTP headers.
    mirroring: usize,
    /// The served items, rendered for each protocol version. Used for requests that see only some of the items.
    items: [OnceLock<Box<[Arc<str>]>>; ProtocolVersion::ALL.len()],
    /// The pages, rendered for each protocol version and page number. Only pages that start at a multiple of the page
    /// size are kept.
    pages: [OnceLock<Pages>; ProtocolVersion::ALL.len()],
    /// A hash of the served items.
    digest: OnceLock<u64>,
}

type Pages = Box<[OnceLock<Bytes>]>;

impl CallableTable {
    /// Creates a table from the given callables, which can be in any order. Names must be unique: if several callables
    /// share a name, all but one of them are lost. An empty list is declared only if `offered` is `true`.
    pub(crate) fn new(list: Capability, mut slots: Vec<TableSlot>, offered: bool) -> Self {
        order::sort_by(&mut slots, |one, other| one.key.cmp(&other.key));
        let names = slots
            .iter()
            .enumerate()
            .map(|(index, slot)| (Arc::clone(&slot.callable.name), index))
            .collect();
        let visible = slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.is_served())
            .map(|(index, _)| index)
            .collect();
        let mut companions: Vec<(Box<str>, usize)> = Vec::new();
        for (index, slot) in slots.iter().enumerate() {
            if let Some(uri) = slot.callable.tool_use().companion {
                let uri = Capability::Resources.lookup_key(uri);
                companions.push((uri.into(), index));
            }
        }
        order::sort_by(&mut companions, Ord::cmp);
        let mut selected = slots.iter().filter(|slot| slot.selected);
        let restricted = selected.any(|slot| slot.callable.access.is_restricted());
        let mut callables = slots.iter().map(|slot| &slot.callable);
        let tags = callables.clone().flat_map(|callable| &callable.tags);
        Self {
            list,
            offered: offered || !slots.is_empty(),
            tags: set_of(tags.cloned()),
            mirroring: callables
                .clone()
                .filter(|callable| !callable.handler.headers().is_empty())
                .count(),
            completed: callables.any(|callable| callable.completions.has_any()),
            slots,
            names,
            visible,
            companions,
            restricted,
            items: Default::default(),
            pages: Default::default(),
            digest: OnceLock::new(),
        }
    }

    /// Creates the table that replaces this one. The list and its completions remain declared even if none are left.
    pub(crate) fn with_slots(&self, slots: Vec<TableSlot>) -> Self {
        let mut next = Self::new(self.list, slots, self.offered);
        next.completed |= self.completed;
        next
    }

    pub(crate) fn list(&self) -> Capability {
        self.list
    }

    /// Returns the callable with this name, if it is served.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Callable>> {
        let slot = self.slots.get(*self.names.get(name)?)?;
        slot.is_served().then_some(&slot.callable)
    }

    /// Returns the callable with this name, even if it is disabled, unless the server's own tag selection excludes it.
    pub(crate) fn get_even_disabled(&self, name: &str) -> Option<&Arc<Callable>> {
        let slot = self.slots.get(*self.names.get(name)?)?;
        slot.selected.then_some(&slot.callable)
    }

    /// Returns `true` if there is a callable with this name, whether or not it is served.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Returns all slots in order, whether or not they are served.
    pub(crate) fn slots(&self) -> &[TableSlot] {
        &self.slots
    }

    /// Returns the slots of the tools to which this resource belongs, whether or not they are served.
    pub(crate) fn tools_with_companion(&self, uri: &str) -> impl Iterator<Item = &TableSlot> {
        let first = self.companions.partition_point(|(known, _)| **known < *uri);
        let tools = self.companions.get(first..).unwrap_or_default().iter();
        let tools = tools.take_while(move |(known, _)| **known == *uri);
        tools.filter_map(|(_, index)| self.slots.get(*index))
    }

    /// Returns the callables that are served, in order.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &TableSlot> {
        self.visible
            .iter()
            .filter_map(|index| self.slots.get(*index))
    }

    /// Returns a hash of the served items, which is the same in all processes that serve the same items.
    pub(crate) fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let mut items = String::new();
            for slot in self.visible() {
                slot.callable
                    .append_list_item(&mut items, ProtocolVersion::LATEST_LEGACY);
            }
            fnv(items.as_bytes())
        })
    }

    /// Returns `true` if any selected callable has access rules.
    pub(crate) fn is_restricted(&self) -> bool {
        self.restricted
    }

    /// Returns `true` if any callable has this tag, whether or not it is served.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(tag)
    }

    /// Returns the tags of all callables, whether or not they are served.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|tag| &**tag)
    }

    /// Returns `true` if the list is declared.
    pub(crate) fn is_offered(&self) -> bool {
        self.offered
    }

    /// Returns `true` if completions for arguments are declared.
    pub(crate) fn has_completions(&self) -> bool {
        self.completed
    }

    /// Returns `true` if an argument of any callable is mirrored in an HTTP header.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.mirroring > 0
    }

    /// Returns the number of callables that are served.
    pub(crate) fn len(&self) -> usize {
        self.visible.len()
    }

    /// Returns the number of served callables up to and including the marked callable, or up to its former position if
    /// it has been removed.
    pub(crate) fn count_through(&self, mark: &ItemMark) -> usize {
        let held = self
            .slots
            .iter()
            .position(|slot| fingerprint(&slot.callable.name) == mark.fingerprint);
        let next = match held {
            Some(index) => index.saturating_add(1),
            None => self.slots.partition_point(|slot| slot.key <= mark.key),
        };
        self.visible.partition_point(|index| *index < next)
    }

    /// Returns the members of the page that contains up to `size` served callables, starting at `start`. The page is
    /// rendered once and is the same for all callers.
    ///
    /// `cursor` creates the cursor for the page that follows a slot.
    pub(crate) fn render_page(
        &self,
        start: usize,
        size: usize,
        version: ProtocolVersion,
        cursor: impl Fn(&TableSlot) -> String,
    ) -> Bytes {
        let render = || self.page_members(&self.select_visible(start, size, None), version, cursor);
        let Some(number) = start
            .checked_div(size)
            .filter(|number| number.saturating_mul(size) == start)
        else {
            return render().into();
        };
        let pages = self.pages.get(version as usize).map(|pages| {
            pages.get_or_init(|| {
                let count = self.visible.len().div_ceil(size).max(1);
                std::iter::repeat_with(OnceLock::new).take(count).collect()
            })
        });
        match pages.and_then(|pages| pages.get(number)) {
            None => render().into(),
            Some(page) => page
                .get_or_init(|| {
                    let text = render();
                    // Most protocol versions share the same page, so only one copy is kept.
                    self.pages
                        .iter()
                        .filter_map(OnceLock::get)
                        .filter_map(|pages| pages.get(number)?.get())
                        .find(|page| ***page == *text.as_bytes())
                        .map_or_else(|| text.into(), Bytes::clone)
                })
                .clone(),
        }
    }

    /// Returns up to `size` callables that are served, starting at `start`. If `shows` is given, returns only those for
    /// which it returns `true`.
    pub(crate) fn select_visible(
        &self,
        start: usize,
        size: usize,
        shows: Option<&dyn Fn(&Callable) -> bool>,
    ) -> SelectedCallables {
        let positions = start..self.visible.len();
        let mut positions = positions.filter(|position| {
            let slot = self.served_slot(*position);
            slot.is_some_and(|slot| shows.is_none_or(|shows| shows(&slot.callable)))
        });
        SelectedCallables {
            positions: positions.by_ref().take(size).collect(),
            more: positions.next().is_some(),
            is_filtered: shows.is_some(),
        }
    }

    /// Returns the members of a page. If more items follow, the members include the cursor that `cursor` creates for
    /// the last item on the page.
    pub(crate) fn page_members(
        &self,
        part: &SelectedCallables,
        version: ProtocolVersion,
        cursor: impl Fn(&TableSlot) -> String,
    ) -> String {
        let mut text = format!("\"{}\":[", self.list.member());
        text.push_str(&self.rendered_items(part, version));
        text.push(']');
        let last = part
            .positions
            .last()
            .and_then(|position| self.served_slot(*position));
        if let Some(last) = last.filter(|_| part.more) {
            text.push_str(",\"nextCursor\":\"");
            text.push_str(&cursor(last));
            text.push('"');
        }
        text
    }

    /// Returns the items of a part in the form that `version` requires, separated by commas.
    pub(crate) fn rendered_items(
        &self,
        part: &SelectedCallables,
        version: ProtocolVersion,
    ) -> String {
        let mut text = String::new();
        let rendered = self
            .items
            .get(version as usize)
            .filter(|_| part.is_filtered);
        let rendered = rendered.map(|items| items.get_or_init(|| self.render_items(version)));
        for position in &part.positions {
            match rendered.and_then(|items| items.get(*position)) {
                Some(item) => push_item(&mut text, item),
                None => {
                    if let Some(slot) = self.served_slot(*position) {
                        slot.callable.append_list_item(&mut text, version);
                    }
                }
            }
        }
        text
    }

    /// Renders all callables that are served in the form that `version` requires.
    fn render_items(&self, version: ProtocolVersion) -> Box<[Arc<str>]> {
        let known = || self.items.iter().filter_map(OnceLock::get);
        let render = |(position, slot): (usize, &TableSlot)| {
            let mut text = String::new();
            slot.callable.append_list_item(&mut text, version);
            // Most protocol versions share the same item, so only one copy is kept.
            known()
                .filter_map(|items| items.get(position))
                .find(|item| ***item == *text)
                .map_or_else(|| text.as_str().into(), Arc::clone)
        };
        self.visible().enumerate().map(render).collect()
    }

    /// Returns the slot at this position among the served slots.
    fn served_slot(&self, position: usize) -> Option<&TableSlot> {
        self.slots.get(*self.visible.get(position)?)
    }
}

/// A selection of the served callables, in order.
#[derive(Debug)]
pub(crate) struct SelectedCallables {
    /// The positions of these callables among the served callables.
    positions: Vec<usize>,
    /// `true` if more callables follow.
    pub(crate) more: bool,
    /// `true` if other requests may receive a different part of the list. Each item is then rendered once and shared by
    /// all requests.
    is_filtered: bool,
}

impl SelectedCallables {
    /// Returns the number of callables.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }
}

// --- The names of the four lists and their items, as used in results and messages.

impl Capability {
    /// Returns the list in which definitions of this kind appear, or `None` for completers.
    pub(super) fn of_kind(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Tool => Some(Self::Tools),
            Kind::Prompt => Some(Self::Prompts),
            Kind::Resource => Some(Self::Resources),
            Kind::ResourceTemplate => Some(Self::Templates),
            Kind::Completer | Kind::ExtensionMethod => None,
        }
    }

    /// Returns the name of the member that holds the list in its result.
    #[doc(hidden)]
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the noun that messages use for an item.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }

    /// Returns the noun that messages use for the key of an item.
    pub(super) fn key_noun(self) -> &'static str {
        match self {
            Self::Tools => "tool name",
            Self::Prompts => "prompt name",
            Self::Resources => "resource URI",
            Self::Templates => "resource template",
        }
    }

    /// Returns the form of a definition's name by which it is found in this list: equivalent URIs find the same
    /// definition.
    pub(crate) fn lookup_key(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::Tools | Self::Prompts => name.into(),
            Self::Resources | Self::Templates => normal_uri(name),
        }
    }
}

// --- A page of a list, which is either already rendered or waiting for the templates' listers.

/// One page of a list.
pub enum ListPage {
    /// The JSON text of the page's members, such as `"tools":[…],"nextCursor":"…"`.
    Ready(Bytes),
    /// User code must run first. This occurs only for `resources/list`.
    Listing(Arc<PartialPage>),
}

/// A page of resources that remains incomplete until its templates' listers have run.
pub struct PartialPage {
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
    use crate::context::{Caller, EditStep};
    use crate::handler::dynamic::{DynamicItem, DynamicTemplate, ItemKind as _};
    use crate::handler::listing;
    use crate::registry::fixture::{Closed, change, context, early, page, resource, test_seal};
    use crate::registry::table::*;
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
    fn resources_from_listers_follow_those_with_fixed_uris() {
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
    fn invalid_uris_from_listers_are_left_out_of_the_list() {
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
    fn pagination_continues_after_a_template_was_removed() {
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
    fn a_lister_with_endless_pages_or_an_oversized_cursor_fails() {
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
