//! Definitions that the instances of a server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_runtime::Server;
use mcp_runtime::backend::{
    DefinitionStore, MemoryDefinitionStore, StoreFuture, StoredDefinitions, check_definition_store,
};
use mcp_runtime::dynamic::{Arguments, DynamicPrompt, DynamicTool, SharedDefinitions};
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::json;
use mcp_runtime::server::{ErrorKind, Selected};
use tests::wait::until;
use tests::{Client, Version};

use crate::support::connect;

/// An answer that a tool gives.
#[data]
#[derive(Clone)]
struct Answer {
    name: String,
    text: String,
}

fn answer(name: &str, text: &str) -> Answer {
    Answer {
        name: name.into(),
        text: text.into(),
    }
}

type Answers = SharedDefinitions<Answer, DynamicTool>;

fn answer_tool(answer: &Answer) -> DynamicTool {
    let text = answer.text.clone();
    let schema = json!({"type": "object"});
    DynamicTool::new(&answer.name, schema, move |_: Arguments, _: Context| {
        std::future::ready(text.clone())
    })
}

/// Adds a tool for all instances.
#[tool(tags("shared"))]
async fn add_answer(answer: Answer, answers: &State<Answers>) -> Result<()> {
    answers.put(&answer).await.expose()?;
    Ok(())
}

/// Removes a tool from all instances.
#[tool(tags("shared"))]
async fn remove_answer(name: &str, answers: &State<Answers>) -> Result<bool> {
    answers.remove(name).await.expose()
}

/// Returns the names in a list.
async fn names(client: &mut Client, list: &str) -> Vec<String> {
    let listed = client.ok(&format!("{list}/list"), json!({})).await;
    let listed = listed[list].as_array().unwrap().iter();
    listed
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A store that can fail.
#[derive(Default)]
struct Store {
    records: MemoryDefinitionStore,
    fails: AtomicBool,
}

impl Store {
    fn set_failing(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let fails = self.fails.load(Ordering::Relaxed);
        if fails {
            Err("the disk is gone".into())
        } else {
            Ok(())
        }
    }
}

impl DefinitionStore for Store {
    fn put<'a>(&'a self, set: &'a str, name: &'a str, record: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.check().await?;
            self.records.put(set, name, record).await
        })
    }

    fn remove<'a>(&'a self, set: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            self.check().await?;
            self.records.remove(set, name).await
        })
    }

    fn receive<'a>(
        &'a self,
        set: &'a str,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, Option<StoredDefinitions>> {
        Box::pin(async move {
            self.check().await?;
            self.records.receive(set, after).await
        })
    }
}

fn instance(store: &Arc<Store>) -> (Server, Answers) {
    let answers = Answers::new(Arc::<Store>::clone(store), "answers", answer_tool);
    let server = new_server!()
        .only(Selected::tag("shared"))
        .shared_definitions(&answers);
    (server.state(answers.clone()), answers)
}

#[tokio::test(start_paused = true)]
async fn the_memory_definition_store_follows_the_rules() {
    check_definition_store(&MemoryDefinitionStore::new()).await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_added_on_one_instance_exists_on_all_until_it_is_removed() {
    for version in Version::ERAS {
        let store = Arc::<Store>::default();
        let mut one = connect(instance(&store).0, version).await;
        let mut other = connect(instance(&store).0, version).await;
        one.tool(
            "add_answer",
            json!({"answer": {"name": "hours", "text": "9 to 5"}}),
        )
        .await;
        assert_eq!(one.text("hours", json!({})).await, "9 to 5");
        until(async || {
            names(&mut other, "tools")
                .await
                .contains(&"hours".to_owned())
        })
        .await;
        assert_eq!(other.text("hours", json!({})).await, "9 to 5");
        // It is replaced from the other side.
        other
            .tool(
                "add_answer",
                json!({"answer": {"name": "hours", "text": "closed"}}),
            )
            .await;
        until(async || one.text("hours", json!({})).await == "closed").await;
        // An instance that starts later has it, too.
        let mut third = connect(instance(&store).0, version).await;
        until(async || {
            names(&mut third, "tools")
                .await
                .contains(&"hours".to_owned())
        })
        .await;
        assert_eq!(
            other.text("remove_answer", json!({"name": "hours"})).await,
            "true"
        );
        assert_eq!(
            other.text("remove_answer", json!({"name": "hours"})).await,
            "false"
        );
        for client in [&mut one, &mut other, &mut third] {
            until(async || !names(client, "tools").await.contains(&"hours".to_owned())).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_definition_or_a_failing_store_changes_nothing() {
    for version in Version::ERAS {
        let store = Arc::<Store>::default();
        let (server, answers) = instance(&store);
        let mut client = connect(server, version).await;
        // The server is running once it has answered.
        assert_eq!(names(&mut client, "tools").await.len(), 2);
        for (name, kind, problem) in [
            ("", ErrorKind::Configuration, "name"),
            ("add_answer", ErrorKind::Duplicate, "already in use"),
        ] {
            let error = answers.put(&answer(name, "text")).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(problem), "{error}");
        }
        let large = answers
            .put(&answer("large", &"x".repeat(300_000)))
            .await
            .unwrap_err();
        assert!(large.to_string().contains("too large"), "{large}");
        answers.put(&answer("hours", "9 to 5")).await.unwrap();
        store.set_failing(true);
        for (name, text) in [("hours", "closed"), ("new", "text")] {
            let error = answers.put(&answer(name, text)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        }
        assert_eq!(
            answers.remove("hours").await.unwrap_err().kind(),
            ErrorKind::Io
        );
        assert_eq!(client.text("hours", json!({})).await, "9 to 5");
        assert_eq!(
            names(&mut client, "tools").await,
            ["add_answer", "remove_answer", "hours"]
        );
        store.set_failing(false);
        answers.put(&answer("hours", "closed")).await.unwrap();
        assert_eq!(client.text("hours", json!({})).await, "closed");
    }
}

#[tokio::test(start_paused = true)]
async fn records_of_another_build_are_skipped_and_the_rest_is_served() {
    let store = Arc::<Store>::default();
    for (name, record) in [
        ("no_json", "{"),
        ("of_a_newer_build", r#"{"title": "hours"}"#),
        ("misnamed", r#"{"name": "hours", "text": "9 to 5"}"#),
        ("good", r#"{"name": "good", "text": "9 to 5"}"#),
    ] {
        store.records.put("answers", name, record).await.unwrap();
    }
    let (server, _) = instance(&store);
    let mut client = connect(server, Version::V2026_07_28).await;
    until(async || names(&mut client, "tools").await == ["add_answer", "remove_answer", "good"])
        .await;
}

#[tokio::test]
async fn definitions_of_any_kind_can_be_shared_and_belong_to_one_server() {
    let store = Arc::new(MemoryDefinitionStore::new());
    let prompts = SharedDefinitions::new(store, "prompts", |answer: &Answer| {
        let text = answer.text.clone();
        DynamicPrompt::new(&answer.name, move |_, _| std::future::ready(text.clone()))
    });
    let unused = prompts.put(&answer("hours", "9 to 5")).await.unwrap_err();
    assert!(
        unused.to_string().contains("belong to no running server"),
        "{unused}"
    );
    let server = new_server!()
        .only(Selected::tag("shared"))
        .shared_definitions(&prompts);
    let server = server.state(instance(&Arc::default()).1);
    let mut client = connect(server, Version::V2025_06_18).await;
    assert!(names(&mut client, "prompts").await.is_empty());
    prompts.put(&answer("hours", "9 to 5")).await.unwrap();
    assert_eq!(names(&mut client, "prompts").await, ["hours"]);
    let second = new_server!()
        .only(Selected::tag("shared"))
        .shared_definitions(&prompts);
    let (transport, _client) = mcp_runtime::transport::memory();
    let error = second.serve(transport).await.unwrap_err().to_string();
    assert!(
        error.contains("the shared definitions `prompts` belong to two servers"),
        "{error}"
    );
}
