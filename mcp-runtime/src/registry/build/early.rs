//! What was changed before the start: made in order, on what the program declares.
//!
//! Hiding what is not there is an error here, because a misspelt name would leave open what was meant to be shut.

use super::Names;
use crate::context::Edit;
use crate::registry::edit::{self, Missing, Taken};
use crate::registry::snapshot::Snapshot;

/// Makes the changes, and adds to the problems those that cannot be made.
pub(super) fn apply(
    snapshot: &mut Snapshot,
    edits: Vec<Edit>,
    declared: &Names,
    problems: &mut Vec<String>,
) {
    for edit in merge(edits) {
        let prepared = match edit::prepare(edit) {
            Ok(prepared) => prepared,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        let noun = prepared.noun();
        problems.extend(
            prepared
                .missing(snapshot)
                .iter()
                .map(|missing| no_such(noun, missing)),
        );
        match edit::apply(snapshot, prepared) {
            Ok((next, _)) => *snapshot = next,
            Err(Taken { noun, name }) => {
                problems.push(match declared.get(&(noun, name.as_str())) {
                    Some(location) => format!(
                        "{noun} `{name}` is used twice; first used at {location}, then by a definition made at run time"
                    ),
                    None => format!(
                        "{noun} `{name}` is used twice, both times by a definition made at run time"
                    ),
                });
            }
        }
    }
}

fn no_such(noun: &str, Missing { name, suggestion }: &Missing) -> String {
    let suggestion = suggestion
        .as_ref()
        .map(|name| format!("; did you mean `{name}`?"));
    format!(
        "{noun} `{name}` is to be shown, hidden or removed, but is not served{}",
        suggestion.unwrap_or_default()
    )
}

/// Neighbours that change the same list become one edit, because every edit copies its list.
fn merge(edits: Vec<Edit>) -> Vec<Edit> {
    let mut merged: Vec<Edit> = Vec::new();
    for edit in edits {
        match merged.last_mut() {
            Some(last) if last.list == edit.list => last.steps.extend(edit.steps),
            _ => merged.push(edit),
        }
    }
    merged
}
