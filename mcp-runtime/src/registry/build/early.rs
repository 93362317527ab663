//! Edits requested before the server starts, which are applied in order to the program's definitions.
//!
//! At this stage, hiding an item that does not exist is an error, because a misspelled name would leave the intended
//! item visible.

use std::borrow::Cow;

use super::DeclaredNames;
use crate::context::Edit;
use crate::registry::edit::{self, MissingName, NameTaken};
use crate::registry::server_rules::ServerRules;
use crate::registry::snapshot::Snapshot;

/// Applies the edits. If an edit cannot be applied, the reason is added to `problems`.
pub(super) fn apply_early_edits(
    snapshot: &mut Snapshot,
    edits: Vec<Edit>,
    declared: &DeclaredNames,
    rules: &ServerRules,
    problems: &mut Vec<String>,
) {
    for edit in merge_edits(edits) {
        let prepared = match edit::prepare(edit, rules) {
            Ok(prepared) => prepared,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        let noun = prepared.list.noun();
        problems.extend(
            prepared
                .missing(snapshot)
                .iter()
                .map(|missing| no_such_name(noun, missing)),
        );
        match edit::apply(snapshot, prepared, rules) {
            Ok((next, _)) => *snapshot = next,
            Err(NameTaken { noun, name }) => {
                problems.push(match declared.get(&(noun, Cow::from(name.to_string()))) {
                    Some(location) => format!(
                        "{noun} `{name}` is used twice: first at {location}, then by a definition created at run time"
                    ),
                    None => format!(
                        "{noun} `{name}` is used twice, both times by a definition created at run time"
                    ),
                });
            }
        }
    }
}

fn no_such_name(noun: &str, MissingName { name, suggestion }: &MissingName) -> String {
    let suggestion = suggestion
        .as_ref()
        .map(|name| format!("; did you mean `{name}`?"));
    format!(
        "cannot show, hide or remove {noun} `{name}`, which is not served{}",
        suggestion.unwrap_or_default()
    )
}

/// Merges adjacent edits to the same list, because each edit copies its list.
fn merge_edits(edits: Vec<Edit>) -> Vec<Edit> {
    let mut merged: Vec<Edit> = Vec::new();
    for edit in edits {
        match merged.last_mut() {
            Some(last) if last.list == edit.list => last.steps.extend(edit.steps),
            _ => merged.push(edit),
        }
    }
    merged
}
