//! Edits made while the server is running. All changes are checked first and then applied together to a copy.

#[cfg(test)]
mod tests;

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
