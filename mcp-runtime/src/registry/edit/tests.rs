//! Tests for edits to a registry's lists.

use super::*;
use crate::context::{Caller, Principal};
use crate::handler::dynamic::ItemKind;
use crate::handler::tags::TagSelection;
use crate::registry::fixture::{change, page, prompt, prompts, title};
use crate::registry::{Registry, Sources};

#[test]
fn inserted_prompts_come_in_the_order_of_their_names() {
    let registry = prompts(&["b", "c"], 10);
    assert!(change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Insert(prompt("a").into_item())]
    ));
    assert_eq!(
        registry.snapshot().names(Capability::Prompts),
        ["a", "b", "c"]
    );
}

#[test]
fn what_is_disabled_is_neither_listed_nor_found() {
    let registry = prompts(&["a", "b"], 10);
    assert!(change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Disable("a".into())]
    ));
    let snapshot = registry.snapshot();
    assert!(snapshot.prompts.get("a").is_none());
    assert_eq!(page(&snapshot, Capability::Prompts, None).0, ["b"]);
    assert!(snapshot.has_prompts());
    assert!(change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Enable("a".into())]
    ));
    assert!(registry.snapshot().prompts.get("a").is_some());
    assert_eq!(
        page(&registry.snapshot(), Capability::Prompts, None).0,
        ["a", "b"]
    );
}

#[test]
fn an_edit_that_changes_nothing_says_so() {
    let registry = prompts(&["a"], 10);
    for step in [
        EditStep::Enable("a".into()),
        EditStep::Enable("x".into()),
        EditStep::Disable("x".into()),
        EditStep::Remove("x".into()),
    ] {
        assert!(!change(&registry, Capability::Prompts, vec![step]));
    }
}

#[test]
fn a_taken_name_undoes_the_whole_edit() {
    let registry = prompts(&["a"], 10);
    let error = registry
        .edit(Edit {
            list: Capability::Prompts,
            steps: vec![
                EditStep::Insert(prompt("b").into_item()),
                EditStep::Insert(prompt("a").into_item()),
            ],
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    assert_eq!(error.to_string(), "the prompt name `a` is already in use");
    assert_eq!(registry.snapshot().names(Capability::Prompts), ["a"]);
}

#[test]
fn replacing_keeps_the_place_and_enables() {
    let registry = prompts(&["a", "b"], 10);
    change(
        &registry,
        Capability::Prompts,
        vec![
            EditStep::Disable("a".into()),
            EditStep::Replace(prompt("a").title("new").into_item()),
        ],
    );
    let snapshot = registry.snapshot();
    assert_eq!(snapshot.names(Capability::Prompts), ["a", "b"]);
    assert_eq!(title(&snapshot, "a"), Some("new"));
}

#[test]
fn a_name_can_be_removed_and_inserted_again_in_one_edit() {
    let registry = prompts(&["a", "b"], 10);
    change(
        &registry,
        Capability::Prompts,
        vec![
            EditStep::Remove("a".into()),
            EditStep::Insert(prompt("a").into_item()),
            EditStep::Remove("b".into()),
        ],
    );
    assert_eq!(registry.snapshot().names(Capability::Prompts), ["a"]);
}

#[test]
fn a_call_keeps_the_snapshot_it_started_with() {
    let registry = prompts(&["a"], 10);
    let before = registry.snapshot();
    change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Remove("a".into())],
    );
    assert!(before.prompts.get("a").is_some());
    assert!(registry.snapshot().prompts.get("a").is_none());
}

#[test]
fn everything_wrong_with_a_definition_is_said() {
    let registry = prompts(&[], 10);
    let error = registry
        .edit(Edit {
            list: Capability::Prompts,
            steps: vec![EditStep::Insert(
                prompt("p")
                    .required("x", "")
                    .required("x", "")
                    .candidates("y", ["1"])
                    .meta("dev.mcp/x", 1)
                    .into_item(),
            )],
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    expect_test::expect!["prompt `p`: meta key `dev.mcp/x` is reserved for the protocol; use another prefix, such as `com.example/`; argument `x` is defined twice; candidates are set for `y`, but there is no such argument"].assert_eq(&error.to_string());
}

#[test]
fn removing_what_nobody_sees_is_a_change_nobody_sees() {
    let registry = prompts(&["a", "b"], 10);
    change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Disable("a".into())],
    );
    let edited = registry.edit(Edit {
        list: Capability::Prompts,
        steps: vec![EditStep::Remove("a".into())],
    });
    let edited = edited.unwrap();
    assert!(edited.changed && edited.audience.is_empty());
}

#[test]
fn an_edit_says_who_sees_another_list() {
    let registry = prompts(&[], 10);
    let [reader, writer, nobody] = ["read", "write", ""]
        .map(|scope| Caller::from(Principal::new("alice").with_scopes([scope])));
    let seen = |step| {
        let (list, steps) = (Capability::Prompts, vec![step]);
        let audience = registry.edit(Edit { list, steps }).unwrap().audience;
        [&reader, &writer, &nobody].map(|caller| audience.includes(caller))
    };
    let reading = || prompt("a").scopes(["read"]).into_item();
    let writing = || prompt("a").scopes(["write"]).into_item();
    let [readers, writers, both] = [
        [true, false, false],
        [false, true, false],
        [true, true, false],
    ];
    assert_eq!(seen(EditStep::Insert(reading())), readers);
    assert_eq!(seen(EditStep::Replace(writing())), both);
    assert_eq!(seen(EditStep::Disable("a".into())), writers);
    // No caller could see the definition before.
    assert_eq!(seen(EditStep::Replace(reading())), readers);
    assert_eq!(seen(EditStep::Replace(prompt("a").into_item())), [true; 3]);
    assert_eq!(seen(EditStep::Remove("a".into())), [true; 3]);
}

#[test]
fn a_list_that_was_offered_stays_offered() {
    let registry = prompts(&["a"], 10);
    change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Remove("a".into())],
    );
    let snapshot = registry.snapshot();
    assert!(snapshot.has_prompts() && !snapshot.has_tools());
    assert_eq!(page(&snapshot, Capability::Prompts, None), (vec![], None));
}

#[test]
fn completions_that_were_offered_stay_offered() {
    let registry = prompts(&["a"], 10);
    assert!(!registry.snapshot().has_completers());
    let completing = prompt("b").optional("x", "").candidates("x", ["1"]);
    change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Insert(completing.into_item())],
    );
    change(
        &registry,
        Capability::Prompts,
        vec![EditStep::Remove("b".into())],
    );
    assert!(registry.snapshot().has_completers());
}

#[test]
fn what_the_server_does_not_select_is_held_but_not_served() {
    let rules = ServerRules {
        selection: Some(TagSelection::parse("kept").unwrap()),
        tag_descriptions: vec![("kept".to_owned(), String::new())],
        ..ServerRules::default()
    };
    let registry = Registry::build(Sources {
        only: Some(Vec::new()),
        rules: Arc::new(rules),
        ..Sources::default()
    });
    let registry = registry.unwrap();
    let edit = |step: EditStep| {
        let list = Capability::Prompts;
        registry.edit(Edit {
            list,
            steps: vec![step],
        })
    };
    let other = || prompt("other").tags(["other"]).into_item();
    let edited = edit(EditStep::Insert(other())).unwrap();
    assert!(edited.changed && edited.audience.is_empty());
    assert!(edit(EditStep::Insert(other())).is_err());
    assert!(registry.snapshot().prompts.get("other").is_none());
    let disabled = edit(EditStep::Disable("other".into())).unwrap();
    assert!(disabled.changed && disabled.audience.is_empty());
    let replaced = prompt("other").tags(["kept"]).into_item();
    let replaced = edit(EditStep::Replace(replaced)).unwrap();
    assert!(!replaced.audience.is_empty());
    assert!(registry.snapshot().prompts.get("other").is_some());
}
