//! Gathers annotated functions and dynamic definitions into the first snapshot and reports all problems.

mod choose;
mod completers;
mod early;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::context::{Capability, Edit, EditStep, LazyState, States, short_type_name};
use crate::error::{Error, ErrorKind};
use crate::handler::decode::ArgumentInfo;
use crate::handler::definition::{Definition, Kind, Location, Options, Selected, Submitted};
use crate::order;
use crate::registry::callable::Callable;
use crate::registry::declared::{self, ServerAdditions};
use crate::registry::order::OrderKey;
use crate::registry::server_rules::ServerRules;
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{CallableTable, TableSlot};
use choose::{AuthorChoice, check_prefixes, choose_definitions, nothing_to_serve_message};

/// The sources of a server's definitions.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The functions selected individually, or `None` if there is no selection.
    pub(crate) only: Option<Vec<Selected>>,
    /// The selected tags. If no tags are selected and `only` is `None`, all linked functions are served.
    pub(crate) tags: Vec<String>,
    /// The rules for all definitions.
    pub(crate) rules: Arc<ServerRules>,
    /// The values whose methods are served.
    pub(crate) receivers: Vec<MethodReceiver>,
    /// The shared state, which is checked against the handlers' parameters.
    pub(crate) states: Arc<States>,
    /// Edits requested before the server starts, in order.
    pub(crate) early: Vec<Edit>,
    /// Lists to declare even if they are empty at first.
    pub(crate) offered: Vec<Capability>,
    /// Maximum number of items on a list page.
    pub(crate) page_size: usize,
    /// `true` if extensions add methods, which give the server a purpose even without definitions.
    pub(crate) has_methods: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            only: None,
            tags: Vec::new(),
            rules: Arc::default(),
            receivers: Vec::new(),
            states: Arc::default(),
            early: Vec::new(),
            offered: Vec::new(),
            page_size: 1_000,
            has_methods: false,
        }
    }
}

/// A value whose methods are served.
#[derive(Clone)]
pub(crate) struct MethodReceiver {
    kind: TypeId,
    name: String,
    value: Arc<dyn Any + Send + Sync>,
}

impl MethodReceiver {
    pub(crate) fn new<T: Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self {
            kind: TypeId::of::<T>(),
            name: short_type_name::<T>(),
            value,
        }
    }
}

impl std::fmt::Debug for MethodReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MethodReceiver").field(&self.name).finish()
    }
}

/// Gathers all definitions in the program.
pub(super) fn snapshot(sources: Sources) -> Result<Snapshot, Error> {
    let definitions = inventory::iter::<Submitted>()
        .map(|submitted| submitted.0)
        .collect();
    assemble(sources, definitions)
}

/// Returns the options of the definitions that the author selects, in any order.
pub(crate) fn selected_options<'a>(
    only: Option<&'a [Selected]>,
    tags: &'a [String],
) -> impl Iterator<Item = &'static Options> + use<'a> {
    let choice = AuthorChoice { only, tags };
    inventory::iter::<Submitted>()
        .map(|submitted| submitted.0)
        .filter(move |definition| choice.includes(definition))
        .map(|definition| definition.options)
}

/// Sorts definitions in source order: by file, then by line.
fn sort_by_location(definitions: &mut Vec<&'static Definition>) {
    order::sort_by(definitions, |one, other| {
        (one.location, one.name).cmp(&(other.location, other.name))
    });
}

/// Creates a snapshot of the selected `definitions`, which may be in any order.
fn assemble(
    sources: Sources,
    mut definitions: Vec<&'static Definition>,
) -> Result<Snapshot, Error> {
    sort_by_location(&mut definitions);
    let mut build = Build {
        completers: definitions
            .iter()
            .filter(|definition| definition.kind == Kind::Completer)
            .map(|definition| (definition.function, *definition))
            .collect(),
        made: HashMap::new(),
        receivers: HashMap::new(),
        rules: sources.rules,
        states: sources.states,
        problems: Vec::new(),
        taken: HashMap::new(),
        slots: Vec::new(),
    };
    build.collect_receivers(sources.receivers, &definitions);
    check_prefixes(&definitions, &mut build);
    let chosen = choose_definitions(
        sources.only.as_deref(),
        &sources.tags,
        &definitions,
        &sources.early,
        &mut build,
    );
    let inserts = |edit: &Edit| {
        let mut steps = edit.steps.iter();
        steps.any(|step| matches!(step, EditStep::Insert(_) | EditStep::Replace(_)))
    };
    if chosen.is_empty()
        && sources.only.is_none()
        && sources.offered.is_empty()
        && !sources.has_methods
        && !sources.early.iter().any(inserts)
        && build.problems.is_empty()
    {
        build.problems.push(nothing_to_serve_message());
    }
    for (rank, definition) in chosen {
        build.declare(rank, definition);
    }
    build.check_targets(&definitions);
    let mut slots = build.slots;
    let mut table = |list| {
        let of_list = slots.extract_if(.., |(other, _)| *other == list);
        let of_list = of_list.map(|(_, slot)| slot).collect();
        let offered = sources.offered.contains(&list);
        Arc::new(CallableTable::new(list, of_list, offered))
    };
    let mut snapshot = Snapshot {
        tools: table(Capability::Tools),
        prompts: table(Capability::Prompts),
        resources: table(Capability::Resources),
        templates: table(Capability::Templates),
        page_size: sources.page_size.max(1),
    };
    early::apply_early_edits(
        &mut snapshot,
        sources.early,
        &build.taken,
        &build.rules,
        &mut build.problems,
    );
    if let Some(selection) = &build.rules.selection {
        let described = build.rules.described_tags();
        let unknown = snapshot.check_tags(selection, described).err();
        build
            .problems
            .extend(unknown.map(|unknown| unknown.to_string()));
        snapshot.apply_selection(selection);
    }
    if build.problems.is_empty() {
        Ok(snapshot)
    } else {
        let mut message = String::from("the server cannot start:");
        for problem in &build.problems {
            message.push_str("\n  ");
            // Each problem is kept on one line, even if a schema error contains line breaks.
            message.push_str(&problem.replace('\n', " "));
        }
        Err(Error::new(ErrorKind::Configuration, message))
    }
}

/// The location of the first definition with each kind and name.
type DeclaredNames = HashMap<(&'static str, Cow<'static, str>), Location>;

/// A registry under construction.
struct Build {
    /// All completers in the program.
    completers: HashMap<TypeId, &'static Definition>,
    /// The completers created so far, with `None` in place of each completer whose problems have already been reported.
    made: HashMap<TypeId, Option<Arc<Callable>>>,
    receivers: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    rules: Arc<ServerRules>,
    states: Arc<States>,
    problems: Vec<String>,
    taken: DeclaredNames,
    /// The callables created so far, each with the list to which it belongs.
    slots: Vec<(Capability, TableSlot)>,
}

impl Build {
    fn problem(&mut self, definition: &Definition, what: impl std::fmt::Display) {
        self.problems.push(format!(
            "{}: {} {what}",
            definition.location,
            definition.describe()
        ));
    }

    fn collect_receivers(
        &mut self,
        receivers: Vec<MethodReceiver>,
        definitions: &[&'static Definition],
    ) {
        for receiver in receivers {
            if !definitions.iter().any(|definition| {
                definition
                    .receiver
                    .is_some_and(|owner| owner.id == receiver.kind)
            }) {
                let advice = if receiver.name.starts_with("Arc<") {
                    "pass a value in an `Arc` to `.shared_handlers(…)`"
                } else {
                    "put `#[server]` on its `impl` block"
                };
                self.problems.push(format!(
                    "`.handlers(…)` was given a value of type `{}`, which has no annotated methods; {advice}",
                    receiver.name
                ));
            }
            if self
                .receivers
                .insert(receiver.kind, receiver.value)
                .is_some()
            {
                self.problems.push(format!(
                    "`.handlers(…)` was given two values of type `{}`; pass only one of each type",
                    receiver.name
                ));
            }
        }
    }

    /// Adds an annotated function.
    fn declare(&mut self, rank: u32, definition: &'static Definition) {
        let Some(list) = Capability::of_kind(definition.kind) else {
            return;
        };
        let states = self.check_states(definition);
        self.claim_name(list, definition);
        if let Some(mut callable) = self.convert(definition, states) {
            self.attach_completers_of(definition, &mut callable.completions);
            let slot = TableSlot {
                key: OrderKey::Declared(rank),
                callable: Arc::new(callable),
                enabled: true,
                // The selection is applied once all definitions are known.
                selected: true,
            };
            self.slots.push((list, slot));
        }
    }

    /// Converts an annotated function or reports its problems.
    fn convert(
        &mut self,
        definition: &'static Definition,
        states: Vec<Arc<LazyState>>,
    ) -> Option<Callable> {
        let given = ServerAdditions {
            states,
            lister_states: self.check_lister(definition),
            receiver: self.receiver(definition),
            rules: Arc::clone(&self.rules),
        };
        let mut find = |argument: &ArgumentInfo| self.named_completer(definition, argument);
        let made = declared::declared_callable(definition, given, &mut find);
        made.map_err(|problems| self.report(definition, problems))
            .ok()
    }

    fn report(&mut self, definition: &Definition, problems: Vec<String>) {
        for problem in problems {
            self.problems.push(format!(
                "{}: {}: {problem}",
                definition.location,
                definition.describe()
            ));
        }
    }

    /// Reserves a name, or reports that another definition already has it.
    fn claim_name(&mut self, list: Capability, definition: &Definition) {
        let (noun, name) = (list.key_noun(), self.rules.lookup_key(definition));
        let location = definition.location;
        match self.taken.entry((noun, name.clone())) {
            Entry::Vacant(free) => {
                free.insert(location);
            }
            Entry::Occupied(first) => self.problems.push(format!(
                "{location}: {noun} `{name}` is used twice: first at {}",
                first.get()
            )),
        }
    }

    fn receiver(&self, definition: &Definition) -> Option<Arc<dyn Any + Send + Sync>> {
        definition
            .receiver
            .and_then(|receiver| self.receivers.get(&receiver.id))
            .map(Arc::clone)
    }

    /// Reports injected values that would be missing when the definition is called. Returns the states that must be
    /// created first.
    fn check_states(&mut self, definition: &Definition) -> Vec<Arc<LazyState>> {
        self.states.begin_check();
        for parameter in definition.parameters {
            if parameter.ty.injected
                && let Err(missing) = (parameter.ty.check)(&self.states)
            {
                self.problem(
                    definition,
                    format_args!("cannot get its parameter `{}`: {missing}", parameter.name),
                );
            }
        }
        self.states.end_check()
    }

    /// Like [`check_states`](Self::check_states), but for the function that lists a template's resources.
    fn check_lister(&mut self, definition: &Definition) -> Vec<Arc<LazyState>> {
        self.states.begin_check();
        if let Some(list) = definition.options.list
            && let Err(missing) = list().check(&self.states)
        {
            let problem = format!("cannot get a parameter of its listing function: {missing}");
            self.report(definition, vec![problem]);
        }
        self.states.end_check()
    }
}
