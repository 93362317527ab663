//! Every example, driven.

use serde_json::json;
use tests::{Answer, Client, Process, Question, Revision};

#[tokio::test]
async fn hello_is_short_and_greets() {
    assert!(lines("hello") <= 15);
    for revision in Revision::ALL {
        let mut process = Process::start("hello", &[], revision).await;
        assert_eq!(
            process.client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
}

#[tokio::test]
async fn notes_is_short_and_has_everything() {
    assert!(lines("notes") <= 30);
    for revision in Revision::ALL {
        let mut process = Process::start("notes", &[], revision).await;
        let client = &mut process.client;
        let (tools, _) = client.list("tools/list", "tools").await;
        let schema = &tools[0]["inputSchema"];
        assert_eq!(schema["required"], json!(["text"]));
        let properties = schema["properties"].as_object().unwrap();
        assert!(
            properties.len() == 3
                && properties
                    .values()
                    .all(|argument| argument["description"].is_string())
        );
        assert_eq!(schema["properties"]["urgency"]["maximum"], 5);
        client.tool("add", json!({"text": "buy milk"})).await;
        client
            .refused("add", json!({"text": "x", "urgency": 9}))
            .await;
        let note = client
            .ok("resources/read", json!({"uri": "notes:///0"}))
            .await;
        assert_eq!(note["contents"][0]["text"], "buy milk");
        client
            .request("resources/read", json!({"uri": "notes:///7"}))
            .await
            .unwrap_err();
        client
            .request("resources/read", json!({"uri": "notes:///x"}))
            .await
            .unwrap_err();
        let reference = json!({"type": "ref/prompt", "name": "summary"});
        let argument = json!({"name": "style", "value": "fr"});
        let found = client
            .ok(
                "completion/complete",
                json!({"ref": reference, "argument": argument}),
            )
            .await;
        assert_eq!(found["completion"]["values"][0], "friendly");
        let arguments = json!({"style": "formal"});
        client
            .ok(
                "prompts/get",
                json!({"name": "summary", "arguments": arguments}),
            )
            .await;
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

fn lines(example: &str) -> usize {
    let path = format!(
        "{}/../examples/src/bin/{example}.rs",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).unwrap().lines().count()
}
