//! An immutable snapshot of all definitions. Requests are served through a [`CallerView`] of it.

mod view;

use std::collections::BTreeSet;

use std::sync::Arc;

use crate::context::{Caller, Capability};
use crate::fnv::fnv;
use crate::registry::table::CallableTable;

pub use view::{CallerView, ToolPart};

/// All definitions at a particular point in time. Unchanged tables are shared with earlier and later snapshots.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) tools: Arc<CallableTable>,
    pub(super) prompts: Arc<CallableTable>,
    pub(super) resources: Arc<CallableTable>,
    pub(super) templates: Arc<CallableTable>,
    /// Maximum number of items on a page.
    pub(super) page_size: usize,
}

impl Snapshot {
    /// Returns the snapshot as seen by the given caller.
    #[must_use]
    pub fn seen_by<'a>(&'a self, caller: &'a Caller) -> CallerView<'a> {
        CallerView {
            snapshot: self,
            caller,
            selection: None,
        }
    }

    /// Returns the callables of a list.
    pub(super) fn table(&self, list: Capability) -> &Arc<CallableTable> {
        match list {
            Capability::Tools => &self.tools,
            Capability::Prompts => &self.prompts,
            Capability::Resources => &self.resources,
            Capability::Templates => &self.templates,
        }
    }

    /// Returns a mutable reference to the callables of a list, so that they can be replaced.
    pub(super) fn table_mut(&mut self, list: Capability) -> &mut Arc<CallableTable> {
        match list {
            Capability::Tools => &mut self.tools,
            Capability::Prompts => &mut self.prompts,
            Capability::Resources => &mut self.resources,
            Capability::Templates => &mut self.templates,
        }
    }

    /// Returns a hash of the lists of tools, prompts and resources, which is the same in all processes that serve the same
    /// definitions.
    pub(crate) fn digest(&self) -> u64 {
        let digests = self.tables().map(|table| table.digest().to_ne_bytes());
        fnv(digests.as_flattened())
    }

    fn tables(&self) -> [&CallableTable; 4] {
        [&self.tools, &self.prompts, &self.resources, &self.templates]
    }

    /// Returns `true` if the contents of a list depend on the caller. If the list of templates depends on the caller,
    /// so does the list of resources.
    fn is_restricted(&self, list: Capability) -> bool {
        self.table(list).is_restricted()
            || (list == Capability::Resources && self.templates.is_restricted())
    }

    /// Returns the name or URI of a definition that requires scopes, if any.
    pub(crate) fn needs_scopes(&self) -> Option<&str> {
        let mut slots = self.tables().into_iter().flat_map(CallableTable::slots);
        let first = slots.find(|slot| slot.callable.access.needs_scopes())?;
        Some(&first.callable.name)
    }

    /// Returns the scopes required by all definitions that are served and not hidden from any caller, sorted.
    pub(crate) fn scopes(&self) -> BTreeSet<String> {
        let visible = self.tables().into_iter().flat_map(CallableTable::visible);
        visible
            .map(|slot| &slot.callable.access)
            .filter(|access| !access.is_hidden_from_some())
            .flat_map(|access| access.required_scopes().map(str::to_owned))
            .collect()
    }

    /// Returns the names of enabled definitions in order, whether or not they are selected.
    #[must_use]
    pub fn names(&self, list: Capability) -> Vec<String> {
        let enabled = self.table(list).slots().iter().filter(|slot| slot.enabled);
        enabled.map(|slot| (*slot.callable.name).into()).collect()
    }

    /// Returns `true` if tools are declared, that is, if the server has, has had or may later have tools, even if they
    /// are disabled.
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.is_offered()
    }

    /// Returns `true` if an argument of any tool is mirrored in an HTTP header.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.tools.mirrors_arguments()
    }

    /// Returns `true` if prompts are declared.
    pub(crate) fn has_prompts(&self) -> bool {
        self.prompts.is_offered()
    }

    /// Returns `true` if resources or templates are declared.
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_offered() || self.templates.is_offered()
    }

    /// Returns `true` if completions are declared, that is, if an argument of a prompt or template has or has had
    /// completions.
    pub(crate) fn has_completers(&self) -> bool {
        self.prompts.has_completions() || self.templates.has_completions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::EditStep;
    use crate::handler::dynamic::{Arguments, DynamicTemplate, DynamicTool, ItemKind as _};
    use crate::handler::handler_error::{CallRefusal, HandlerError};
    use crate::protocol::ProtocolVersion;
    use crate::registry::callable::Completer;
    use crate::registry::fixture::{
        Closed, MODERN, change, context, early, page, prompt, prompts, resource, test_seal,
    };
    use crate::registry::table::ListPage;
    use crate::registry::{HandlerProgress, Registry, Sources};
    use crate::types::CompletionReference;

    /// Reads all pages of a list.
    fn walk(snapshot: &Snapshot, list: Capability) -> Vec<Vec<String>> {
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
    fn pages_contain_each_item_of_a_list_once() {
        for (names, size, pages) in [
            (&[][..], 2, vec![vec![]]),
            (&["a"][..], 2, vec![vec!["a"]]),
            (&["a", "b"][..], 2, vec![vec!["a", "b"]]),
            (&["a", "b", "c"][..], 2, vec![vec!["a", "b"], vec!["c"]]),
        ] {
            let registry = prompts(names, size);
            assert_eq!(walk(&registry.snapshot(), Capability::Prompts), pages);
        }
    }

    #[test]
    fn pagination_continues_after_changes_of_the_list() {
        let names = ["a", "b", "c", "d", "e"];
        for (step, rest) in [
            (EditStep::Remove("b".into()), vec!["c", "d"]),
            (EditStep::Disable("b".into()), vec!["c", "d"]),
            (EditStep::Remove("a".into()), vec!["c", "d"]),
            (EditStep::Remove("c".into()), vec!["d", "e"]),
            (EditStep::Insert(prompt("aa").into_item()), vec!["c", "d"]),
            (EditStep::Insert(prompt("bb").into_item()), vec!["bb", "c"]),
        ] {
            let registry = prompts(&names, 2);
            let (_, next) = page(&registry.snapshot(), Capability::Prompts, None);
            change(&registry, Capability::Prompts, vec![step]);
            let (items, _) = page(&registry.snapshot(), Capability::Prompts, next.as_deref());
            assert_eq!(items, rest);
        }
    }

    #[test]
    fn every_instance_reads_the_cursors_of_the_others() {
        let (one, other) = (prompts(&["a", "b"], 1), prompts(&["a", "b"], 1));
        let (_, next) = page(&one.snapshot(), Capability::Prompts, None);
        let (items, _) = page(&other.snapshot(), Capability::Prompts, next.as_deref());
        assert_eq!(items, ["b"]);
    }

    #[test]
    fn an_invalid_cursor_is_refused_in_every_list() {
        let registry = prompts(&["a"], 1);
        let snapshot = registry.snapshot();
        for list in [
            Capability::Tools,
            Capability::Prompts,
            Capability::Resources,
            Capability::Templates,
        ] {
            for cursor in ["", "nonsense"] {
                assert!(
                    snapshot
                        .seen_by(&Caller::trusted())
                        .page(list, MODERN, Some(cursor), &test_seal())
                        .is_err(),
                    "{list:?}"
                );
            }
        }
    }

    #[test]
    fn a_page_is_rendered_once_for_all_versions_with_the_same_content() {
        let registry = prompts(&["a", "b"], 1);
        let snapshot = registry.snapshot();
        let ready = |version| match snapshot.seen_by(&Caller::trusted()).page(
            Capability::Prompts,
            version,
            None,
            &test_seal(),
        ) {
            Ok(ListPage::Ready(text)) => text,
            _ => panic!("prompts have no listers"),
        };
        let first = ready(MODERN);
        for version in ProtocolVersion::ALL {
            assert_eq!(first.as_ptr(), ready(version).as_ptr(), "{version:?}");
        }
        let registry = prompts(&[], 1);
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Insert(prompt("a").title("A").into_item())],
        );
        let snapshot = registry.snapshot();
        let text = |version| match snapshot.seen_by(&Caller::trusted()).page(
            Capability::Prompts,
            version,
            None,
            &test_seal(),
        ) {
            Ok(ListPage::Ready(text)) => String::from_utf8(text.into()).unwrap(),
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
        for list in [
            Capability::Tools,
            Capability::Prompts,
            Capability::Resources,
            Capability::Templates,
        ] {
            assert_eq!(page(&snapshot, list, None), (vec![], None), "{list:?}");
        }
        assert!(!snapshot.has_tools() && !snapshot.has_prompts());
        assert!(!snapshot.has_resources() && !snapshot.has_completers());
    }

    #[test]
    fn a_resource_is_found_by_its_uri() {
        let registry = prompts(&[], 1);
        change(
            &registry,
            Capability::Resources,
            vec![EditStep::Insert(
                resource("notes:///a").mime_type("text/plain").into_item(),
            )],
        );
        let snapshot = registry.snapshot();
        assert!(snapshot.has_resources());
        let caller = Caller::trusted();
        let view = snapshot.seen_by(&caller);
        let (resource, arguments) = view.resource_at("notes:///a", MODERN).unwrap();
        assert_eq!(resource.mime_type(), Some("text/plain"));
        assert_eq!(arguments, "{}");
        assert!(
            snapshot
                .seen_by(&Caller::trusted())
                .resource_at("notes:///b", MODERN)
                .is_err()
        );
    }

    #[test]
    fn a_completion_error_names_the_unknown_prompt_or_argument() {
        let registry = prompts(&[], 1);
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Insert(
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
            snapshot
                .seen_by(&Caller::trusted())
                .completer(&CompletionReference::Prompt { name }, argument)
        };
        assert!(matches!(
            ask("review", "code").unwrap().completer,
            Completer::Nothing
        ));
        match ask("review", "language").unwrap().completer {
            Completer::Fixed(candidates) => assert_eq!(*candidates, ["go", "rust"]),
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
    fn the_most_specific_template_matches_a_uri() {
        let template = |uri: &str| {
            DynamicTemplate::new(uri, uri, |_, _| async { Closed })
                .candidates("x", ["1"])
                .into_item()
        };
        let registry = Registry::build(Sources {
            only: Some(Vec::new()),
            early: early([
                template("notes:///{+x}"),
                template("notes:///{x}"),
                template("notes:///day/{x}"),
                resource("notes:///day/one").into_item(),
            ]),
            ..Sources::default()
        })
        .unwrap();
        for (uri, name, arguments) in [
            ("notes:///day/one", "notes:///day/one", "{}"),
            ("notes:///day/two", "notes:///day/{x}", r#"{"x":"two"}"#),
            ("notes:///a%20b", "notes:///{x}", r#"{"x":"a b"}"#),
            ("notes:///a/b", "notes:///{+x}", r#"{"x":"a/b"}"#),
        ] {
            let (snapshot, caller) = (registry.snapshot(), Caller::trusted());
            let (read, variables) = snapshot.seen_by(&caller).resource_at(uri, MODERN).unwrap();
            assert_eq!((&*read.name, &*variables), (name, arguments));
        }
        assert!(
            registry
                .snapshot()
                .seen_by(&Caller::trusted())
                .resource_at("files:///x", MODERN)
                .is_err()
        );
        for uri in ["notes:///{x}", "notes:///anything"] {
            let reference = CompletionReference::Resource { uri: uri.into() };
            let completer = registry
                .snapshot()
                .seen_by(&Caller::trusted())
                .completer(&reference, "x");
            assert!(matches!(completer.unwrap().completer, Completer::Fixed(_)));
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
            async |arguments: Arguments, _| -> Result<String, HandlerError> {
                arguments.get("city")
            },
        );
        let registry = prompts(&[], 1);
        change(
            &registry,
            Capability::Tools,
            vec![EditStep::Insert(tool.read_only(true).into_item())],
        );
        let snapshot = registry.snapshot();
        assert!(snapshot.has_tools());
        let entry = snapshot.tools.get("weather").unwrap();
        for wrong in ["{}", r#"{"city":1}"#, "[]"] {
            let started = entry.handler.start(wrong, &context);
            assert!(matches!(started, Err(CallRefusal::Arguments(_))), "{wrong}");
        }
        match entry.handler.start(r#"{"city":"Oslo"}"#, &context) {
            Ok(HandlerProgress::Running(running)) => {
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
                list: Capability::Tools,
                steps: vec![EditStep::Insert(tool.into_item())],
            });
            assert_eq!(
                error.unwrap_err().kind(),
                crate::error::ErrorKind::Configuration,
                "{name}"
            );
        }
    }

    #[test]
    fn a_dynamic_prompt_needs_its_required_arguments() {
        let registry = prompts(&[], 1);
        let item = prompt("p").required("code", "").into_item();
        change(&registry, Capability::Prompts, vec![EditStep::Insert(item)]);
        let snapshot = registry.snapshot();
        let entry = snapshot.prompts.get("p").unwrap();
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

    #[test]
    fn lists_that_depend_on_the_caller_reuse_the_rendered_items() {
        let registry = prompts(&["b", "d"], 2);
        for item in [prompt("a").title("A").scopes(["x"]), prompt("c")] {
            change(
                &registry,
                Capability::Prompts,
                vec![EditStep::Insert(item.into_item())],
            );
        }
        let snapshot = registry.snapshot();
        let text = |caller: &Caller, version| match snapshot.seen_by(caller).page(
            Capability::Prompts,
            version,
            None,
            &test_seal(),
        ) {
            Ok(ListPage::Ready(text)) => String::from_utf8(text.into()).unwrap(),
            _ => panic!("prompts have no listers"),
        };
        let old = ProtocolVersion::V2025_03_26;
        for (caller, version, start) in [
            (
                Caller::trusted(),
                MODERN,
                r#"[{"name":"a","title":"A"},{"name":"b"}],"nextCursor":"#,
            ),
            (
                Caller::trusted(),
                old,
                r#"[{"name":"a"},{"name":"b"}],"nextCursor":"#,
            ),
            (
                Caller::anonymous(),
                MODERN,
                r#"[{"name":"b"},{"name":"c"}],"nextCursor":"#,
            ),
            (
                Caller::anonymous(),
                old,
                r#"[{"name":"b"},{"name":"c"}],"nextCursor":"#,
            ),
        ] {
            let text = text(&caller, version);
            let start = format!("\"prompts\":{start}");
            assert!(text.starts_with(&start), "{caller:?}: {text}");
        }
    }
}
