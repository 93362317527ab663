//! Gathers annotated functions and dynamic definitions into the first snapshot, and reports everything that is wrong.

mod choose;
mod completers;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::context::States;
use crate::error::{Error, ErrorKind};
use crate::handler::decode::ArgumentInfo;
use crate::handler::definition::{Definition, Kind, Location, Selected, Submitted};
use crate::handler::dynamic::Item;
use crate::registry::complete::CompleterEntry;
use crate::registry::declared;
use crate::registry::edit::{self, Made};
use crate::registry::entry::{
    Entry as ListEntry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry,
};
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{Key, Slot, Table};
use choose::{choose, nothing};

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
                    "`.handlers(…)` was given a value of type `{}`, which has no annotated methods; put `#[server]` on its `impl` block",
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
                self.claim(Kind::Tool, entry.found_by(), None);
                self.tools.push(inserted(entry));
            }
            Ok(Made::Prompt(entry)) => {
                self.claim(Kind::Prompt, entry.found_by(), None);
                self.prompts.push(inserted(entry));
            }
            Ok(Made::Resource(entry)) => {
                self.claim(Kind::Resource, entry.found_by(), None);
                self.resources.push(inserted(entry));
            }
            Ok(Made::Template(entry)) => {
                self.claim(Kind::ResourceTemplate, entry.found_by(), None);
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
                let first = match taken.get() {
                    Some(location) => format!("at {location}"),
                    None => "by a definition made at run time".into(),
                };
                let problem = format!("{noun} `{name}` is used twice; first used {first}");
                self.problems.push(match location {
                    Some(location) => format!("{location}: {problem}"),
                    None => format!("{problem}, then by a definition made at run time"),
                });
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
        key: Key::Inserted(entry.found_by().into()),
        entry,
        enabled: true,
    }
}
