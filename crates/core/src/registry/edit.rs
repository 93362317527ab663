//! Edits made while the server is running. All changes are checked first and then applied together to a copy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use mcp_schema::suggest::closest;

use crate::context::{Capability, Edit, EditStep};
use crate::error::{Error, ErrorKind};
use crate::handler::access::NotifiedCallers;
use crate::order::set_of;
use crate::registry::callable::Callable;
use crate::registry::cursor::OrderKey;
use crate::registry::declared::ServerRules;
use crate::registry::dynamic;
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{CallableTable, TableSlot};

/// An edit whose definitions have been checked.
pub(super) struct PreparedEdit {
    pub(super) list: Capability,
    steps: Vec<PreparedStep>,
}

/// A single change.
enum PreparedStep {
    Put {
        callable: Arc<Callable>,
        replace: bool,
    },
    Remove(String),
    Show(String, bool),
}

/// The result of an edit.
#[derive(Debug, Default)]
pub(crate) struct EditOutcome {
    /// `true` if anything changed.
    pub(crate) changed: bool,
    /// The callers whose list has changed.
    pub(crate) audience: NotifiedCallers,
}

impl EditOutcome {
    /// Records that a slot has been changed or is about to be changed.
    fn add_audience_of(&mut self, slot: &TableSlot) {
        if slot.is_served() {
            self.audience.add_callers_with_access(&slot.callable.access);
        }
    }
}

/// Indicates that a name is already in use.
pub(super) struct NameTaken {
    pub(super) noun: &'static str,
    pub(super) name: Arc<str>,
}

impl From<NameTaken> for Error {
    fn from(NameTaken { noun, name }: NameTaken) -> Self {
        Self::new(
            ErrorKind::Duplicate,
            format!("the {noun} `{name}` is already in use"),
        )
    }
}

/// A name without a definition.
pub(super) struct MissingName {
    pub(super) name: String,
    pub(super) suggestion: Option<String>,
}

impl PreparedEdit {
    /// Returns names that the edit enables, disables or removes although they do not belong to any definition.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Vec<MissingName> {
        let slots = snapshot.table(self.list).slots().iter();
        let mut known: BTreeSet<&str> = set_of(slots.map(|slot| &*slot.callable.name));
        let mut missing = Vec::new();
        for step in &self.steps {
            let (name, is_there) = match step {
                PreparedStep::Put { callable, .. } => {
                    known.insert(&callable.name);
                    continue;
                }
                PreparedStep::Remove(name) => (name, known.remove(name.as_str())),
                PreparedStep::Show(name, _) => (name, known.contains(name.as_str())),
            };
            if !is_there {
                let suggestion = closest(name, known.iter().copied());
                missing.push(MissingName {
                    name: name.clone(),
                    suggestion: suggestion.map(str::to_owned),
                });
            }
        }
        missing
    }
}

/// Checks all definitions in an edit. Returns either the prepared edit or all problems.
pub(super) fn prepare(edit: Edit, rules: &ServerRules) -> Result<PreparedEdit, Vec<String>> {
    let mut problems = Vec::new();
    let mut steps = Vec::new();
    let key = |name: String| edit.list.lookup_key(&name).into_owned();
    for step in edit.steps {
        let (item, replace) = match step {
            EditStep::Insert(item) => (item, false),
            EditStep::Replace(item) => (item, true),
            EditStep::Remove(name) => {
                steps.push(PreparedStep::Remove(key(name)));
                continue;
            }
            EditStep::Enable(name) => {
                steps.push(PreparedStep::Show(key(name), true));
                continue;
            }
            EditStep::Disable(name) => {
                steps.push(PreparedStep::Show(key(name), false));
                continue;
            }
        };
        match dynamic::dynamic_callable(item, rules) {
            Ok(callable) => steps.push(PreparedStep::Put {
                callable: Arc::new(callable),
                replace,
            }),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(PreparedEdit {
            list: edit.list,
            steps,
        })
    } else {
        Err(problems)
    }
}

/// Applies all changes to a copy of the snapshot.
pub(super) fn apply(
    snapshot: &Snapshot,
    prepared: PreparedEdit,
    rules: &ServerRules,
) -> Result<(Snapshot, EditOutcome), NameTaken> {
    let selection = rules.selection.as_ref();
    let selects = |callable: &Callable| {
        selection.is_none_or(|selection| snapshot.selects(selection, callable))
    };
    let mut next = snapshot.clone();
    let edited = edit(next.table_mut(prepared.list), prepared.steps, selects)?;
    if let Some(selection) = selection {
        // The tools of a page may have changed.
        next.apply_selection(selection);
    }
    Ok((next, edited))
}

fn edit(
    table: &mut Arc<CallableTable>,
    steps: Vec<PreparedStep>,
    selects: impl Fn(&Callable) -> bool,
) -> Result<EditOutcome, NameTaken> {
    let mut slots: Vec<Option<TableSlot>> = table.slots().iter().cloned().map(Some).collect();
    // Searching the list for each name would make large edits slow.
    let mut positions: HashMap<Arc<str>, usize> = table
        .slots()
        .iter()
        .enumerate()
        .map(|(index, slot)| (Arc::clone(&slot.callable.name), index))
        .collect();
    let mut edited = EditOutcome::default();
    for step in steps {
        match step {
            PreparedStep::Put { callable, replace } => {
                let selected = selects(&callable);
                if selected {
                    edited.audience.add_callers_with_access(&callable.access);
                }
                let name = Arc::clone(&callable.name);
                let held = positions.get(&name).and_then(|index| slots.get_mut(*index));
                match held {
                    Some(_) if !replace => {
                        return Err(NameTaken {
                            noun: table.list().key_noun(),
                            name,
                        });
                    }
                    Some(Some(slot)) => {
                        edited.add_audience_of(slot);
                        slot.callable = callable;
                        slot.enabled = true;
                        slot.selected = selected;
                    }
                    _ => {
                        positions.insert(Arc::clone(&name), slots.len());
                        slots.push(Some(TableSlot {
                            key: OrderKey::Inserted(name),
                            callable,
                            enabled: true,
                            selected,
                        }));
                    }
                }
                edited.changed = true;
            }
            PreparedStep::Remove(name) => {
                let held = positions
                    .remove(&*name)
                    .and_then(|index| slots.get_mut(index)?.take());
                if let Some(slot) = held {
                    edited.changed = true;
                    edited.add_audience_of(&slot);
                }
            }
            PreparedStep::Show(name, enabled) => {
                let held = positions.get(&*name);
                let held = held.and_then(|index| slots.get_mut(*index));
                if let Some(Some(slot)) = held
                    && slot.enabled != enabled
                {
                    edited.add_audience_of(slot);
                    slot.enabled = enabled;
                    edited.add_audience_of(slot);
                    edited.changed = true;
                }
            }
        }
    }
    if edited.changed {
        let slots = slots.into_iter().flatten().collect();
        *table = Arc::new(table.with_slots(slots));
    }
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Caller, Principal};
    use crate::handler::dynamic::ItemKind;
    use crate::handler::tags::TagSelection;
    use crate::registry::fixture::{change, page, prompt, prompts, title};
    use crate::registry::{Registry, Sources};

    #[test]
    fn inserted_prompts_come_in_the_order_of_their_names() {
        let registry = prompts(&["b", "c"], 10);
        assert!(change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Insert(prompt("a").into_item())]
        ));
        assert_eq!(
            registry.snapshot().names(Capability::Prompts),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn a_disabled_definition_is_neither_listed_nor_found() {
        let registry = prompts(&["a", "b"], 10);
        assert!(change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Disable("a".into())]
        ));
        let snapshot = registry.snapshot();
        assert!(snapshot.prompts.get("a").is_none());
        assert_eq!(page(&snapshot, Capability::Prompts, None).0, ["b"]);
        assert!(snapshot.has_prompts());
        assert!(change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Enable("a".into())]
        ));
        assert!(registry.snapshot().prompts.get("a").is_some());
        assert_eq!(
            page(&registry.snapshot(), Capability::Prompts, None).0,
            ["a", "b"]
        );
    }

    #[test]
    fn an_edit_without_effect_returns_that_nothing_changed() {
        let registry = prompts(&["a"], 10);
        for step in [
            EditStep::Enable("a".into()),
            EditStep::Enable("x".into()),
            EditStep::Disable("x".into()),
            EditStep::Remove("x".into()),
        ] {
            assert!(!change(&registry, Capability::Prompts, vec![step]));
        }
    }

    #[test]
    fn an_edit_with_a_name_in_use_changes_nothing() {
        let registry = prompts(&["a"], 10);
        let error = registry
            .edit(Edit {
                list: Capability::Prompts,
                steps: vec![
                    EditStep::Insert(prompt("b").into_item()),
                    EditStep::Insert(prompt("a").into_item()),
                ],
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate);
        assert_eq!(error.to_string(), "the prompt name `a` is already in use");
        assert_eq!(registry.snapshot().names(Capability::Prompts), ["a"]);
    }

    #[test]
    fn replacing_a_definition_keeps_its_position_and_enables_it() {
        let registry = prompts(&["a", "b"], 10);
        change(
            &registry,
            Capability::Prompts,
            vec![
                EditStep::Disable("a".into()),
                EditStep::Replace(prompt("a").title("new").into_item()),
            ],
        );
        let snapshot = registry.snapshot();
        assert_eq!(snapshot.names(Capability::Prompts), ["a", "b"]);
        assert_eq!(title(&snapshot, "a"), Some("new"));
    }

    #[test]
    fn a_name_can_be_removed_and_inserted_again_in_one_edit() {
        let registry = prompts(&["a", "b"], 10);
        change(
            &registry,
            Capability::Prompts,
            vec![
                EditStep::Remove("a".into()),
                EditStep::Insert(prompt("a").into_item()),
                EditStep::Remove("b".into()),
            ],
        );
        assert_eq!(registry.snapshot().names(Capability::Prompts), ["a"]);
    }

    #[test]
    fn a_call_keeps_the_snapshot_it_started_with() {
        let registry = prompts(&["a"], 10);
        let before = registry.snapshot();
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Remove("a".into())],
        );
        assert!(before.prompts.get("a").is_some());
        assert!(registry.snapshot().prompts.get("a").is_none());
    }

    #[test]
    fn all_errors_of_an_inserted_definition_are_reported_together() {
        let registry = prompts(&[], 10);
        let error = registry
            .edit(Edit {
                list: Capability::Prompts,
                steps: vec![EditStep::Insert(
                    prompt("p")
                        .required("x", "")
                        .required("x", "")
                        .candidates("y", ["1"])
                        .meta("dev.mcp/x", 1)
                        .into_item(),
                )],
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        expect_test::expect!["prompt `p`: meta key `dev.mcp/x` is reserved for the protocol; use another prefix, such as `com.example/`; argument `x` is defined twice; candidates are set for `y`, but there is no such argument"].assert_eq(&error.to_string());
    }

    #[test]
    fn removing_a_disabled_definition_has_an_empty_audience() {
        let registry = prompts(&["a", "b"], 10);
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Disable("a".into())],
        );
        let edited = registry.edit(Edit {
            list: Capability::Prompts,
            steps: vec![EditStep::Remove("a".into())],
        });
        let edited = edited.unwrap();
        assert!(edited.changed && edited.audience.is_empty());
    }

    #[test]
    fn an_edit_returns_the_callers_whose_list_changed() {
        let registry = prompts(&[], 10);
        let [reader, writer, nobody] = ["read", "write", ""]
            .map(|scope| Caller::from(Principal::new("alice").with_scopes([scope])));
        let seen = |step| {
            let (list, steps) = (Capability::Prompts, vec![step]);
            let audience = registry.edit(Edit { list, steps }).unwrap().audience;
            [&reader, &writer, &nobody].map(|caller| audience.includes(caller))
        };
        let reading = || prompt("a").scopes(["read"]).into_item();
        let writing = || prompt("a").scopes(["write"]).into_item();
        let [readers, writers, both] = [
            [true, false, false],
            [false, true, false],
            [true, true, false],
        ];
        assert_eq!(seen(EditStep::Insert(reading())), readers);
        assert_eq!(seen(EditStep::Replace(writing())), both);
        assert_eq!(seen(EditStep::Disable("a".into())), writers);
        // No caller could see the definition before.
        assert_eq!(seen(EditStep::Replace(reading())), readers);
        assert_eq!(seen(EditStep::Replace(prompt("a").into_item())), [true; 3]);
        assert_eq!(seen(EditStep::Remove("a".into())), [true; 3]);
    }

    #[test]
    fn a_declared_list_capability_stays_declared_when_the_list_is_empty() {
        let registry = prompts(&["a"], 10);
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Remove("a".into())],
        );
        let snapshot = registry.snapshot();
        assert!(snapshot.has_prompts() && !snapshot.has_tools());
        assert_eq!(page(&snapshot, Capability::Prompts, None), (vec![], None));
    }

    #[test]
    fn a_declared_completion_capability_stays_declared() {
        let registry = prompts(&["a"], 10);
        assert!(!registry.snapshot().has_completers());
        let completing = prompt("b").optional("x", "").candidates("x", ["1"]);
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Insert(completing.into_item())],
        );
        change(
            &registry,
            Capability::Prompts,
            vec![EditStep::Remove("b".into())],
        );
        assert!(registry.snapshot().has_completers());
    }

    #[test]
    fn definitions_outside_the_selection_of_the_server_are_not_served() {
        let rules = ServerRules {
            selection: Some(TagSelection::parse("kept").unwrap()),
            described_tags: vec!["kept".to_owned()],
            ..ServerRules::default()
        };
        let registry = Registry::build(Sources {
            only: Some(Vec::new()),
            rules: Arc::new(rules),
            ..Sources::default()
        });
        let registry = registry.unwrap();
        let edit = |step: EditStep| {
            let list = Capability::Prompts;
            registry.edit(Edit {
                list,
                steps: vec![step],
            })
        };
        let other = || prompt("other").tags(["other"]).into_item();
        let edited = edit(EditStep::Insert(other())).unwrap();
        assert!(edited.changed && edited.audience.is_empty());
        assert!(edit(EditStep::Insert(other())).is_err());
        assert!(registry.snapshot().prompts.get("other").is_none());
        let disabled = edit(EditStep::Disable("other".into())).unwrap();
        assert!(disabled.changed && disabled.audience.is_empty());
        let replaced = prompt("other").tags(["kept"]).into_item();
        let replaced = edit(EditStep::Replace(replaced)).unwrap();
        assert!(!replaced.audience.is_empty());
        assert!(registry.snapshot().prompts.get("other").is_some());
    }
}
