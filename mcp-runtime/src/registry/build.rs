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
        let made = if let Some(made) = self.made.get(&completer.function) {
            made.clone()
        } else {
            let made = self.complete(completer);
            self.made.insert(completer.function, made.clone());
            made
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
        key: Key::Inserted(entry.found_by().into()),
        entry,
        enabled: true,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::context::{List, State};
    use crate::handler::call::{Run, Success};
    use crate::handler::completion::Candidates;
    use crate::handler::definition::{Completes, Options};
    use crate::handler::dynamic::ItemKind as _;
    use crate::handler::parameter::{ParameterMeta, parameter};
    use crate::handler::tool_error::ToolError;
    use crate::jsonrpc::ErrorObject;
    use crate::registry::Registry;
    use crate::registry::fixture::{context, prompt};
    use crate::registry::handler::Started;
    use crate::types::CompletionReference;

    /// Stands for the type of the `N`th function item.
    struct Function<const N: usize>;

    struct Notes;

    fn definition(kind: Kind, name: &'static str, line: u32, function: TypeId) -> Definition {
        Definition {
            kind,
            name,
            description: "",
            function,
            receiver: None,
            location: Location {
                file: "src/a.rs",
                line,
                column: 1,
            },
            parameters: &[],
            options: Options::NONE,
            run: Run::Sync(|_| Ok(Err(ToolError::shown("not called here")))),
        }
    }

    fn tool<const N: usize>(name: &'static str) -> Definition {
        let line = u32::try_from(N).unwrap();
        definition(Kind::Tool, name, line, TypeId::of::<Function<N>>())
    }

    fn review<const N: usize>(parameters: Vec<ParameterMeta>) -> Definition {
        Definition {
            kind: Kind::Prompt,
            parameters: Box::leak(parameters.into_boxed_slice()),
            ..tool::<N>("review")
        }
    }

    /// Offers the arguments it was given.
    fn languages<const N: usize>(mut earlier: Vec<ParameterMeta>) -> Definition {
        earlier.insert(0, parameter::<String, _>("", ""));
        Definition {
            kind: Kind::Completer,
            parameters: Box::leak(earlier.into_boxed_slice()),
            run: Run::Sync(|call| {
                let (mut partial, mut strict) = (None::<String>, None::<Option<bool>>);
                call.decode(&mut [&mut partial, &mut strict])?;
                Ok(Ok(Success::Completion(Candidates {
                    values: vec![format!("{partial:?} {strict:?}")],
                    ..Candidates::default()
                })))
            }),
            ..tool::<N>("languages")
        }
    }

    fn with(sources: Sources, definitions: Vec<Definition>) -> Result<Registry, Error> {
        let definitions = definitions
            .into_iter()
            .map(|definition| &*Box::leak(Box::new(definition)))
            .collect();
        assemble(sources, definitions).map(Registry::new)
    }

    fn all(definitions: Vec<Definition>) -> Result<Registry, Error> {
        with(Sources::default(), definitions)
    }

    fn tools(registry: Result<Registry, Error>) -> Vec<String> {
        registry.unwrap().snapshot().names(List::Tools)
    }

    #[track_caller]
    fn fails(registry: Result<Registry, Error>, message: &Expect) {
        let error = registry.err().expect("it should not start");
        assert_eq!(error.kind(), ErrorKind::Configuration);
        message.assert_eq(&error.to_string());
    }

    fn selected<const N: usize>() -> Selected {
        Selected {
            function: TypeId::of::<Function<N>>(),
            path: "app::chosen",
        }
    }

    #[test]
    fn list_order_is_that_of_the_source_whatever_order_the_linker_gives() {
        let mut early = tool::<9>("z");
        early.location.file = "src/0.rs";
        assert_eq!(
            tools(all(vec![
                tool::<3>("c"),
                tool::<1>("x"),
                early,
                tool::<2>("b")
            ])),
            ["z", "x", "b", "c"]
        );
    }

    #[test]
    fn without_a_choice_everything_is_served() {
        let mut grouped = tool::<2>("b");
        grouped.options.group = Some("admin");
        assert_eq!(tools(all(vec![tool::<1>("a"), grouped])), ["a", "b"]);
    }

    #[test]
    fn functions_and_groups_can_be_chosen_together() {
        let make = || {
            let mut grouped = tool::<2>("b");
            grouped.options.group = Some("admin");
            vec![tool::<1>("a"), grouped, tool::<3>("c")]
        };
        let only = |only: Option<Vec<Selected>>, groups: &[&str]| {
            let sources = Sources {
                only,
                groups: groups.iter().map(ToString::to_string).collect(),
                ..Sources::default()
            };
            tools(with(sources, make()))
        };
        assert_eq!(only(None, &["admin"]), ["b"]);
        assert_eq!(only(Some(vec![selected::<3>()]), &[]), ["c"]);
        assert_eq!(only(Some(vec![selected::<3>()]), &["admin"]), ["b", "c"]);
        assert_eq!(only(Some(vec![]), &[]), [""; 0]);
    }

    #[test]
    fn choosing_what_is_not_there_is_said() {
        let mut grouped = tool::<2>("b");
        grouped.options.group = Some("admin");
        let sources = Sources {
            only: Some(vec![selected::<7>()]),
            groups: vec!["admn".into()],
            ..Sources::default()
        };
        fails(
            with(sources, vec![grouped]),
            &expect![[r"
            the server cannot start:
              `app::chosen` is not registered: is it annotated?
              no definition has the group `admn`; groups are `admin`"]],
        );
    }

    #[test]
    fn methods_are_served_when_there_is_a_value() {
        let method = || Definition {
            receiver: Some(TypeId::of::<Notes>()),
            ..tool::<2>("delete")
        };
        let receivers = || vec![Receiver::new(Arc::new(Notes))];
        assert_eq!(tools(all(vec![tool::<1>("a"), method()])), ["a"]);
        let sources = Sources {
            receivers: receivers(),
            ..Sources::default()
        };
        assert_eq!(
            tools(with(sources, vec![tool::<1>("a"), method()])),
            ["a", "delete"]
        );
        fails(
            all(vec![method()]),
            &expect![[r"
            the server cannot start:
              nothing is served: every annotated function is a method, such as tool `delete` at src/a.rs:2:1, and no value to call them on was given; add `.handlers(…)`"]],
        );
        let sources = Sources {
            only: Some(vec![selected::<2>()]),
            ..Sources::default()
        };
        fails(
            with(sources, vec![method()]),
            &expect![[r"
            the server cannot start:
              src/a.rs:2:1: tool `delete` is a method, and no value to call it on was given; add `.handlers(…)`"]],
        );
        let sources = Sources {
            receivers: [receivers(), receivers()].concat(),
            ..Sources::default()
        };
        fails(
            with(sources, vec![tool::<1>("a")]),
            &expect![[r"
                the server cannot start:
                  `.handlers(…)` was given a value of type `mcp_runtime::registry::build::tests::Notes`, which has no annotated methods; put `#[server]` on its `impl` block
                  `.handlers(…)` was given a value of type `mcp_runtime::registry::build::tests::Notes`, which has no annotated methods; put `#[server]` on its `impl` block
                  `.handlers(…)` was given two values of type `mcp_runtime::registry::build::tests::Notes`; methods can be called on one"]],
        );
    }

    #[test]
    fn nothing_registered_says_what_to_do() {
        fails(
            all(vec![]),
            &expect![[r"
            the server cannot start:
              nothing is registered: annotate a function with `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]`; if your functions are in a library crate, name it: `use your_lib as _;`; if everything is inserted while the server runs, say `.only([])`"]],
        );
    }

    #[test]
    fn all_problems_come_together_with_their_places() {
        let mut resource = definition(Kind::Resource, "r", 5, TypeId::of::<Function<5>>());
        resource.options.uri = "no scheme";
        resource.parameters = Box::leak(Box::new([parameter::<String, _>("id", "")]));
        let mut state = tool::<3>("c");
        state.parameters = Box::leak(Box::new([
            parameter::<State<Notes>, _>("db", ""),
            parameter::<i64, _>("n", "").default_json("\"x\""),
        ]));
        let mut meta = tool::<4>("d");
        meta.options.meta = Some(|| serde_json::json!({"io.modelcontextprotocol/x": 1}));
        let mut template = definition(Kind::ResourceTemplate, "t", 6, TypeId::of::<Function<6>>());
        template.options.uri = "notes:///{id";
        fails(
            all(vec![
                tool::<1>("a"),
                tool::<2>("a"),
                state,
                meta,
                resource,
                template,
            ]),
            &expect![[r#"
                the server cannot start:
                  src/a.rs:2:1: tool name `a` is used twice; first used at src/a.rs:1:1
                  src/a.rs:3:1: tool `c` cannot have its parameter `db`: no state of type `mcp_runtime::registry::build::tests::Notes`; add `.state(…)` with a `mcp_runtime::registry::build::tests::Notes` to the server
                  src/a.rs:3:1: tool `c`: argument `n`: the default `"x"` is not a value of its type
                  src/a.rs:4:1: tool `d`: meta key `io.modelcontextprotocol/x` is reserved for the protocol; use a prefix of your own, such as `com.example/`
                  src/a.rs:5:1: resource `no scheme`: the address `no scheme` has no scheme; write one, such as `notes:///today`
                  src/a.rs:5:1: resource `no scheme`: parameter `id` would never be given: an address without variables has no arguments; use `#[resource_template]`, or take an injected value
                  src/a.rs:6:1: resource template `notes:///{id`: invalid template: an expression is not closed; add `}`"#]],
        );
    }

    #[test]
    fn a_dynamic_definition_cannot_take_a_name() {
        let sources = Sources {
            dynamic: vec![prompt("review").into_item()],
            ..Sources::default()
        };
        fails(
            with(sources, vec![review::<1>(vec![])]),
            &expect![[r"
                the server cannot start:
                  prompt name `review` is used twice; first used at src/a.rs:1:1, then by a definition made at run time"]],
        );
    }

    fn code() -> Vec<ParameterMeta> {
        vec![
            parameter::<String, _>("code", "The code"),
            parameter::<Option<bool>, _>("strict", ""),
        ]
    }

    fn complete(
        registry: &Registry,
        argument: &str,
        partial: &str,
        earlier: Option<&str>,
    ) -> Result<Vec<String>, ErrorObject> {
        let name = "review".to_owned();
        let completer = registry
            .snapshot()
            .completer(&CompletionReference::Prompt { name }, argument)?;
        match completer.start(partial, earlier, &context).unwrap() {
            Started::Done(Ok(Success::Completion(candidates))) => Ok(candidates.values),
            _ => panic!("not done"),
        }
    }

    #[test]
    fn a_completer_receives_the_earlier_arguments_it_can_use() {
        let mut parameters = code();
        parameters[0] = parameter::<String, _>("code", "")
            .completer(|| (TypeId::of::<Function<2>>(), "app::languages"));
        let registry = all(vec![
            review::<1>(parameters),
            languages::<2>(vec![parameter::<Option<bool>, _>("strict", "")]),
        ])
        .unwrap();
        assert!(registry.snapshot().has_completers());
        for (earlier, expected) in [
            (None, r#"Some("ru") Some(None)"#),
            (Some("{}"), r#"Some("ru") Some(None)"#),
            (
                Some(r#"{"strict":"true"}"#),
                r#"Some("ru") Some(Some(true))"#,
            ),
            (Some(r#"{"strict":"perhaps"}"#), r#"Some("ru") Some(None)"#),
            (
                Some(r#"{"strict":7,"other":"x"}"#),
                r#"Some("ru") Some(None)"#,
            ),
            (Some("[]"), r#"Some("ru") Some(None)"#),
        ] {
            assert_eq!(
                complete(&registry, "code", "ru", earlier),
                Ok(vec![expected.to_owned()]),
                "{earlier:?}"
            );
        }
        assert_eq!(
            complete(&registry, "strict", "", None),
            Ok(vec!["true".to_owned(), "false".to_owned()])
        );
    }

    #[test]
    fn a_completer_without_an_argument_it_needs_offers_nothing() {
        let mut completer = languages::<2>(vec![parameter::<bool, _>("strict", "")]);
        completer.run = Run::Sync(|call| {
            let (mut partial, mut strict) = (None::<String>, None::<bool>);
            call.decode(&mut [&mut partial, &mut strict])?;
            Ok(Err(ToolError::shown("it ran")))
        });
        completer.options.completes = Some(Completes {
            target: TypeId::of::<Function<1>>,
            argument: "code",
        });
        let registry = all(vec![review::<1>(code()), completer]).unwrap();
        assert_eq!(complete(&registry, "code", "ru", None), Ok(vec![]));
        assert_eq!(
            complete(&registry, "code", "ru", Some(r#"{"strict":"perhaps"}"#)),
            Ok(vec![])
        );
    }

    #[test]
    fn completers_that_do_not_fit_are_said() {
        let reverse = |mut completer: Definition, target: fn() -> TypeId, argument| {
            completer.options.completes = Some(Completes { target, argument });
            completer
        };
        let mut parameters = code();
        parameters[0] = parameter::<String, _>("code", "")
            .completer(|| (TypeId::of::<Function<7>>(), "app::x"));
        let language = || vec![parameter::<String, _>("language", "")];
        fails(
            all(vec![
                review::<1>(parameters),
                Definition {
                    name: "other",
                    ..review::<2>(code())
                },
                reverse(
                    languages::<3>(language()),
                    TypeId::of::<Function<2>>,
                    "code",
                ),
                reverse(languages::<4>(vec![]), TypeId::of::<Function<2>>, "cod"),
                reverse(languages::<5>(vec![]), TypeId::of::<Function<9>>, "code"),
            ]),
            &expect![[r"
                the server cannot start:
                  src/a.rs:1:1: prompt `review`: argument `code` is completed by `app::x`, which is no completer; annotate it with `#[completer]`
                  src/a.rs:2:1: prompt `other`: its completer `languages` at src/a.rs:3:1 asks for `language`, which is no argument of it
                  src/a.rs:4:1: completer `languages` completes `cod`, which is no argument of prompt `other`
                  src/a.rs:5:1: completer `languages` completes a function that is neither a prompt nor a resource template"]],
        );
    }
}
