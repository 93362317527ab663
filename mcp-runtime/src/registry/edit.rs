//! Edits while the server runs: prepared and checked first, then applied together to a copy.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::context::{Edit, List, Step};
use crate::error::{Error, ErrorKind};
use crate::handler::audience::Audience;
use crate::handler::dynamic::Item;
use crate::handler::suggest::closest;
use crate::registry::dynamic;
use crate::registry::entry::{Entry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{Key, Slot, Table};

/// Changes whose definitions have been checked.
pub(super) struct Prepared {
    list: List,
    steps: Vec<Change>,
}

/// One change.
enum Change {
    Put { made: Made, replace: bool },
    Remove(String),
    Show(String, bool),
}

/// A checked definition.
pub(super) enum Made {
    Tool(Arc<ToolEntry>),
    Prompt(Arc<PromptEntry>),
    Resource(Arc<ResourceEntry>),
    Template(Arc<TemplateEntry>),
}

/// Checks a definition.
pub(super) fn make(item: Item) -> Result<Made, String> {
    let (what, made) = match item {
        Item::Tool(definition) => (
            format!("tool `{}`", definition.name),
            dynamic::tool(definition).map(|entry| Made::Tool(Arc::new(entry))),
        ),
        Item::Prompt(definition) => (
            format!("prompt `{}`", definition.name),
            dynamic::prompt(definition).map(|entry| Made::Prompt(Arc::new(entry))),
        ),
        Item::Resource(definition) => (
            format!("resource `{}`", definition.uri),
            dynamic::resource(definition).map(|entry| Made::Resource(Arc::new(entry))),
        ),
        Item::Template(definition) => (
            format!("resource template `{}`", definition.uri_template),
            dynamic::template(definition).map(|entry| Made::Template(Arc::new(entry))),
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
    fn touch<E: Entry>(&mut self, slot: &Slot<E>) {
        if slot.enabled {
            self.audience.add_users(slot.entry.access());
        }
    }
}

/// The error for a name that is already in use.
pub(super) struct Taken {
    pub(super) noun: &'static str,
    pub(super) name: String,
}

impl From<Taken> for Error {
    fn from(Taken { noun, name }: Taken) -> Self {
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

impl Prepared {
    /// Returns the names of definitions to enable, disable or remove that do not exist.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Vec<Missing> {
        let mut known = match self.list {
            List::Tools => all(&snapshot.tools),
            List::Prompts => all(&snapshot.prompts),
            List::Resources => all(&snapshot.resources),
            List::Templates => all(&snapshot.templates),
        };
        let mut missing = Vec::new();
        for step in &self.steps {
            let (name, is_there) = match step {
                Change::Put { made, .. } => {
                    known.insert(made.found_by().to_owned());
                    continue;
                }
                Change::Remove(name) => (name, known.remove(name)),
                Change::Show(name, _) => (name, known.contains(name)),
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
            List::Tools => "tool",
            List::Prompts => "prompt",
            List::Resources => "resource",
            List::Templates => "resource template",
        }
    }
}

impl Made {
    fn found_by(&self) -> &str {
        match self {
            Self::Tool(entry) => entry.found_by(),
            Self::Prompt(entry) => entry.found_by(),
            Self::Resource(entry) => entry.found_by(),
            Self::Template(entry) => entry.found_by(),
        }
    }
}

fn all<E: Entry>(table: &Table<E>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for slot in table.slots() {
        all.insert(slot.entry.found_by().to_owned());
    }
    all
}

/// Checks all definitions of an edit, and reports all problems.
pub(super) fn prepare(edit: Edit) -> Result<Prepared, Vec<String>> {
    let mut problems = Vec::new();
    let mut steps = Vec::new();
    for step in edit.steps {
        let (item, replace) = match step {
            Step::Insert(item) => (item, false),
            Step::Replace(item) => (item, true),
            Step::Remove(name) => {
                steps.push(Change::Remove(name));
                continue;
            }
            Step::Enable(name) => {
                steps.push(Change::Show(name, true));
                continue;
            }
            Step::Disable(name) => {
                steps.push(Change::Show(name, false));
                continue;
            }
        };
        match make(item) {
            Ok(made) => steps.push(Change::Put { made, replace }),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(Prepared {
            list: edit.list,
            steps,
        })
    } else {
        Err(problems)
    }
}

/// Applies all changes to a copy.
pub(super) fn apply(snapshot: &Snapshot, prepared: Prepared) -> Result<(Snapshot, Edited), Taken> {
    let mut next = snapshot.clone();
    let Prepared { list, steps } = prepared;
    let edited = match list {
        List::Tools => edit(&mut next.tools, steps, |made| match made {
            Made::Tool(entry) => Some(entry),
            _ => None,
        }),
        List::Prompts => edit(&mut next.prompts, steps, |made| match made {
            Made::Prompt(entry) => Some(entry),
            _ => None,
        }),
        List::Resources => edit(&mut next.resources, steps, |made| match made {
            Made::Resource(entry) => Some(entry),
            _ => None,
        }),
        List::Templates => edit(&mut next.templates, steps, |made| match made {
            Made::Template(entry) => Some(entry),
            _ => None,
        }),
    }?;
    next.offer_what_is_there();
    Ok((next, edited))
}

fn edit<E: Entry>(
    table: &mut Arc<Table<E>>,
    steps: Vec<Change>,
    take: fn(Made) -> Option<Arc<E>>,
) -> Result<Edited, Taken> {
    let mut slots: Vec<Option<Slot<E>>> = table.slots().iter().cloned().map(Some).collect();
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
            Change::Put { made, replace } => {
                let Some(entry) = take(made) else {
                    continue;
                };
                edited.audience.add_users(entry.access());
                let name = entry.found_by().to_owned();
                let held = places.get(&name).and_then(|index| slots.get_mut(*index));
                match held {
                    Some(_) if !replace => {
                        return Err(Taken {
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
                        slots.push(Some(Slot {
                            key: Key::Inserted(name.into()),
                            entry,
                            enabled: true,
                        }));
                    }
                }
                edited.changed = true;
            }
            Change::Remove(name) => {
                let held = places
                    .remove(&name)
                    .and_then(|index| slots.get_mut(index)?.take());
                if let Some(slot) = held {
                    edited.changed = true;
                    edited.touch(&slot);
                }
            }
            Change::Show(name, enabled) => {
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
        *table = Arc::new(Table::new(slots.into_iter().flatten().collect()));
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
            List::Prompts,
            vec![Step::Insert(prompt("a").into_item())]
        ));
        assert_eq!(registry.snapshot().names(List::Prompts), ["a", "b", "c"]);
    }

    #[test]
    fn what_is_disabled_is_neither_listed_nor_found() {
        let registry = prompts(&["a", "b"], 10);
        assert!(change(
            &registry,
            List::Prompts,
            vec![Step::Disable("a".into())]
        ));
        let snapshot = registry.snapshot();
        assert!(snapshot.prompts.get("a").is_none());
        assert_eq!(page(&snapshot, List::Prompts, None).0, ["b"]);
        assert!(snapshot.has_prompts());
        assert!(change(
            &registry,
            List::Prompts,
            vec![Step::Enable("a".into())]
        ));
        assert!(registry.snapshot().prompts.get("a").is_some());
        assert_eq!(
            page(&registry.snapshot(), List::Prompts, None).0,
            ["a", "b"]
        );
    }

    #[test]
    fn an_edit_that_changes_nothing_says_so() {
        let registry = prompts(&["a"], 10);
        for step in [
            Step::Enable("a".into()),
            Step::Enable("x".into()),
            Step::Disable("x".into()),
            Step::Remove("x".into()),
        ] {
            assert!(!change(&registry, List::Prompts, vec![step]));
        }
    }

    #[test]
    fn a_taken_name_undoes_the_whole_edit() {
        let registry = prompts(&["a"], 10);
        let error = registry
            .edit(Edit {
                list: List::Prompts,
                steps: vec![
                    Step::Insert(prompt("b").into_item()),
                    Step::Insert(prompt("a").into_item()),
                ],
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate);
        assert_eq!(error.to_string(), "the prompt name `a` is already in use");
        assert_eq!(registry.snapshot().names(List::Prompts), ["a"]);
    }

    #[test]
    fn replacing_keeps_the_place_and_enables() {
        let registry = prompts(&["a", "b"], 10);
        change(
            &registry,
            List::Prompts,
            vec![
                Step::Disable("a".into()),
                Step::Replace(prompt("a").title("new").into_item()),
            ],
        );
        let snapshot = registry.snapshot();
        assert_eq!(snapshot.names(List::Prompts), ["a", "b"]);
        let title = &snapshot.prompts.get("a").unwrap().prompt.title;
        assert_eq!(title.as_deref(), Some("new"));
    }

    #[test]
    fn a_name_can_be_removed_and_inserted_again_in_one_edit() {
        let registry = prompts(&["a", "b"], 10);
        change(
            &registry,
            List::Prompts,
            vec![
                Step::Remove("a".into()),
                Step::Insert(prompt("a").into_item()),
                Step::Remove("b".into()),
            ],
        );
        assert_eq!(registry.snapshot().names(List::Prompts), ["a"]);
    }

    #[test]
    fn a_call_keeps_the_snapshot_it_started_with() {
        let registry = prompts(&["a"], 10);
        let before = registry.snapshot();
        change(&registry, List::Prompts, vec![Step::Remove("a".into())]);
        assert!(before.prompts.get("a").is_some());
        assert!(registry.snapshot().prompts.get("a").is_none());
    }

    #[test]
    fn everything_wrong_with_a_definition_is_said() {
        let registry = prompts(&[], 10);
        let error = registry
            .edit(Edit {
                list: List::Prompts,
                steps: vec![Step::Insert(
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
        expect_test::expect!["prompt `p`: meta key `dev.mcp/x` is reserved for the protocol; use another prefix, such as `com.example/`; argument `x` is defined twice; candidates for `y`, which is no argument"].assert_eq(&error.to_string());
    }

    #[test]
    fn removing_what_nobody_sees_is_a_change_nobody_sees() {
        let registry = prompts(&["a", "b"], 10);
        change(&registry, List::Prompts, vec![Step::Disable("a".into())]);
        let edited = registry.edit(Edit {
            list: List::Prompts,
            steps: vec![Step::Remove("a".into())],
        });
        let edited = edited.unwrap();
        assert!(edited.changed && edited.audience.is_empty());
    }

    #[test]
    fn an_edit_says_who_sees_another_list() {
        let registry = prompts(&[], 10);
        let [reader, writer, nobody] = ["read", "write", ""]
            .map(|scope| Caller::from(Principal::new("alice").scopes([scope])));
        let seen = |step| {
            let (list, steps) = (List::Prompts, vec![step]);
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
        assert_eq!(seen(Step::Insert(reading())), readers);
        assert_eq!(seen(Step::Replace(writing())), both);
        assert_eq!(seen(Step::Disable("a".into())), writers);
        // It was visible to no caller.
        assert_eq!(seen(Step::Replace(reading())), readers);
        assert_eq!(seen(Step::Replace(prompt("a").into_item())), [true; 3]);
        assert_eq!(seen(Step::Remove("a".into())), [true; 3]);
    }

    #[test]
    fn a_list_that_was_offered_stays_offered() {
        let registry = prompts(&["a"], 10);
        change(&registry, List::Prompts, vec![Step::Remove("a".into())]);
        let snapshot = registry.snapshot();
        assert!(snapshot.has_prompts() && !snapshot.has_tools());
        assert_eq!(page(&snapshot, List::Prompts, None), (vec![], None));
    }

    #[test]
    fn completions_that_were_offered_stay_offered() {
        let registry = prompts(&["a"], 10);
        assert!(!registry.snapshot().has_completers());
        let completing = prompt("b").optional("x", "").candidates("x", ["1"]);
        change(
            &registry,
            List::Prompts,
            vec![Step::Insert(completing.into_item())],
        );
        change(&registry, List::Prompts, vec![Step::Remove("b".into())]);
        assert!(registry.snapshot().has_completers());
    }
}
