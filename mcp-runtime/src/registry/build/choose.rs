//! Which definitions of a program are served.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Build;
use crate::handler::definition::{Definition, Kind, Owner, Selected};

/// Most methods that are named in one message.
const LISTED: usize = 5;

/// The definitions to serve, each with its number in the program.
pub(super) fn choose(
    only: Option<&[Selected]>,
    groups: &[String],
    definitions: &[&'static Definition],
    build: &mut Build,
) -> Vec<(u32, &'static Definition)> {
    for selected in only.unwrap_or_default() {
        let found = definitions
            .iter()
            .find(|definition| definition.function == selected.function);
        match found {
            None => build.problems.push(format!(
                "`{}` is not registered: is it annotated?",
                selected.path
            )),
            Some(first) if first.kind != selected.kind => {
                let is = first.kind.attribute();
                let name = selected.path.rsplit("::").next().unwrap_or(selected.path);
                build.problems.push(format!(
                    "{}: `{}` was chosen as a {}, but is a {}; write `{is}({name})`",
                    first.location,
                    selected.path,
                    selected.kind.attribute().replace('_', " "),
                    is.replace('_', " "),
                ));
            }
            Some(_) => {}
        }
    }
    let known: BTreeSet<_> = definitions
        .iter()
        .filter_map(|definition| definition.options.group)
        .collect();
    let scoped: Vec<_> = build
        .group_scopes
        .iter()
        .map(|(group, _)| group.clone())
        .collect();
    for group in groups.iter().chain(&scoped) {
        if !known.contains(group.as_str()) {
            let known: Vec<_> = known.iter().map(|group| format!("`{group}`")).collect();
            build.problems.push(if known.is_empty() {
                format!("no definition has the group `{group}`; none has a group")
            } else {
                format!(
                    "no definition has the group `{group}`; groups are {}",
                    known.join(", ")
                )
            });
        }
    }
    let everything = only.is_none() && groups.is_empty();
    let mut chosen = Vec::new();
    let mut orphans: Vec<(Owner, Vec<&Definition>)> = Vec::new();
    for (rank, definition) in (0_u32..).zip(definitions.iter().copied()) {
        let asked = only.is_some_and(|only| {
            only.iter()
                .any(|selected| selected.function == definition.function)
        }) || definition
            .options
            .group
            .is_some_and(|group| groups.iter().any(|asked| asked == group));
        if definition.kind == Kind::Completer || !(everything || asked) {
            continue;
        }
        match definition.receiver {
            Some(owner) if !build.receivers.contains_key(&owner.id) => {
                match orphans.iter_mut().find(|(other, _)| other.id == owner.id) {
                    Some((_, methods)) => methods.push(definition),
                    None => orphans.push((owner, vec![definition])),
                }
            }
            _ => chosen.push((rank, definition)),
        }
    }
    for (owner, methods) in orphans {
        build.problems.push(orphaned(owner.name, &methods));
    }
    chosen
}

/// How to say that methods have no value to be called on.
fn orphaned(owner: &str, methods: &[&Definition]) -> String {
    let mut text = match methods {
        [_] => format!("1 method of `{owner}` has"),
        several => format!("{} methods of `{owner}` have", several.len()),
    };
    text.push_str(" no value to be called on; add `.handlers(…)`, or choose what is served with `.only(…)` or `.group(…)`:");
    for (index, method) in methods.iter().take(LISTED).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma} `{}` at {}", method.name, method.location);
    }
    if let Some(more) = methods.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = write!(text, ", and {more} more");
    }
    text
}

/// Why nothing is served.
pub(super) fn nothing() -> String {
    "nothing is registered: annotate a function with `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]`; if \
     your functions are in a library crate, name it: `use your_lib as _;`; if everything is inserted while the server \
     runs, say `.only([])`"
        .into()
}
