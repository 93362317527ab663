//! Which definitions of a program are served.

use std::collections::BTreeSet;

use super::Build;
use crate::handler::definition::{Definition, Kind, Selected};
use crate::registry::declared;

/// The definitions to serve, each with its number in the program.
pub(super) fn choose(
    only: Option<&[Selected]>,
    groups: &[String],
    definitions: &[&'static Definition],
    build: &mut Build,
) -> Vec<(u32, &'static Definition)> {
    for selected in only.unwrap_or_default() {
        if !definitions
            .iter()
            .any(|definition| definition.function == selected.function)
        {
            build.problems.push(format!(
                "`{}` is not registered: is it annotated?",
                selected.path
            ));
        }
    }
    let known: BTreeSet<_> = definitions
        .iter()
        .filter_map(|definition| definition.options.group)
        .collect();
    for group in groups {
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
            Some(receiver) if !build.receivers.contains_key(&receiver) => {
                // Without a choice, methods nobody gave a value for are those of another server in the program.
                if asked {
                    build.problem(
                        definition,
                        "is a method, and no value to call it on was given; add `.handlers(…)`",
                    );
                }
            }
            _ => chosen.push((rank, definition)),
        }
    }
    chosen
}

/// Why nothing is served.
pub(super) fn nothing(definitions: &[&'static Definition]) -> String {
    match definitions
        .iter()
        .find(|definition| definition.kind != Kind::Completer)
    {
        Some(method) => format!(
            "nothing is served: every annotated function is a method, such as {} at {}, and no value to call them on was \
             given; add `.handlers(…)`",
            declared::describe(method),
            method.location
        ),
        None => "nothing is registered: annotate a function with `#[tool]`, `#[prompt]`, `#[resource]` or \
                 `#[resource_template]`; if your functions are in a library crate, name it: `use your_lib as _;`; if \
                 everything is inserted while the server runs, say `.only([])`"
            .into(),
    }
}
