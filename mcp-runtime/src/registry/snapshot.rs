//! What a request sees of the registry: lookups and pages over definitions that do not change any more.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use crate::context::{Context, List};
use crate::handler::call::Refusal;
use crate::handler::definition::ClientFeature;
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::CacheHint;
use crate::registry::complete::Completer;
use crate::registry::cursor::{Cursor, InvalidCursor, Mark, Place};
use crate::registry::entry::{
    CacheOptions, Entry, Pace, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry,
};
use crate::registry::handler::{Handler, Started};
use crate::registry::page::{Listing, Page};
use crate::registry::table::{Slot, Table};
use crate::types::CompletionReference;

/// Everything offered at one time. Tables are shared with the snapshots before and after.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(super) tools: Arc<Table<ToolEntry>>,
    pub(super) prompts: Arc<Table<PromptEntry>>,
    pub(super) resources: Arc<Table<ResourceEntry>>,
    pub(super) templates: Arc<Table<TemplateEntry>>,
    /// Most items of a page.
    pub(super) page_size: usize,
}

impl Snapshot {
    /// The enabled tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.get(name)
    }

    /// The enabled prompt of this name.
    pub(crate) fn prompt(&self, name: &str) -> Option<&Arc<PromptEntry>> {
        self.prompts.get(name)
    }

    /// What reads this address: the resource that has it, or else the most specific template that matches.
    pub(crate) fn read(&self, uri: &str) -> Option<Readable> {
        if let Some(entry) = self.resources.get(uri) {
            return Some(Readable {
                source: Source::Resource(Arc::clone(entry)),
                arguments: "{}".into(),
            });
        }
        let (entry, variables) = self.matching(uri)?;
        let pairs = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let arguments = match entry.handler.decoder() {
            Some(decoder) => decoder.from_pairs(pairs),
            None => serde_json::Value::Object(
                pairs
                    .map(|(name, value)| (name.to_owned(), value.into()))
                    .collect(),
            )
            .to_string(),
        };
        Some(Readable {
            source: Source::Template(Arc::clone(entry)),
            arguments,
        })
    }

    /// The most specific enabled template that matches, and its variables.
    fn matching(&self, uri: &str) -> Option<Matching<'_>> {
        self.templates
            .visible()
            .filter_map(|slot| Some((&slot.entry, slot.entry.pattern.matches(uri)?)))
            // Of equals, the first in order.
            .min_by_key(|(entry, _)| Reverse(entry.pattern.specificity()))
    }

    /// A page of a list, from its start or from where `cursor` says.
    ///
    /// # Errors
    ///
    /// If `cursor` is none this list gave out.
    pub(crate) fn page(
        &self,
        list: List,
        version: ProtocolVersion,
        cursor: Option<&str>,
    ) -> Result<Page, InvalidCursor> {
        let place = cursor
            .map(|cursor| Cursor::decode(list, cursor))
            .transpose()?
            .map(|cursor| cursor.place);
        match list {
            List::Tools => self.plain(&self.tools, list, version, place.as_ref()),
            List::Prompts => self.plain(&self.prompts, list, version, place.as_ref()),
            List::Templates => self.plain(&self.templates, list, version, place.as_ref()),
            List::Resources => self.resources(version, place),
        }
    }

    fn plain<E: Entry>(
        &self,
        table: &Table<E>,
        list: List,
        version: ProtocolVersion,
        place: Option<&Place>,
    ) -> Result<Page, InvalidCursor> {
        let start = match place {
            None => 0,
            Some(Place::After(mark)) => table.after(mark),
            Some(Place::Within(..)) => return Err(InvalidCursor),
        };
        Ok(Page::Ready(table.page(
            start,
            self.page_size,
            version,
            |last| after(list, last),
        )))
    }

    fn resources(
        &self,
        version: ProtocolVersion,
        place: Option<Place>,
    ) -> Result<Page, InvalidCursor> {
        let mut listers: Vec<_> = self
            .templates
            .visible()
            .filter_map(|slot| {
                let lister = slot.entry.lister.clone()?;
                Some((
                    &slot.key,
                    Mark::new(&slot.key, slot.entry.found_by()),
                    lister,
                ))
            })
            .collect();
        let start = match &place {
            None => 0,
            Some(Place::After(mark)) => self.resources.after(mark),
            Some(Place::Within(..)) => self.resources.len(),
        };
        if listers.is_empty() || self.resources.len().saturating_sub(start) > self.page_size {
            let place = place.filter(|place| matches!(place, Place::After(_)));
            return match place {
                None if start > 0 => Ok(Page::Ready("\"resources\":[]".into())),
                place => self.plain(&self.resources, List::Resources, version, place.as_ref()),
            };
        }
        let mut cursor = None;
        if let Some(Place::Within(mark, inner)) = place {
            // If the template is gone, the next one starts from its beginning.
            let held = listers
                .iter()
                .position(|(_, held, _)| held.fingerprint == mark.fingerprint);
            let skip = match held {
                Some(index) => {
                    cursor = inner;
                    index
                }
                None => listers.partition_point(|(key, ..)| **key <= mark.key),
            };
            listers.drain(..skip.min(listers.len()));
        }
        Ok(Page::Listing(Listing {
            text: self.resources.items(start, self.page_size, version),
            count: self.resources.len().saturating_sub(start),
            listers: listers
                .into_iter()
                .map(|(_, mark, lister)| (mark, lister))
                .collect(),
            cursor,
            listed: Arc::clone(&self.resources),
            size: self.page_size,
            version,
        }))
    }

    /// How an argument completes. What is disabled does not exist here.
    ///
    /// # Errors
    ///
    /// -32602 if there is no such prompt or template, or it has no such argument.
    pub(crate) fn completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<Completer, ErrorObject> {
        let (what, name, completions) = match reference {
            CompletionReference::Prompt { name } => (
                "prompt",
                name,
                self.prompts.get(name).map(|entry| &entry.completions),
            ),
            CompletionReference::Resource { uri } => (
                "resource template",
                uri,
                self.templates
                    .get(uri)
                    .or_else(|| self.matching(uri).map(|(entry, _)| entry))
                    .map(|entry| &entry.completions),
            ),
        };
        // A resource with an address of its own has nothing to complete.
        let Some(completions) = completions else {
            return Err(ErrorObject::invalid_params(format!(
                "unknown {what} `{name}`"
            )));
        };
        completions.find(argument).cloned().ok_or_else(|| {
            let names: Vec<_> = completions
                .names()
                .map(|name| format!("`{name}`"))
                .collect();
            ErrorObject::invalid_params(if names.is_empty() {
                format!("{what} `{name}` has no argument `{argument}`; it has none")
            } else {
                format!(
                    "{what} `{name}` has no argument `{argument}`; it has {}",
                    names.join(", ")
                )
            })
        })
    }

    /// The names of what is enabled, in order.
    pub(crate) fn names(&self, list: List) -> Vec<String> {
        fn names<E: Entry>(table: &Table<E>) -> Vec<String> {
            table
                .visible()
                .map(|slot| slot.entry.found_by().to_owned())
                .collect()
        }
        match list {
            List::Tools => names(&self.tools),
            List::Prompts => names(&self.prompts),
            List::Resources => names(&self.resources),
            List::Templates => names(&self.templates),
        }
    }

    /// Whether there are tools, enabled or not.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.slots().is_empty()
    }

    /// Whether there are prompts, enabled or not.
    pub(crate) fn has_prompts(&self) -> bool {
        !self.prompts.slots().is_empty()
    }

    /// Whether there are resources or templates, enabled or not.
    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.slots().is_empty() || !self.templates.slots().is_empty()
    }

    /// Whether any argument of a prompt or template completes.
    pub(crate) fn has_completers(&self) -> bool {
        self.prompts
            .slots()
            .iter()
            .any(|slot| slot.entry.completions.any())
            || self
                .templates
                .slots()
                .iter()
                .any(|slot| slot.entry.completions.any())
    }
}

fn after<E: Entry>(list: List, slot: &Slot<E>) -> String {
    Cursor {
        list,
        place: Place::After(Mark::new(&slot.key, slot.entry.found_by())),
    }
    .encode()
}

/// A template and the variables with which it gives an address.
type Matching<'a> = (&'a Arc<TemplateEntry>, Vec<(&'a str, String)>);

/// Something at an address, with the variables of the address if a template has it.
#[derive(Clone, Debug)]
pub(crate) struct Readable {
    source: Source,
    arguments: String,
}

#[derive(Clone, Debug)]
enum Source {
    Resource(Arc<ResourceEntry>),
    Template(Arc<TemplateEntry>),
}

impl Readable {
    /// Starts reading.
    ///
    /// # Errors
    ///
    /// If a variable does not fit its type, or an injected value could not be had.
    pub(crate) fn start(&self, context: &dyn Fn() -> Context) -> Result<Started, Refusal> {
        self.handler().start(&self.arguments, context)
    }

    /// The arguments, as a JSON object.
    pub(crate) fn arguments(&self) -> &str {
        &self.arguments
    }

    /// What reads it.
    pub(crate) fn handler(&self) -> &Handler {
        match &self.source {
            Source::Resource(entry) => &entry.handler,
            Source::Template(entry) => &entry.handler,
        }
    }

    /// The name of the resource or template.
    pub(crate) fn name(&self) -> &str {
        match &self.source {
            Source::Resource(entry) => &entry.resource.name,
            Source::Template(entry) => &entry.template.name,
        }
    }

    /// The media type, as far as the definition says.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        match &self.source {
            Source::Resource(entry) => entry.resource.mime_type.as_deref(),
            Source::Template(entry) => entry.template.mime_type.as_deref(),
        }
    }

    /// How long and by whom it may be reused, given what the server says.
    pub(crate) fn cache(&self, default: CacheHint) -> CacheHint {
        let options: CacheOptions = match &self.source {
            Source::Resource(entry) => entry.cache,
            Source::Template(entry) => entry.cache,
        };
        options.or(default)
    }

    /// Longest it may run, as far as the definition says.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        match &self.source {
            Source::Resource(entry) => entry.timeout,
            Source::Template(entry) => entry.timeout,
        }
    }

    /// What the client must be able to do.
    pub(crate) fn requires(&self) -> &[ClientFeature] {
        match &self.source {
            Source::Resource(entry) => &entry.requires,
            Source::Template(entry) => &entry.requires,
        }
    }

    /// Whether its first polls are slow.
    pub(crate) fn pace(&self) -> &Arc<Pace> {
        match &self.source {
            Source::Resource(entry) => &entry.pace,
            Source::Template(entry) => &entry.pace,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::Step;
    use crate::handler::dynamic::{Arguments, DynamicTemplate, DynamicTool, ItemKind as _};
    use crate::handler::tool_error::ToolError;
    use crate::registry::fixture::{
        Closed, MODERN, change, context, page, prompt, prompts, resource,
    };
    use crate::registry::{Registry, Sources};

    /// Walks a list to its end.
    fn walk(snapshot: &Snapshot, list: List) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let (items, next) = page(snapshot, list, cursor.as_deref());
            pages.push(items);
            cursor = next;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn pages_cover_a_list_once() {
        for (names, size, pages) in [
            (&[][..], 2, vec![vec![]]),
            (&["a"][..], 2, vec![vec!["a"]]),
            (&["a", "b"][..], 2, vec![vec!["a", "b"]]),
            (&["a", "b", "c"][..], 2, vec![vec!["a", "b"], vec!["c"]]),
        ] {
            let registry = prompts(names, size);
            assert_eq!(walk(&registry.snapshot(), List::Prompts), pages);
        }
    }

    #[test]
    fn a_walk_survives_changes() {
        let names = ["a", "b", "c", "d", "e"];
        for (step, rest) in [
            (Step::Remove("b".into()), vec!["c", "d"]),
            (Step::Disable("b".into()), vec!["c", "d"]),
            (Step::Remove("a".into()), vec!["c", "d"]),
            (Step::Remove("c".into()), vec!["d", "e"]),
            (Step::Insert(prompt("aa").into_item()), vec!["c", "d"]),
            (Step::Insert(prompt("bb").into_item()), vec!["bb", "c"]),
        ] {
            let registry = prompts(&names, 2);
            let (_, next) = page(&registry.snapshot(), List::Prompts, None);
            change(&registry, List::Prompts, vec![step]);
            let (items, _) = page(&registry.snapshot(), List::Prompts, next.as_deref());
            assert_eq!(items, rest);
        }
    }

    #[test]
    fn every_instance_reads_the_cursors_of_the_others() {
        let (one, other) = (prompts(&["a", "b"], 1), prompts(&["a", "b"], 1));
        let (_, next) = page(&one.snapshot(), List::Prompts, None);
        let (items, _) = page(&other.snapshot(), List::Prompts, next.as_deref());
        assert_eq!(items, ["b"]);
    }

    #[test]
    fn an_invalid_cursor_is_refused_in_every_list() {
        let registry = prompts(&["a"], 1);
        let snapshot = registry.snapshot();
        for list in [List::Tools, List::Prompts, List::Resources, List::Templates] {
            for cursor in ["", "nonsense"] {
                assert!(
                    snapshot.page(list, MODERN, Some(cursor)).is_err(),
                    "{list:?}"
                );
            }
        }
    }

    #[test]
    fn a_page_is_rendered_once_and_shared_by_revisions_that_see_the_same() {
        let registry = prompts(&["a", "b"], 1);
        let snapshot = registry.snapshot();
        let ready = |version| match snapshot.page(List::Prompts, version, None) {
            Ok(Page::Ready(text)) => text,
            _ => panic!("prompts have no listers"),
        };
        let first = ready(MODERN);
        for version in ProtocolVersion::ALL {
            assert!(Arc::ptr_eq(&first, &ready(version)), "{version:?}");
        }
        let registry = prompts(&[], 1);
        change(
            &registry,
            List::Prompts,
            vec![Step::Insert(prompt("a").title("A").into_item())],
        );
        let snapshot = registry.snapshot();
        let text = |version| match snapshot.page(List::Prompts, version, None) {
            Ok(Page::Ready(text)) => text.to_string(),
            _ => panic!("prompts have no listers"),
        };
        assert_eq!(text(MODERN), r#""prompts":[{"name":"a","title":"A"}]"#);
        assert_eq!(
            text(ProtocolVersion::V2025_03_26),
            r#""prompts":[{"name":"a"}]"#
        );
    }

    #[test]
    fn the_lists_of_an_empty_server_are_empty() {
        let registry = Registry::build(Sources {
            only: Some(Vec::new()),
            ..Sources::default()
        })
        .unwrap();
        let snapshot = registry.snapshot();
        for list in [List::Tools, List::Prompts, List::Resources, List::Templates] {
            assert_eq!(page(&snapshot, list, None), (vec![], None), "{list:?}");
        }
        assert!(!snapshot.has_tools() && !snapshot.has_prompts());
        assert!(!snapshot.has_resources() && !snapshot.has_completers());
    }

    #[test]
    fn a_resource_is_found_by_its_address() {
        let registry = prompts(&[], 1);
        change(
            &registry,
            List::Resources,
            vec![Step::Insert(
                resource("notes:///a").mime_type("text/plain").into_item(),
            )],
        );
        let snapshot = registry.snapshot();
        assert!(snapshot.has_resources());
        let readable = snapshot.read("notes:///a").unwrap();
        assert_eq!(readable.mime_type(), Some("text/plain"));
        assert_eq!(readable.arguments(), "{}");
        assert!(snapshot.read("notes:///b").is_none());
    }

    #[test]
    fn completion_names_what_is_unknown() {
        let registry = prompts(&[], 1);
        change(
            &registry,
            List::Prompts,
            vec![Step::Insert(
                prompt("review")
                    .required("code", "")
                    .optional("language", "")
                    .candidates("language", ["go", "rust"])
                    .into_item(),
            )],
        );
        let snapshot = registry.snapshot();
        assert!(snapshot.has_completers());
        let ask = |name: &str, argument| {
            let name = name.to_owned();
            snapshot.completer(&CompletionReference::Prompt { name }, argument)
        };
        assert!(matches!(ask("review", "code"), Ok(Completer::Nothing)));
        match ask("review", "language") {
            Ok(Completer::Fixed(candidates)) => assert_eq!(*candidates, ["go", "rust"]),
            other => panic!("{other:?}"),
        }
        for (name, argument, message) in [
            ("x", "code", "unknown prompt `x`"),
            (
                "review",
                "lang",
                "prompt `review` has no argument `lang`; it has `code`, `language`",
            ),
        ] {
            let error = ask(name, argument).unwrap_err();
            assert_eq!((error.code, &*error.message), (-32602, message));
        }
    }

    #[test]
    fn the_most_specific_template_reads_an_address() {
        let template = |uri: &str| {
            DynamicTemplate::new(uri, uri, |_, _| async { Closed })
                .candidates("x", ["1"])
                .into_item()
        };
        let registry = Registry::build(Sources {
            only: Some(Vec::new()),
            dynamic: vec![
                template("notes:///{+x}"),
                template("notes:///{x}"),
                template("notes:///day/{x}"),
                resource("notes:///day/one").into_item(),
            ],
            ..Sources::default()
        })
        .unwrap();
        for (uri, name, arguments) in [
            ("notes:///day/one", "notes:///day/one", "{}"),
            ("notes:///day/two", "notes:///day/{x}", r#"{"x":"two"}"#),
            ("notes:///a%20b", "notes:///{x}", r#"{"x":"a b"}"#),
            ("notes:///a/b", "notes:///{+x}", r#"{"x":"a/b"}"#),
        ] {
            let readable = registry.snapshot().read(uri).unwrap();
            assert_eq!((readable.name(), readable.arguments()), (name, arguments));
        }
        assert!(registry.snapshot().read("files:///x").is_none());
        for uri in ["notes:///{x}", "notes:///anything"] {
            let reference = CompletionReference::Resource { uri: uri.into() };
            let completer = registry.snapshot().completer(&reference, "x");
            assert!(matches!(completer, Ok(Completer::Fixed(_))));
        }
    }

    #[test]
    fn a_dynamic_tool_checks_its_arguments_first() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        });
        let tool = DynamicTool::new(
            "weather",
            schema,
            async |arguments: Arguments, _| -> Result<String, ToolError> { arguments.get("city") },
        );
        let registry = prompts(&[], 1);
        change(
            &registry,
            List::Tools,
            vec![Step::Insert(tool.read_only(true).into_item())],
        );
        let snapshot = registry.snapshot();
        assert!(snapshot.has_tools());
        let entry = snapshot.tool("weather").unwrap();
        for wrong in ["{}", r#"{"city":1}"#, "[]"] {
            let started = entry.handler.start(wrong, &context);
            assert!(matches!(started, Err(Refusal::Arguments(_))), "{wrong}");
        }
        match entry.handler.start(r#"{"city":"Oslo"}"#, &context) {
            Ok(Started::Running(running)) => {
                let output = futures_util::FutureExt::now_or_never(running).unwrap();
                assert!(output.is_ok());
            }
            _ => panic!("it should run"),
        }
    }

    #[test]
    fn a_dynamic_tool_that_clients_would_refuse_is_refused() {
        let registry = prompts(&[], 1);
        for (name, schema) in [
            ("add note", serde_json::json!({"type": "object"})),
            ("", serde_json::json!({"type": "object"})),
            ("a", serde_json::json!({"type": "array"})),
            ("a", serde_json::json!(true)),
        ] {
            let tool = DynamicTool::new(name, schema, async |_, _| String::new());
            let error = registry.edit(crate::context::Edit {
                list: List::Tools,
                steps: vec![Step::Insert(tool.into_item())],
            });
            assert_eq!(
                error.unwrap_err().kind(),
                crate::ErrorKind::Configuration,
                "{name}"
            );
        }
    }

    #[test]
    fn a_dynamic_prompt_needs_its_required_arguments() {
        let registry = prompts(&[], 1);
        let item = prompt("p").required("code", "").into_item();
        change(&registry, List::Prompts, vec![Step::Insert(item)]);
        let snapshot = registry.snapshot();
        let entry = snapshot.prompt("p").unwrap();
        for (arguments, fine) in [
            ("{}", false),
            (r#"{"code":1}"#, false),
            (r#"{"code":"x"}"#, true),
            (r#"{"code":"x","other":"y"}"#, true),
        ] {
            let started = entry.start(arguments, &context);
            assert_eq!(started.is_ok(), fine, "{arguments}");
        }
    }
}
