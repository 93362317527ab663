//! Every example, driven.

use serde_json::json;
use tests::{Client, Process, Revision};

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
