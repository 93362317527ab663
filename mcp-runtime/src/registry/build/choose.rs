//! Selects the definitions to serve.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::Build;
use crate::context::{Capability, Edit};
use crate::handler::definition::{Definition, Kind, Owner, Selected};
use crate::handler::option::ToolUse;
use crate::handler::tags::UnknownTag;
use crate::order::set_of;

/// Maximum number of methods listed in a message.
const LISTED: usize = 5;

/// Returns the definitions to serve, each with its position in the program.
pub(super) fn choose_definitions(
    only: Option<&[Selected]>,
    tags: &[String],
    definitions: &[&'static Definition],
    early: &[Edit],
    build: &mut Build,
) -> Vec<(u32, &'static Definition)> {
    for selected in only.unwrap_or_default() {
        let problem = selection_problem(selected, definitions);
        build.problems.extend(problem);
    }
    let known = set_of(
        definitions
            .iter()
            .flat_map(|definition| definition.options.tags.iter().copied()),
    );
    let rules = Arc::clone(&build.rules);
    let mut check = |tag: &str, known: &BTreeSet<&str>| {
        if !known.contains(tag) {
            let unknown = UnknownTag::new(tag, known.iter().copied());
            build.problems.push(unknown.to_string());
        }
    };
    for tag in tags {
        check(tag, &known);
    }
    // Definitions inserted at run time can also have this tag.
    let mut known = known;
    known.extend(early.iter().flat_map(Edit::tags));
    known.extend(rules.described_tags());
    for (tag, _) in &rules.tag_scopes {
        check(tag, &known);
    }
    let choice = AuthorChoice { only, tags };
    let companions = choice.companions(definitions);
    let mut chosen = Vec::new();
    let mut orphans: Vec<(Owner, Vec<&Definition>)> = Vec::new();
    for (rank, definition) in (0_u32..).zip(definitions.iter().copied()) {
        let is_companion = definition.kind == Kind::Resource
            && !definition.options.attached.is_empty()
            && companions
                .iter()
                .any(|uri| *uri == *Capability::Resources.lookup_key(definition.options.uri));
        if definition.kind == Kind::Completer || !(choice.includes(definition) || is_companion) {
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
        build
            .problems
            .push(missing_receiver_message(owner.name, &methods));
    }
    chosen
}

/// Checks that prefixes are given to tools and prompts, and at most one to each.
pub(super) fn check_prefixes(definitions: &[&'static Definition], build: &mut Build) {
    let rules = Arc::clone(&build.rules);
    let mut prefixed = Vec::new();
    for selected in rules.prefixes.iter().flat_map(|(_, functions)| functions) {
        if let Some(problem) = selection_problem(selected, definitions) {
            build.problems.push(problem);
        } else if !selected.kind.has_name_for_clients() {
            build.problems.push(format!(
                "`{}` cannot have a prefix: clients call tools and prompts by name, and all others by URI",
                selected.path
            ));
        } else if prefixed.contains(&selected.function) {
            let problem = format!("`{}` is given two prefixes", selected.path);
            build.problems.push(problem);
        } else {
            prefixed.push(selected.function);
        }
    }
}

/// Returns the problem with a selected function, if it is not annotated or if its attribute is a different one.
fn selection_problem(selected: &Selected, definitions: &[&'static Definition]) -> Option<String> {
    let found = definitions
        .iter()
        .find(|definition| definition.function == selected.function);
    match found {
        None => Some(format!(
            "`{}` is not registered: is it annotated?",
            selected.path
        )),
        Some(first) if first.kind != selected.kind => {
            let is = first.kind.attribute();
            let name = selected.path.rsplit("::").next().unwrap_or(selected.path);
            Some(format!(
                "{}: `{}` was chosen as a {}, but is a {}; write `{is}({name})`",
                first.location,
                selected.path,
                selected.kind.attribute().replace('_', " "),
                is.replace('_', " "),
            ))
        }
        Some(_) => None,
    }
}

/// The author's selection: functions, tags, or everything.
#[derive(Clone, Copy)]
pub(crate) struct AuthorChoice<'a> {
    pub(crate) only: Option<&'a [Selected]>,
    pub(crate) tags: &'a [String],
}

impl AuthorChoice<'_> {
    fn includes_all(self) -> bool {
        self.only.is_none() && self.tags.is_empty()
    }

    pub(super) fn includes(self, definition: &Definition) -> bool {
        if self.includes_all() {
            return true;
        }
        let mut only = self.only.unwrap_or_default().iter();
        let mut tags = definition.options.tags.iter();
        only.any(|selected| selected.function == definition.function)
            || tags.any(|tag| self.tags.iter().any(|asked| asked == tag))
    }

    /// Returns the URIs of the resources that belong to selected tools. Those with an option of an add-on are served, too.
    pub(crate) fn companions(self, definitions: &[&'static Definition]) -> Vec<String> {
        if self.includes_all() {
            return Vec::new();
        }
        let tools = definitions
            .iter()
            .filter(|definition| definition.kind == Kind::Tool && self.includes(definition));
        let metas = tools.filter_map(|tool| tool.options.meta);
        metas
            .filter_map(|meta| {
                let meta = meta();
                let companion = ToolUse::of_meta(meta.as_object()?).companion?;
                Some(Capability::Resources.lookup_key(companion).into_owned())
            })
            .collect()
    }
}

/// Returns the message about methods for which the server has no receiver.
fn missing_receiver_message(owner: &str, methods: &[&Definition]) -> String {
    let mut text = match methods {
        [_] => format!("1 method of `{owner}` has"),
        several => format!("{} methods of `{owner}` have", several.len()),
    };
    text.push_str(" no value to be called on; add `.handlers(…)`, or choose what is served with `.only(…)` or `.tags(…)`:");
    for (index, method) in methods.iter().take(LISTED).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma} `{}` at {}", method.name, method.location);
    }
    if let Some(more) = methods.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = write!(text, ", and {more} more");
    }
    text
}

/// Returns the message for a server that has no definitions to serve.
pub(super) fn nothing_to_serve_message() -> String {
    "nothing is registered: annotate a function with `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]`; if \
     your functions are in a library crate, name it: `use your_lib as _;`; if everything is inserted while the server \
     runs, call `.only([])`"
        .into()
}
