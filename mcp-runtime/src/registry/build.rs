//! Gathers annotated functions and dynamic definitions into the first snapshot, and reports everything that is wrong.

use std::any::{Any, TypeId, type_name};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::context::States;
use crate::error::{Error, ErrorKind};
use crate::handler::decode::ArgumentInfo;
use crate::handler::definition::{Definition, Kind, Location, Selected, Submitted, has_argument};
use crate::handler::dynamic::Item;
use crate::registry::complete::{Completer, CompleterEntry, Completions};
use crate::registry::declared;
use crate::registry::edit::{self, Made};
use crate::registry::entry::{
    Entry as ListEntry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry,
};
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{Key, Slot, Table};

/// What a server is made from.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Functions chosen one by one; `None` if nobody chose.
    pub(crate) only: Option<Vec<Selected>>,
    /// Groups chosen by name. With neither these nor `only`, everything linked in is served.
    pub(crate) groups: Vec<String>,
    /// Values whose methods are served.
    pub(crate) receivers: Vec<Receiver>,
    /// Shared state, to be checked against what handlers ask for.
    pub(crate) states: Arc<States>,
    /// Definitions made at run time.
    pub(crate) dynamic: Vec<Item>,
    /// Most items of a list page.
    pub(crate) page_size: usize,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            only: None,
            groups: Vec::new(),
            receivers: Vec::new(),
            states: Arc::default(),
            dynamic: Vec::new(),
            page_size: 1_000,
        }
    }
}

/// A value whose methods are served.
#[derive(Clone)]
pub(crate) struct Receiver {
    kind: TypeId,
    name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl Receiver {
    pub(crate) fn new<T: Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self {
            kind: TypeId::of::<T>(),
            name: type_name::<T>(),
            value,
        }
    }
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Receiver").field(&self.name).finish()
    }
}

/// Gathers everything the program has.
pub(super) fn snapshot(sources: Sources) -> Result<Snapshot, Error> {
    let definitions = inventory::iter::<Submitted>()
        .map(|submitted| submitted.0)
        .collect();
    assemble(sources, definitions)
}

/// Makes a snapshot of what is chosen of `definitions`, which come in any order.
fn assemble(
    sources: Sources,
    mut definitions: Vec<&'static Definition>,
) -> Result<Snapshot, Error> {
    definitions.sort_by_key(|definition| (definition.location, definition.name));
    let mut build = Build {
        completers: definitions
            .iter()
            .filter(|definition| definition.kind == Kind::Completer)
            .map(|definition| (definition.function, *definition))
            .collect(),
        made: HashMap::new(),
        receivers: HashMap::new(),
        states: sources.states,
        problems: Vec::new(),
        taken: HashMap::new(),
        tools: Vec::new(),
        prompts: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
    };
    build.receive(sources.receivers, &definitions);
    let chosen = choose(
        sources.only.as_deref(),
        &sources.groups,
        &definitions,
        &mut build,
    );
    if chosen.is_empty()
        && sources.dynamic.is_empty()
        && sources.only.is_none()
        && build.problems.is_empty()
    {
        build.problems.push(nothing(&definitions));
    }
    for (rank, definition) in chosen {
        build.declare(rank, definition);
    }
    for item in sources.dynamic {
        build.insert(item);
    }
    build.check_targets(&definitions);
    if build.problems.is_empty() {
        Ok(Snapshot {
            tools: Arc::new(Table::new(build.tools)),
            prompts: Arc::new(Table::new(build.prompts)),
            resources: Arc::new(Table::new(build.resources)),
            templates: Arc::new(Table::new(build.templates)),
            page_size: sources.page_size.max(1),
        })
    } else {
        let mut message = String::from("the server cannot start:");
        for problem in &build.problems {
            message.push_str("\n  ");
            // One line per problem, also where a schema error brings line ends of its own.
            message.push_str(&problem.replace('\n', " "));
        }
        Err(Error::new(ErrorKind::Configuration, message))
    }
}

/// The definitions to serve, each with its number in the program.
fn choose(
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
fn nothing(definitions: &[&'static Definition]) -> String {
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

/// A registry in the making.
struct Build {
    /// Every completer of the program.
    completers: HashMap<TypeId, &'static Definition>,
    /// Those made so far; `None` if something is wrong with them, which has been said.
    made: HashMap<TypeId, Option<Arc<CompleterEntry>>>,
    receivers: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    states: Arc<States>,
    problems: Vec<String>,
    /// Who took a name first.
    taken: HashMap<(Kind, String), Option<Location>>,
    tools: Vec<Slot<ToolEntry>>,
    prompts: Vec<Slot<PromptEntry>>,
    resources: Vec<Slot<ResourceEntry>>,
    templates: Vec<Slot<TemplateEntry>>,
}

impl Build {
    fn problem(&mut self, definition: &Definition, what: impl std::fmt::Display) {
        self.problems.push(format!(
            "{}: {} {what}",
            definition.location,
            declared::describe(definition)
        ));
    }

    fn receive(&mut self, receivers: Vec<Receiver>, definitions: &[&'static Definition]) {
        for receiver in receivers {
            if !definitions
                .iter()
                .any(|definition| definition.receiver == Some(receiver.kind))
            {
                self.problems.push(format!(
                    "`.handlers(…)` was given a `{}`, which has no annotated methods; put `#[server]` on its `impl` block",
                    receiver.name
                ));
            }
            if self
                .receivers
                .insert(receiver.kind, receiver.value)
                .is_some()
            {
                self.problems.push(format!(
                    "`.handlers(…)` was given two values of type `{}`; methods can be called on one",
                    receiver.name
                ));
            }
        }
    }

    /// Takes an annotated function in.
    fn declare(&mut self, rank: u32, definition: &'static Definition) {
        self.check_states(definition);
        self.claim(
            definition.kind,
            match definition.kind {
                Kind::Resource | Kind::ResourceTemplate => definition.options.uri,
                _ => definition.name,
            },
            Some(definition.location),
        );
        let key = Key::Declared(rank);
        let receiver = self.receiver(definition);
        match definition.kind {
            Kind::Tool => match declared::tool(definition, receiver) {
                Ok(entry) => self.tools.push(slot(key, entry)),
                Err(problems) => self.report(definition, problems),
            },
            Kind::Resource => match declared::resource(definition, receiver) {
                Ok(entry) => self.resources.push(slot(key, entry)),
                Err(problems) => self.report(definition, problems),
            },
            Kind::Prompt => {
                let mut find = |argument: &ArgumentInfo| self.named(definition, argument);
                match declared::prompt(definition, receiver, &mut find) {
                    Ok(mut entry) => {
                        self.reverse(definition, &mut entry.completions);
                        self.prompts.push(slot(key, entry));
                    }
                    Err(problems) => self.report(definition, problems),
                }
            }
            Kind::ResourceTemplate => {
                let mut find = |argument: &ArgumentInfo| self.named(definition, argument);
                match declared::template(definition, receiver, &mut find) {
                    Ok(mut entry) => {
                        self.reverse(definition, &mut entry.completions);
                        self.templates.push(slot(key, entry));
                    }
                    Err(problems) => self.report(definition, problems),
                }
            }
            Kind::Completer => {}
        }
    }

    /// Takes a dynamic definition in.
    fn insert(&mut self, item: Item) {
        match edit::make(item) {
            Ok(Made::Tool(entry)) => {
                self.claim(Kind::Tool, entry.name(), None);
                self.tools.push(inserted(entry));
            }
            Ok(Made::Prompt(entry)) => {
                self.claim(Kind::Prompt, entry.name(), None);
                self.prompts.push(inserted(entry));
            }
            Ok(Made::Resource(entry)) => {
                self.claim(Kind::Resource, entry.name(), None);
                self.resources.push(inserted(entry));
            }
            Ok(Made::Template(entry)) => {
                self.claim(Kind::ResourceTemplate, entry.name(), None);
                self.templates.push(inserted(entry));
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    fn report(&mut self, definition: &Definition, problems: Vec<String>) {
        for problem in problems {
            self.problems.push(format!(
                "{}: {}: {problem}",
                definition.location,
                declared::describe(definition)
            ));
        }
    }

    /// Reserves a name, or says who has it.
    fn claim(&mut self, kind: Kind, name: &str, location: Option<Location>) {
        let noun = match kind {
            Kind::Tool => ToolEntry::NOUN,
            Kind::Prompt => PromptEntry::NOUN,
            Kind::Resource => ResourceEntry::NOUN,
            Kind::ResourceTemplate => TemplateEntry::NOUN,
            Kind::Completer => return,
        };
        match self.taken.entry((kind, name.to_owned())) {
            Entry::Vacant(free) => {
                free.insert(location);
            }
            Entry::Occupied(taken) => {
                let place = |location: &Option<Location>| match location {
                    Some(location) => location.to_string(),
                    None => "a definition made at run time".into(),
                };
                self.problems.push(format!(
                    "{}: {noun} `{name}` is used twice; first used by {}",
                    place(&location),
                    place(taken.get())
                ));
            }
        }
    }

    fn receiver(&self, definition: &Definition) -> Option<Arc<dyn Any + Send + Sync>> {
        definition
            .receiver
            .and_then(|receiver| self.receivers.get(&receiver))
            .map(Arc::clone)
    }

    /// Says which injected values will be missing.
    fn check_states(&mut self, definition: &Definition) {
        for parameter in definition.parameters {
            if parameter.injected
                && let Err(missing) = (parameter.check)(&self.states)
            {
                self.problem(
                    definition,
                    format_args!("cannot have its parameter `{}`: {missing}", parameter.name),
                );
            }
        }
    }

    /// The completer that an argument of `target` names.
    fn named(
        &mut self,
        target: &'static Definition,
        argument: &ArgumentInfo,
    ) -> Result<Completer, String> {
        let Some((function, path)) = argument.completer else {
            return Ok(Completer::Nothing);
        };
        let Some(completer) = self.completers.get(&function).copied() else {
            return Err(format!(
                "argument `{}` is completed by `{path}`, which is no completer; annotate it with `#[completer]`",
                argument.name
            ));
        };
        self.attach(target, completer)
    }

    /// A completer for an argument of `target`.
    fn attach(
        &mut self,
        target: &'static Definition,
        completer: &'static Definition,
    ) -> Result<Completer, String> {
        let lacking: Vec<_> = completer
            .parameters
            .iter()
            .filter(|parameter| {
                !parameter.injected
                    && !parameter.flatten
                    && !parameter.name.is_empty()
                    && !has_argument(target.parameters, parameter.name)
            })
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        if !lacking.is_empty() {
            return Err(format!(
                "its completer `{}` at {} asks for {}, which is no argument of it",
                completer.name,
                completer.location,
                lacking.join(" and ")
            ));
        }
        let made = match self.made.get(&completer.function) {
            Some(made) => made.clone(),
            None => {
                let made = self.complete(completer);
                self.made.insert(completer.function, made.clone());
                made
            }
        };
        Ok(made.map_or(Completer::Nothing, Completer::Function))
    }

    /// Makes a completer, once.
    fn complete(&mut self, completer: &'static Definition) -> Option<Arc<CompleterEntry>> {
        self.check_states(completer);
        let receiver = self.receiver(completer);
        if completer.receiver.is_some() && receiver.is_none() {
            self.problem(
                completer,
                "is a method, and no value to call it on was given; add `.handlers(…)`",
            );
            return None;
        }
        match declared::completer(completer, receiver) {
            Ok(entry) => Some(Arc::new(entry)),
            Err(problems) => {
                self.report(completer, problems);
                None
            }
        }
    }

    /// Attaches the completers that name `target` themselves.
    fn reverse(&mut self, target: &'static Definition, completions: &mut Completions) {
        let mut naming: Vec<_> = self
            .completers
            .values()
            .copied()
            .filter_map(|completer| {
                let completes = completer.options.completes.as_ref()?;
                ((completes.target)() == target.function).then_some((completer, completes.argument))
            })
            .collect();
        naming.sort_by_key(|(completer, _)| completer.location);
        for (completer, argument) in naming {
            if matches!(completions.find(argument), Some(Completer::Function(_))) {
                self.problem(
                    completer,
                    format_args!(
                        "completes `{argument}` of {}, which has a completer already",
                        declared::describe(target)
                    ),
                );
                continue;
            }
            match self.attach(target, completer) {
                Ok(attached) => {
                    if !completions.set(argument, attached) {
                        self.problem(
                            completer,
                            format_args!(
                                "completes `{argument}`, which is no argument of {}",
                                declared::describe(target)
                            ),
                        );
                    }
                }
                Err(problem) => self.report(target, vec![problem]),
            }
        }
    }

    /// Says which completers complete something that is no prompt or template.
    fn check_targets(&mut self, definitions: &[&'static Definition]) {
        for completer in definitions {
            let Some(completes) = &completer.options.completes else {
                continue;
            };
            let target = (completes.target)();
            if !definitions.iter().any(|definition| {
                definition.function == target
                    && matches!(definition.kind, Kind::Prompt | Kind::ResourceTemplate)
            }) {
                self.problem(
                    completer,
                    "completes a function that is neither a prompt nor a resource template",
                );
            }
        }
    }
}

fn slot<E>(key: Key, entry: E) -> Slot<E> {
    Slot {
        key,
        entry: Arc::new(entry),
        enabled: true,
    }
}

fn inserted<E: ListEntry>(entry: Arc<E>) -> Slot<E> {
    Slot {
        key: Key::Inserted(entry.name().into()),
        entry,
        enabled: true,
    }
}
