//! Edits while the server runs: prepared and checked first, then applied together to a copy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use mcp_schema::suggest::closest;

use crate::context::{Capability, Edit, EditStep};
use crate::error::{Error, ErrorKind};
use crate::handler::audience::Audience;
use crate::handler::dynamic::Item;
use crate::registry::dynamic;
use crate::registry::entry::{ListEntry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{EntryTable, OrderKey, TableEntry};

/// Changes whose definitions have been checked.
pub(super) struct PreparedEdit {
    list: Capability,
    steps: Vec<EntryEdit>,
}

/// One change.
enum EntryEdit {
    Put { made: CheckedEntry, replace: bool },
    Remove(String),
    Show(String, bool),
}

/// A checked definition.
pub(super) enum CheckedEntry {
    Tool(Arc<ToolEntry>),
    Prompt(Arc<PromptEntry>),
    Resource(Arc<ResourceEntry>),
    Template(Arc<TemplateEntry>),
}

/// Checks a definition.
pub(super) fn make(item: Item) -> Result<CheckedEntry, String> {
    let (what, made) = match item {
        Item::Tool(definition) => (
            format!("tool `{}`", definition.name),
            dynamic::tool(definition).map(|entry| CheckedEntry::Tool(Arc::new(entry))),
        ),
        Item::Prompt(definition) => (
            format!("prompt `{}`", definition.name),
            dynamic::prompt(definition).map(|entry| CheckedEntry::Prompt(Arc::new(entry))),
        ),
        Item::Resource(definition) => (
            format!("resource `{}`", definition.uri),
            dynamic::resource(definition).map(|entry| CheckedEntry::Resource(Arc::new(entry))),
        ),
        Item::Template(definition) => (
            format!("resource template `{}`", definition.uri_template),
            dynamic::template(definition).map(|entry| CheckedEntry::Template(Arc::new(entry))),
        ),
    };
    made.map_err(|problems| format!("{what}: {}", problems.join("; ")))
}

/// The result of an edit.
#[derive(Debug, Default)]
pub(crate) struct Edited {
    /// `true` if anything changed.
    pub(crate) changed: bool,
    /// The callers whose list changed.
    pub(crate) audience: Audience,
}

impl Edited {
    /// Records that a slot is changed, or is about to be.
    fn touch<E: ListEntry>(&mut self, slot: &TableEntry<E>) {
        if slot.enabled {
            self.audience.add_users(slot.entry.access());
        }
    }
}

/// The error for a name that is already in use.
pub(super) struct NameTaken {
    pub(super) noun: &'static str,
    pub(super) name: String,
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
pub(super) struct Missing {
    pub(super) name: String,
    pub(super) suggestion: Option<String>,
}

impl PreparedEdit {
    /// Returns the names of definitions to enable, disable or remove that do not exist.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Vec<Missing> {
        let mut known = match self.list {
            Capability::Tools => all(&snapshot.tools),
            Capability::Prompts => all(&snapshot.prompts),
            Capability::Resources => all(&snapshot.resources),
            Capability::Templates => all(&snapshot.templates),
        };
        let mut missing = Vec::new();
        for step in &self.steps {
            let (name, is_there) = match step {
                EntryEdit::Put { made, .. } => {
                    known.insert(made.found_by().to_owned());
                    continue;
                }
                EntryEdit::Remove(name) => (name, known.remove(name)),
                EntryEdit::Show(name, _) => (name, known.contains(name)),
            };
            if !is_there {
                let suggestion = closest(name, known.iter().map(String::as_str));
                missing.push(Missing {
                    name: name.clone(),
                    suggestion: suggestion.map(str::to_owned),
                });
            }
        }
        missing
    }

    /// Returns the noun for an item of the list.
    pub(super) fn noun(&self) -> &'static str {
        match self.list {
            Capability::Tools => "tool",
            Capability::Prompts => "prompt",
            Capability::Resources => "resource",
            Capability::Templates => "resource template",
        }
    }
}

impl CheckedEntry {
    fn found_by(&self) -> &str {
        match self {
            Self::Tool(entry) => entry.found_by(),
            Self::Prompt(entry) => entry.found_by(),
            Self::Resource(entry) => entry.found_by(),
            Self::Template(entry) => entry.found_by(),
        }
    }
}

fn all<E: ListEntry>(table: &EntryTable<E>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for slot in table.slots() {
        all.insert(slot.entry.found_by().to_owned());
    }
    all
}

/// Checks all definitions of an edit, and reports all problems.
pub(super) fn prepare(edit: Edit) -> Result<PreparedEdit, Vec<String>> {
    let mut problems = Vec::new();
    let mut steps = Vec::new();
    for step in edit.steps {
        let (item, replace) = match step {
            EditStep::Insert(item) => (item, false),
            EditStep::Replace(item) => (item, true),
            EditStep::Remove(name) => {
                steps.push(EntryEdit::Remove(name));
                continue;
            }
            EditStep::Enable(name) => {
                steps.push(EntryEdit::Show(name, true));
                continue;
            }
            EditStep::Disable(name) => {
                steps.push(EntryEdit::Show(name, false));
                continue;
            }
        };
        match make(item) {
            Ok(made) => steps.push(EntryEdit::Put { made, replace }),
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

/// Applies all changes to a copy.
pub(super) fn apply(
    snapshot: &Snapshot,
    prepared: PreparedEdit,
) -> Result<(Snapshot, Edited), NameTaken> {
    let mut next = snapshot.clone();
    let PreparedEdit { list, steps } = prepared;
    let edited = match list {
        Capability::Tools => edit(&mut next.tools, steps, |made| match made {
            CheckedEntry::Tool(entry) => Some(entry),
            _ => None,
        }),
        Capability::Prompts => edit(&mut next.prompts, steps, |made| match made {
            CheckedEntry::Prompt(entry) => Some(entry),
            _ => None,
        }),
        Capability::Resources => edit(&mut next.resources, steps, |made| match made {
            CheckedEntry::Resource(entry) => Some(entry),
            _ => None,
        }),
        Capability::Templates => edit(&mut next.templates, steps, |made| match made {
            CheckedEntry::Template(entry) => Some(entry),
            _ => None,
        }),
    }?;
    next.offer_what_is_there();
    Ok((next, edited))
}

fn edit<E: ListEntry>(
    table: &mut Arc<EntryTable<E>>,
    steps: Vec<EntryEdit>,
    take: fn(CheckedEntry) -> Option<Arc<E>>,
) -> Result<Edited, NameTaken> {
    let mut slots: Vec<Option<TableEntry<E>>> = table.slots().iter().cloned().map(Some).collect();
    // Searching for each name would make a large batch slow.
    let mut places: HashMap<String, usize> = table
        .slots()
        .iter()
        .enumerate()
        .map(|(index, slot)| (slot.entry.found_by().to_owned(), index))
        .collect();
    let mut edited = Edited::default();
    for step in steps {
        match step {
            EntryEdit::Put { made, replace } => {
                let Some(entry) = take(made) else {
                    continue;
                };
                edited.audience.add_users(entry.access());
                let name = entry.found_by().to_owned();
                let held = places.get(&name).and_then(|index| slots.get_mut(*index));
                match held {
                    Some(_) if !replace => {
                        return Err(NameTaken {
                            noun: E::NOUN,
                            name,
                        });
                    }
                    Some(Some(slot)) => {
                        edited.touch(slot);
                        slot.entry = entry;
                        slot.enabled = true;
                    }
                    _ => {
                        places.insert(name.clone(), slots.len());
                        slots.push(Some(TableEntry {
                            key: OrderKey::Inserted(name.into()),
                            entry,
                            enabled: true,
                        }));
                    }
                }
                edited.changed = true;
            }
            EntryEdit::Remove(name) => {
                let held = places
                    .remove(&name)
                    .and_then(|index| slots.get_mut(index)?.take());
                if let Some(slot) = held {
                    edited.changed = true;
                    edited.touch(&slot);
                }
            }
            EntryEdit::Show(name, enabled) => {
                let held = places.get(&name).and_then(|index| slots.get_mut(*index));
                if let Some(Some(slot)) = held
                    && slot.enabled != enabled
                {
                    edited.touch(slot);
                    slot.enabled = enabled;
                    edited.touch(slot);
                    edited.changed = true;
                }
            }
        }
    }
    if edited.changed {
        *table = Arc::new(EntryTable::new(slots.into_iter().flatten().collect()));
    }
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Caller, Principal};
    use crate::handler::dynamic::ItemKind;
    use crate::registry::fixture::{change, page, prompt, prompts};

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
    fn what_is_disabled_is_neither_listed_nor_found() {
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
    fn an_edit_that_changes_nothing_says_so() {
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
    fn a_taken_name_undoes_the_whole_edit() {
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
    fn replacing_keeps_the_place_and_enables() {
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
        let title = &snapshot.prompts.get("a").unwrap().prompt.title;
        assert_eq!(title.as_deref(), Some("new"));
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
    fn everything_wrong_with_a_definition_is_said() {
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
        expect_test::expect!["prompt `p`: meta key `dev.mcp/x` is reserved for the protocol; use another prefix, such as `com.example/`; argument `x` is defined twice; candidates for `y`, but there is no such argument"].assert_eq(&error.to_string());
    }

    #[test]
    fn removing_what_nobody_sees_is_a_change_nobody_sees() {
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
    fn an_edit_says_who_sees_another_list() {
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
        // It was visible to no caller.
        assert_eq!(seen(EditStep::Replace(reading())), readers);
        assert_eq!(seen(EditStep::Replace(prompt("a").into_item())), [true; 3]);
        assert_eq!(seen(EditStep::Remove("a".into())), [true; 3]);
    }

    #[test]
    fn a_list_that_was_offered_stays_offered() {
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
    fn completions_that_were_offered_stay_offered() {
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
}
