//! Gathers annotated functions and dynamic definitions into the first snapshot and reports all problems.

#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::context::{Capability, Edit, EditStep, LazyState, States, short_type_name};
use crate::error::{Error, ErrorKind};
use crate::handler::decode::ArgumentInfo;
use crate::handler::definition::{
    Definition, Kind, Location, Owner, SelectedFunction, Submitted, has_argument,
};
use crate::handler::item_option;
use crate::handler::item_option::ItemOption;
use crate::handler::option::ToolUse;
use crate::handler::tags::UnknownTag;
use crate::order;
use crate::order::set_of;
use crate::registry::callable::{ArgumentCompleters, Callable, Completer};
use crate::registry::cursor::OrderKey;
use crate::registry::declared::{ServerAdditions, ServerRules};
use crate::registry::edit::{MissingName, NameTaken};
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{CallableTable, TableSlot};
use crate::registry::{declared, edit};

/// The sources of a server's definitions.
#[derive(Debug)]
pub struct Sources {
    /// The functions selected individually, or `None` if there is no selection.
    pub only: Option<Vec<SelectedFunction>>,
    /// The selected tags. If no tags are selected and `only` is `None`, all linked functions are served.
    pub tags: Vec<String>,
    /// The rules for all definitions.
    pub rules: Arc<ServerRules>,
    /// The values whose methods are served.
    pub receivers: Vec<MethodReceiver>,
    /// The shared state, which is checked against the handlers' parameters.
    pub states: Arc<States>,
    /// Edits requested before the server starts, in order.
    pub early: Vec<Edit>,
    /// Lists to declare even if they are empty at first.
    pub offered: Vec<Capability>,
    /// Maximum number of items on a list page.
    pub page_size: usize,
    /// `true` if extensions add methods, which give the server a purpose even without definitions.
    pub has_methods: bool,
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
pub struct MethodReceiver {
    kind: TypeId,
    name: String,
    value: Arc<dyn Any + Send + Sync>,
}

impl MethodReceiver {
    pub fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self {
            kind: TypeId::of::<T>(),
            name: short_type_name::<T>(),
            value: Arc::new(value),
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

/// Returns the options of each definition that the author selects, in any order.
pub fn selected_options<'a>(
    only: Option<&'a [SelectedFunction]>,
    tags: &'a [String],
) -> impl Iterator<Item = &'static [ItemOption]> + use<'a> {
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
    apply_early_edits(
        &mut snapshot,
        sources.early,
        &build.taken,
        &build.rules,
        &mut build.problems,
    );
    if let Some(selection) = &build.rules.selection {
        let described = build.rules.described_tags.iter().map(String::as_str);
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
            let mut owners = definitions
                .iter()
                .filter_map(|definition| definition.receiver);
            let owner = owners.find(|owner| [owner.id, owner.shared].contains(&receiver.kind));
            if owner.is_none() {
                self.problems.push(format!(
                    "`.handlers(…)` was given a value of type `{}`, which has no annotated methods; put `#[server]` on its \
                     `impl` block",
                    receiver.name
                ));
            }
            let kind = owner.map_or(receiver.kind, |owner| owner.id);
            if self.receivers.insert(kind, receiver.value).is_some() {
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
        if let Some(list) = definition.list()
            && let Err(missing) = list().check(&self.states)
        {
            let problem = format!("cannot get a parameter of its listing function: {missing}");
            self.report(definition, vec![problem]);
        }
        self.states.end_check()
    }
}

// --- Selects the definitions to serve.

/// Maximum number of methods listed in a message.
const MAX_LISTED_METHODS: usize = 5;

/// Returns the definitions to serve, each with its position in the program.
fn choose_definitions(
    only: Option<&[SelectedFunction]>,
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
            .flat_map(|definition| item_option::tags(definition.options)),
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
    known.extend(rules.described_tags.iter().map(String::as_str));
    for (tag, _) in &rules.tag_scopes {
        check(tag, &known);
    }
    for quota in &rules.quotas {
        check(&quota.name, &known);
    }
    let choice = AuthorChoice { only, tags };
    let companions = choice.companions(definitions);
    let mut chosen = Vec::new();
    let mut orphans: Vec<(Owner, Vec<&Definition>)> = Vec::new();
    for (rank, definition) in (0_u32..).zip(definitions.iter().copied()) {
        let is_companion = definition.kind == Kind::Resource
            && item_option::attached(definition.options).next().is_some()
            && companions
                .iter()
                .any(|uri| *uri == *Capability::Resources.lookup_key(definition.uri()));
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
fn check_prefixes(definitions: &[&'static Definition], build: &mut Build) {
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
fn selection_problem(
    selected: &SelectedFunction,
    definitions: &[&'static Definition],
) -> Option<String> {
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
struct AuthorChoice<'a> {
    pub(crate) only: Option<&'a [SelectedFunction]>,
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
        let mut tags = item_option::tags(definition.options);
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
        let metas = tools.filter_map(|tool| tool.meta());
        metas
            .filter_map(|meta| {
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
    text.push_str(
        " no value to be called on; add `.handlers(…)`, or choose what is served with `.only(…)`:",
    );
    for (index, method) in methods.iter().take(MAX_LISTED_METHODS).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma} `{}` at {}", method.name, method.location);
    }
    if let Some(more) = methods
        .len()
        .checked_sub(MAX_LISTED_METHODS)
        .filter(|more| *more > 0)
    {
        let _ = write!(text, ", and {more} more");
    }
    text
}

/// Returns the message for a server that has no definitions to serve.
fn nothing_to_serve_message() -> String {
    "nothing is registered: annotate a function with `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]`; if \
     your functions are in a library crate, name it: `use your_lib as _;`; if everything is inserted while the server \
     runs, call `.only([])`"
        .into()
}

// --- Attaches completers to the arguments of prompts and templates.

impl Build {
    /// Returns the completer named by an argument of `target`.
    fn named_completer(
        &mut self,
        target: &'static Definition,
        argument: &ArgumentInfo,
    ) -> Result<Completer, String> {
        let Some((function, path)) = argument.completer else {
            return Ok(Completer::Nothing);
        };
        let Some(completer) = self.completers.get(&function).copied() else {
            return Err(format!(
                "argument `{}` is completed by `{path}`, which is not a completer; annotate it with `#[completer]`",
                argument.name
            ));
        };
        self.build_completer_for(target, completer)
    }

    /// Returns a completer for an argument of `target`.
    fn build_completer_for(
        &mut self,
        target: &'static Definition,
        completer: &'static Definition,
    ) -> Result<Completer, String> {
        let lacking: Vec<_> = completer
            .parameters
            .iter()
            .filter(|parameter| {
                !parameter.ty.injected
                    && !parameter.flatten
                    && !parameter.name.is_empty()
                    // An optional one is absent.
                    && parameter.default.is_none()
                    && !(parameter.ty.accepts)("null")
                    && !has_argument(target.parameters, parameter.name)
            })
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        if !lacking.is_empty() {
            return Err(format!(
                "its completer `{}` at {} takes {}, but there is no such argument; an `Option<…>` is `None` then",
                completer.name,
                completer.location,
                lacking.join(" and ")
            ));
        }
        let made = if let Some(made) = self.made.get(&completer.function) {
            made.clone()
        } else {
            let made = self.build_completer(completer);
            self.made.insert(completer.function, made.clone());
            made
        };
        Ok(made.map_or(Completer::Nothing, Completer::Function))
    }

    /// Builds a completer. Called once for each completer.
    fn build_completer(&mut self, completer: &'static Definition) -> Option<Arc<Callable>> {
        let states = self.check_states(completer);
        if completer.receiver.is_some() && self.receiver(completer).is_none() {
            self.problem(
                completer,
                "is a method without a value to be called on; add `.handlers(…)`",
            );
            return None;
        }
        self.convert(completer, states).map(Arc::new)
    }

    /// Attaches the completers whose options name `target`.
    fn attach_completers_of(
        &mut self,
        target: &'static Definition,
        completions: &mut ArgumentCompleters,
    ) {
        if !target.kind.has_completions() {
            return;
        }
        let all = self.completers.values().copied();
        let mut naming: Vec<_> = all
            .filter(|completer| {
                let completes = completer.completes();
                completes.is_some_and(|completes| (completes.target)() == target.function)
            })
            .collect();
        sort_by_location(&mut naming);
        for completer in naming {
            let Some(completes) = completer.completes() else {
                continue;
            };
            let argument = completes.argument;
            if matches!(completions.find(argument), Some(Completer::Function(_))) {
                self.problem(
                    completer,
                    format_args!(
                        "completes `{argument}` of {}, which already has a completer",
                        target.describe()
                    ),
                );
                continue;
            }
            match self.build_completer_for(target, completer) {
                Ok(attached) => {
                    if !completions.set(argument, attached) {
                        self.problem(
                            completer,
                            format_args!(
                                "completes `{argument}`, which is not an argument of {}",
                                target.describe()
                            ),
                        );
                    }
                }
                Err(problem) => self.report(target, vec![problem]),
            }
        }
    }

    /// Reports completers whose target is neither a prompt nor a resource template.
    fn check_targets(&mut self, definitions: &[&'static Definition]) {
        for completer in definitions {
            let Some(completes) = completer.completes() else {
                continue;
            };
            let target = (completes.target)();
            if !definitions.iter().any(|definition| {
                definition.function == target && definition.kind.has_completions()
            }) {
                self.problem(
                    completer,
                    "completes a function that is neither a prompt nor a resource template",
                );
            }
        }
    }
}

// --- Edits requested before the server starts, which are applied in order to the program's definitions.
//
// At this stage, hiding an item that does not exist is an error, because a misspelled name would leave the intended
// item visible.

/// Applies the edits. If an edit cannot be applied, the reason is added to `problems`.
fn apply_early_edits(
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
