//! Tests that build small programs and check the resulting registries or start-up errors.

use expect_test::{Expect, expect};

use super::*;
use crate::context::{Caller, Capability, Edit, EditStep, State};
use crate::handler::completion::Candidates;
use crate::handler::definition::Owner;
use crate::handler::dynamic::ItemKind as _;
use crate::handler::handler_error::HandlerError;
use crate::handler::item_option::{Completes, Made};
use crate::handler::parameter::{Injected, ParameterMeta};
use crate::handler::run::{CallOutput, Run};
use crate::jsonrpc::ErrorObject;
use crate::registry::Registry;
use crate::registry::callable::HandlerProgress;
use crate::registry::fixture::{context, early, prompt, prompts, title};
use crate::types::CompletionReference;

/// Stands in for the type of the `N`th function item.
struct Function<const N: usize>;

struct Notes;

fn definition(kind: Kind, name: &'static str, line: u32, function: TypeId) -> Definition {
    Definition {
        kind,
        name,
        function,
        receiver: None,
        location: Location {
            file: "src/a.rs",
            line,
            column: 1,
        },
        parameters: &[],
        options: &[],
        output_schema: None,
        conforms: false,
        run: Run::Sync(|_| Ok(Err(HandlerError::exposed("not called here")))),
    }
}

fn leaked(option: ItemOption) -> &'static [ItemOption] {
    Box::leak(Box::new([option]))
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

/// Returns its arguments as its only candidate.
fn languages<const N: usize>(mut earlier: Vec<ParameterMeta>) -> Definition {
    earlier.insert(0, ParameterMeta::of::<String, _>("", ""));
    Definition {
        kind: Kind::Completer,
        parameters: Box::leak(earlier.into_boxed_slice()),
        run: Run::Sync(|call| {
            let (mut partial, mut strict) = (None::<String>, None::<Option<bool>>);
            call.decode(&mut [&mut partial, &mut strict])?;
            Ok(Ok(CallOutput::Completion(Candidates {
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
    assemble(sources, definitions).map(|snapshot| Registry::new(snapshot, Arc::default()))
}

fn all(definitions: Vec<Definition>) -> Result<Registry, Error> {
    with(Sources::default(), definitions)
}

fn tools(registry: Result<Registry, Error>) -> Vec<String> {
    registry.unwrap().snapshot().names(Capability::Tools)
}

#[track_caller]
fn fails(registry: Result<Registry, Error>, message: &Expect) {
    let error = registry.err().expect("it should not start");
    assert_eq!(error.kind(), ErrorKind::Configuration);
    message.assert_eq(&error.to_string());
}

fn selected<const N: usize>() -> SelectedFunction {
    SelectedFunction {
        kind: Kind::Tool,
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
fn without_a_selection_every_definition_is_served() {
    let mut tagged = tool::<2>("b");
    tagged.options = leaked(ItemOption::Tags(Cow::Borrowed(&[Cow::Borrowed("admin")])));
    assert_eq!(tools(all(vec![tool::<1>("a"), tagged])), ["a", "b"]);
}

#[test]
fn functions_and_tags_can_be_chosen_together() {
    let make = || {
        let mut tagged = tool::<2>("b");
        tagged.options = leaked(ItemOption::Tags(Cow::Borrowed(&[Cow::Borrowed("admin")])));
        vec![tool::<1>("a"), tagged, tool::<3>("c")]
    };
    let only = |only: Option<Vec<SelectedFunction>>, tags: &[&str]| {
        let sources = Sources {
            only,
            tags: tags.iter().map(ToString::to_string).collect(),
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
fn names_have_the_prefixes_of_their_functions() {
    let prefixed = |prefixes: Vec<(&str, Vec<SelectedFunction>)>| {
        let prefixes = prefixes.into_iter();
        Sources {
            rules: Arc::new(ServerRules {
                prefixes: prefixes
                    .map(|(prefix, all)| (prefix.to_owned(), all))
                    .collect(),
                ..ServerRules::default()
            }),
            ..Sources::default()
        }
    };
    let make = || vec![tool::<1>("search"), tool::<2>("search"), tool::<3>("other")];
    let sources = prefixed(vec![("notes_", vec![selected::<2>(), selected::<3>()])]);
    assert_eq!(
        tools(with(sources, make())),
        ["search", "notes_search", "notes_other"]
    );
    let sources = prefixed(vec![
        ("a b", vec![selected::<1>()]),
        ("x_", vec![selected::<2>(), selected::<7>()]),
        ("y_", vec![selected::<2>()]),
    ]);
    fails(
        with(sources, make()),
        &expect![[r"
        the server cannot start:
          `app::chosen` is not registered: is it annotated?
          `app::chosen` is given two prefixes
          src/a.rs:1:1: tool `search`: tool name `a bsearch` contains a space; use 1 to 128 of A-Z a-z 0-9 _ - ."]],
    );
}

#[test]
fn selecting_an_unknown_function_or_tag_is_an_error() {
    let mut tagged = tool::<2>("b");
    tagged.options = leaked(ItemOption::Tags(Cow::Borrowed(&[Cow::Borrowed("admin")])));
    let sources = Sources {
        only: Some(vec![selected::<7>()]),
        tags: vec!["admn".into()],
        ..Sources::default()
    };
    fails(
        with(sources, vec![tagged]),
        &expect![[r"
        the server cannot start:
          `app::chosen` is not registered: is it annotated?
          no definition has the tag `admn`; the tags are `admin`; did you mean `admin`?"]],
    );
}

#[test]
fn methods_are_served_if_their_receiver_is_given() {
    let method = || Definition {
        receiver: Some(Owner::of::<Notes>("Notes")),
        ..tool::<2>("delete")
    };
    let receivers = || vec![MethodReceiver::new(Notes)];
    let sources = Sources {
        receivers: receivers(),
        ..Sources::default()
    };
    assert_eq!(
        tools(with(sources, vec![tool::<1>("a"), method()])),
        ["a", "delete"]
    );
    fails(
        all(vec![tool::<1>("a"), method()]),
        &expect![[r"
        the server cannot start:
          1 method of `Notes` has no value to be called on; add `.handlers(…)`, or choose what is served with `.only(…)`: `delete` at src/a.rs:2:1"]],
    );
    let sources = Sources {
        only: Some(vec![selected::<2>()]),
        ..Sources::default()
    };
    fails(
        with(sources, vec![method()]),
        &expect![[r"
        the server cannot start:
          1 method of `Notes` has no value to be called on; add `.handlers(…)`, or choose what is served with `.only(…)`: `delete` at src/a.rs:2:1"]],
    );
    let sources = Sources {
        receivers: [receivers(), receivers()].concat(),
        ..Sources::default()
    };
    fails(
        with(sources, vec![tool::<1>("a")]),
        &expect![[r"
            the server cannot start:
              `.handlers(…)` was given a value of type `Notes`, which has no annotated methods; put `#[server]` on its `impl` block
              `.handlers(…)` was given a value of type `Notes`, which has no annotated methods; put `#[server]` on its `impl` block
              `.handlers(…)` was given two values of type `Notes`; pass only one of each type"]],
    );
}

#[test]
fn methods_without_a_receiver_are_left_out_if_others_are_selected() {
    let method = Definition {
        receiver: Some(Owner::of::<Notes>("Notes")),
        ..tool::<2>("delete")
    };
    let sources = Sources {
        only: Some(vec![selected::<1>()]),
        ..Sources::default()
    };
    assert_eq!(tools(with(sources, vec![tool::<1>("a"), method])), ["a"]);
}

#[test]
fn selecting_a_function_as_the_wrong_kind_is_an_error() {
    let sources = Sources {
        only: Some(vec![
            SelectedFunction {
                kind: Kind::ResourceTemplate,
                ..selected::<1>()
            },
            selected::<2>(),
        ]),
        ..Sources::default()
    };
    fails(
        with(sources, vec![tool::<1>("a"), review::<2>(Vec::new())]),
        &expect![[r"
            the server cannot start:
              src/a.rs:1:1: `app::chosen` was chosen as a resource template, but is a tool; write `tool(chosen)`
              src/a.rs:2:1: `app::chosen` was chosen as a tool, but is a prompt; write `prompt(chosen)`"]],
    );
}

#[test]
fn a_template_variable_that_does_not_fit_its_parameter_is_an_error() {
    let template = |uri: &'static str, parameter: ParameterMeta| {
        let mut template = definition(Kind::ResourceTemplate, "t", 6, TypeId::of::<Function<6>>());
        template.options = leaked(ItemOption::Uri(uri));
        template.parameters = Box::leak(Box::new([parameter]));
        template
    };
    fails(
        all(vec![
            template("a:{ids}", ParameterMeta::of::<Vec<u8>, _>("ids", "")),
            template("b:{ids*}", ParameterMeta::of::<Vec<u8>, _>("ids", "")),
            template(
                "c:{ids*}",
                ParameterMeta::of::<HashMap<String, u8>, _>("ids", ""),
            ),
            template("d:{id}", ParameterMeta::of::<Option<u8>, _>("id", "")),
            template("e:{ids*}", ParameterMeta::of::<String, _>("ids", "")),
        ]),
        &expect![[r"
            the server cannot start:
              src/a.rs:6:1: resource template `a:{ids}`: parameter `ids` takes a list, but the variable `{ids}` holds only one value; write `{ids*}`
              src/a.rs:6:1: resource template `c:{ids*}`: parameter `ids` takes an object, which a URI cannot represent; take a string, a number or a list, or use several variables"]],
    );
}

#[test]
fn an_empty_registry_is_an_error_that_explains_how_to_register() {
    fails(
        all(vec![]),
        &expect![[r"
        the server cannot start:
          nothing is registered: annotate a function with `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]`; if your functions are in a library crate, name it: `use your_lib as _;`; if everything is inserted while the server runs, call `.only([])`"]],
    );
}

#[test]
fn all_registration_errors_are_reported_together_with_locations() {
    let mut resource = definition(Kind::Resource, "r", 5, TypeId::of::<Function<5>>());
    resource.options = leaked(ItemOption::Uri("no scheme"));
    resource.parameters = Box::leak(Box::new([ParameterMeta::of::<String, _>("id", "")]));
    let mut state = tool::<3>("c");
    state.parameters = Box::leak(Box::new([
        ParameterMeta::of::<State<Notes>, Injected>("db", ""),
        ParameterMeta::of::<i64, _>("n", "").default_json("\"x\""),
    ]));
    let mut meta = tool::<4>("d");
    meta.options = leaked(ItemOption::Meta(Made::By(
        || serde_json::json!({"io.modelcontextprotocol/x": 1}),
    )));
    let mut template = definition(Kind::ResourceTemplate, "t", 6, TypeId::of::<Function<6>>());
    template.options = leaked(ItemOption::Uri("notes:///{id"));
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
              src/a.rs:2:1: tool name `a` is used twice: first at src/a.rs:1:1
              src/a.rs:3:1: tool `c` cannot get its parameter `db`: no state of type `Notes`; add `.state(…)` with a `Notes` to the server
              src/a.rs:3:1: tool `c`: argument `n`: the default `"x"` is not a value of its type: invalid type: string "x", expected i64
              src/a.rs:4:1: tool `d`: meta key `io.modelcontextprotocol/x` is reserved for the protocol; use another prefix, such as `com.example/`
              src/a.rs:5:1: resource `no scheme`: URI `no scheme` has no scheme; add one, as in `notes:///all`
              src/a.rs:5:1: resource `no scheme`: parameter `id` can never have a value: a URI without variables has no arguments; use `#[resource_template]`, or take an injected value
              src/a.rs:6:1: resource template `notes:///{id`: URI template `notes:///{id` has a `{` without `}`"#]],
    );
}

#[test]
fn methods_are_served_if_their_receiver_is_given_in_an_arc() {
    let method = Definition {
        receiver: Some(Owner::of::<Notes>("Notes")),
        ..tool::<2>("delete")
    };
    let sources = Sources {
        receivers: vec![MethodReceiver::new(Arc::new(Notes))],
        ..Sources::default()
    };
    assert_eq!(tools(with(sources, vec![method])), ["delete"]);
}

#[test]
fn hiding_an_unknown_definition_before_startup_is_an_error() {
    let hide = |name: &str| Sources {
        early: vec![Edit {
            list: Capability::Tools,
            steps: vec![EditStep::Disable(name.into())],
        }],
        ..Sources::default()
    };
    let declared = || vec![tool::<1>("clear"), tool::<2>("b")];
    assert_eq!(tools(with(hide("clear"), declared())), ["b"]);
    fails(
        with(hide("claer"), declared()),
        &expect![[r"
        the server cannot start:
          cannot show, hide or remove tool `claer`, which is not served; did you mean `clear`?"]],
    );
}

#[test]
fn a_dynamic_definition_cannot_take_a_name() {
    let sources = Sources {
        early: early([prompt("review").into_item()]),
        ..Sources::default()
    };
    fails(
        with(sources, vec![review::<1>(vec![])]),
        &expect![[r"
            the server cannot start:
              prompt name `review` is used twice: first at src/a.rs:1:1, then by a definition created at run time"]],
    );
}

fn code() -> Vec<ParameterMeta> {
    vec![
        ParameterMeta::of::<String, _>("code", "The code"),
        ParameterMeta::of::<Option<bool>, _>("strict", ""),
    ]
}

/// Parses the earlier arguments. Any value other than an object is treated as an empty object.
fn map(earlier: Option<&str>) -> serde_json::Map<String, serde_json::Value> {
    earlier
        .and_then(|earlier| serde_json::from_str(earlier).ok())
        .unwrap_or_default()
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
        .seen_by(&Caller::trusted())
        .completer(&CompletionReference::Prompt { name }, argument)?;
    match completer.start(partial, &map(earlier), &context).unwrap() {
        HandlerProgress::Done(Ok(CallOutput::Completion(candidates))) => Ok(candidates.values),
        _ => panic!("not done"),
    }
}

#[test]
fn a_completer_receives_the_earlier_arguments_that_it_declares() {
    let mut parameters = code();
    parameters[0] = ParameterMeta::of::<String, _>("code", "")
        .completer(|| (TypeId::of::<Function<2>>(), "app::languages"));
    let registry = all(vec![
        review::<1>(parameters),
        languages::<2>(vec![ParameterMeta::of::<Option<bool>, _>("strict", "")]),
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
    let mut completer = languages::<2>(vec![ParameterMeta::of::<bool, _>("strict", "")]);
    completer.run = Run::Sync(|call| {
        let (mut partial, mut strict) = (None::<String>, None::<bool>);
        call.decode(&mut [&mut partial, &mut strict])?;
        Ok(Err(HandlerError::exposed("it ran")))
    });
    completer.options = leaked(ItemOption::Completes(Completes {
        target: TypeId::of::<Function<1>>,
        argument: "code",
    }));
    let registry = all(vec![review::<1>(code()), completer]).unwrap();
    assert_eq!(complete(&registry, "code", "ru", None), Ok(vec![]));
    assert_eq!(
        complete(&registry, "code", "ru", Some(r#"{"strict":"perhaps"}"#)),
        Ok(vec![])
    );
}

#[test]
fn completers_that_do_not_fit_their_argument_are_errors() {
    let reverse = |mut completer: Definition, target: fn() -> TypeId, argument| {
        completer.options = leaked(ItemOption::Completes(Completes { target, argument }));
        completer
    };
    let mut parameters = code();
    parameters[0] = ParameterMeta::of::<String, _>("code", "")
        .completer(|| (TypeId::of::<Function<7>>(), "app::x"));
    let language = || vec![ParameterMeta::of::<String, _>("language", "")];
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
              src/a.rs:1:1: prompt `review`: argument `code` is completed by `app::x`, which is not a completer; annotate it with `#[completer]`
              src/a.rs:2:1: prompt `other`: its completer `languages` at src/a.rs:3:1 takes `language`, but there is no such argument; an `Option<…>` is `None` then
              src/a.rs:4:1: completer `languages` completes `cod`, which is not an argument of prompt `other`
              src/a.rs:5:1: completer `languages` completes a function that is neither a prompt nor a resource template"]],
    );
}

#[test]
fn edits_before_startup_are_applied_in_their_order() {
    let change = |step| Edit {
        list: Capability::Prompts,
        steps: vec![step],
    };
    let new = || prompt("review").title("new").into_item();
    let sources = Sources {
        early: vec![
            change(EditStep::Remove("review".into())),
            change(EditStep::Insert(new())),
            change(EditStep::Insert(prompt("hidden").into_item())),
            change(EditStep::Disable("hidden".into())),
        ],
        ..Sources::default()
    };
    let registry = with(sources, vec![review::<1>(vec![])]).unwrap();
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.names(Capability::Prompts), ["review"]);
    assert_eq!(title(&snapshot, "review"), Some("new"));
    let twice = Sources {
        early: vec![
            change(EditStep::Insert(new())),
            change(EditStep::Insert(new())),
        ],
        ..Sources::default()
    };
    fails(
        with(twice, vec![]),
        &expect![[r"
            the server cannot start:
              prompt name `review` is used twice, both times by a definition created at run time"]],
    );
}

#[test]
fn a_server_without_definitions_can_start_if_they_are_inserted_later() {
    let replaced = Sources {
        early: vec![Edit {
            list: Capability::Prompts,
            steps: vec![EditStep::Replace(prompt("a").into_item())],
        }],
        ..Sources::default()
    };
    assert!(with(replaced, vec![]).unwrap().snapshot().has_prompts());
    let later = Sources {
        offered: vec![Capability::Tools],
        ..Sources::default()
    };
    let snapshot = with(later, vec![]).unwrap().snapshot();
    assert!(snapshot.has_tools() && !snapshot.has_prompts() && !snapshot.has_resources());
    assert!(!prompts(&[], 1).snapshot().has_prompts());
}

#[test]
fn the_other_variables_of_a_uri_are_earlier_completion_arguments() {
    let mut template = definition(Kind::ResourceTemplate, "t", 1, TypeId::of::<Function<1>>());
    template.options = leaked(ItemOption::Uri("notes:///{strict}/{id}"));
    template.parameters = Box::leak(Box::new([
        ParameterMeta::of::<bool, _>("strict", ""),
        ParameterMeta::of::<String, _>("id", "")
            .completer(|| (TypeId::of::<Function<2>>(), "app::ids")),
    ]));
    let ids = languages::<2>(vec![ParameterMeta::of::<Option<bool>, _>("strict", "")]);
    let registry = all(vec![template, ids]).unwrap();
    let offered = |uri: &str, earlier| {
        let reference = CompletionReference::Resource { uri: uri.into() };
        let completer = registry
            .snapshot()
            .seen_by(&Caller::trusted())
            .completer(&reference, "id")
            .unwrap();
        match completer.start("x", &map(earlier), &context).unwrap() {
            HandlerProgress::Done(Ok(CallOutput::Completion(candidates))) => candidates.values,
            _ => panic!("not done"),
        }
    };
    let template = "notes:///{strict}/{id}";
    for (uri, earlier, expected) in [
        (template, None, r#"Some("x") Some(None)"#),
        ("notes:///true/x", None, r#"Some("x") Some(Some(true))"#),
        (
            "notes:///true/x",
            Some("{}"),
            r#"Some("x") Some(Some(true))"#,
        ),
        ("notes:///maybe/x", None, r#"Some("x") Some(None)"#),
        (
            "notes:///true/x",
            Some(r#"{"strict":"false"}"#),
            r#"Some("x") Some(Some(false))"#,
        ),
    ] {
        assert_eq!(offered(uri, earlier), [expected], "{uri} {earlier:?}");
    }
}
