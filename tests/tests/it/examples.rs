//! Every example, driven.

mod dynamic;
mod files;
mod guide;
mod notes;
mod weather;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::{Answer, Client, Process, Question, Revision};

#[tokio::test]
async fn hello_is_short_and_greets() {
    assert!(source("hello").lines().count() <= 15);
    for revision in Revision::ALL {
        let mut process = Process::start("hello", &[], revision).await;
        assert_eq!(
            process.client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
}

/// A person who approves, and a model that says one thing.
fn approve(question: &Question) -> Answer {
    if question.method == "sampling/createMessage" {
        return Answer::said("It is done.");
    }
    Answer::accept(json!({"approve": true, "target": "production", "instances": 3}))
}

#[tokio::test]
async fn deploy_asks_before_it_acts() {
    for revision in [Revision::C, Revision::D, Revision::E] {
        for (capabilities, expected) in [
            (
                json!({"elicitation": {}}),
                "v1 is on Production, 3 instances (no note)",
            ),
            (json!({"elicitation": {}, "sampling": {}}), "It is done."),
        ] {
            let mut process = Process::raw("deploy", &[], revision);
            process.client.capabilities = capabilities;
            let mut client = process.client.connect().await;
            client.answer(approve);
            let params = json!({"name": "deploy", "arguments": {"service": "shop"}});
            let result = client.ask("tools/call", params.clone()).await.unwrap();
            assert_eq!(result["content"][0]["text"], expected);
            assert_eq!(
                client.asked[0].params["message"],
                "Deploy shop? build shop v1, test shop v1, start shop v1"
            );
            client.answer(|_| Answer::accept(json!({"approve": false})));
            let result = client.ask("tools/call", params).await.unwrap();
            assert_eq!(result["isError"], true);
        }
    }
}

#[tokio::test]
async fn rounds_of_deploy_may_land_on_different_processes_that_share_a_key() {
    let start = |key: &'static str| {
        let variables = [("DEPLOY_STATE_KEYS", key)];
        let mut process = Process::with_environment("deploy", &[], &variables, Revision::E);
        process.client.capabilities = json!({"elicitation": {}, "sampling": {}});
        process.client.answer(approve);
        process
    };
    let shared = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let mut processes = [start(shared), start(shared)];
    let mut stranger = start("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=");
    let params = json!({"name": "deploy", "arguments": {"service": "shop"}});
    let mut next = params.clone();
    for round in 0..3 {
        let client = &mut processes[round % 2].client;
        let result = client.ok("tools/call", next.clone()).await;
        if round == 2 {
            assert_eq!(result["content"][0]["text"], "It is done.");
            break;
        }
        next = client.retry(&params, &result);
        let failure = stranger
            .client
            .fails("tools/call", next.clone(), -32602)
            .await;
        assert!(failure.message.contains("state_keys"), "{failure:?}");
    }
}

#[tokio::test]
async fn calculator_keeps_its_memory() {
    let mut process = Process::start("calculator", &[], Revision::E).await;
    let client = &mut process.client;
    assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
    client.text("accumulate", json!({"number": 2.5})).await;
    assert_eq!(client.text("accumulate", json!({"number": 2})).await, "4.5");
    assert_eq!(client.text("recall", json!({})).await, "4.5");
    client.tool("clear", json!({})).await;
    client
        .refused("divide", json!({"dividend": 1, "divisor": 0}))
        .await;
}

// Covers: CUST-01, CUST-02
#[tokio::test]
async fn tcp_serves_several_clients() {
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let _process = Process::raw("tcp", &[&address], Revision::D);
    for revision in Revision::ALL {
        let stream = retry(async || tokio::net::TcpStream::connect(&address).await).await;
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, revision).connect().await;
        assert_eq!(
            client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
}

// Covers: CUST-02
#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_serves_several_clients() {
    let path = std::env::temp_dir().join(format!("mcp-{}.sock", std::process::id()));
    let _process = Process::raw("unix_socket", &[path.to_str().unwrap()], Revision::D);
    for revision in Revision::ERAS {
        let stream = retry(async || tokio::net::UnixStream::connect(&path).await).await;
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, revision).connect().await;
        assert_eq!(
            client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
    let _ = std::fs::remove_file(&path);
}

#[tokio::test]
async fn the_one_command_of_the_readme_shows_a_result() {
    let output = std::process::Command::new(tests::binary("try"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Hello, world!"), "{text}");
}

/// Retries until the example listens.
async fn retry<T>(connect: impl AsyncFn() -> std::io::Result<T>) -> T {
    let end = std::time::Instant::now() + tests::client::PATIENCE;
    loop {
        match connect().await {
            Ok(stream) => return stream,
            Err(error) if std::time::Instant::now() > end => panic!("{error}"),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
}

/// Starts an example with these variables in its environment, and shakes hands.
pub(crate) async fn start(name: &str, variables: &[(&str, &str)], revision: Revision) -> Process {
    let mut process = Process::with_environment(name, &[], variables, revision);
    process.client = process.client.connect().await;
    process
}

/// Asks to be told when this resource changes, or any list.
async fn follow(client: &mut Client, uri: &str) {
    if !client.revision().is_modern() {
        client.ok("resources/subscribe", json!({"uri": uri})).await;
        return;
    }
    let filter = json!({"resourceSubscriptions": [uri], "resourcesListChanged": true, "toolsListChanged": true});
    client
        .start("subscriptions/listen", json!({"notifications": filter}))
        .await;
    client
        .notification("notifications/subscriptions/acknowledged")
        .await;
}

/// The values an argument of a prompt or template completes to.
async fn completed(client: &mut Client, reference: Value, name: &str, value: &str) -> Value {
    let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
    client.ok("completion/complete", params).await["completion"]["values"].take()
}

/// A directory of a test's own. It is deleted when this is dropped.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str, revision: Revision) -> Self {
        let name = format!("mcp-{name}-{}-{}", std::process::id(), revision.date());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program of an example.
fn source(example: &str) -> String {
    let path = format!(
        "{}/../examples/src/bin/{example}.rs",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).unwrap()
}
