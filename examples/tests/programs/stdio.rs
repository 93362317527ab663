//! Real pipes and processes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::{Process, Version};

async fn everything(version: Version) -> Process {
    Process::start("everything", &[], version).await
}

// Covers: STDIO-02
#[tokio::test]
async fn a_handler_that_prints_does_not_disturb_the_stream() {
    for version in Version::ERAS {
        let mut process = everything(version).await;
        for _ in 0..3 {
            assert_eq!(
                process.client.text("print_something", json!({})).await,
                "printed"
            );
        }
        process.client.pass().await;
    }
}

// Covers: STDIO-07, LIFE-12
#[tokio::test]
async fn the_end_of_input_ends_the_process_well() {
    for version in Version::ERAS {
        let mut process = everything(version).await;
        process.client.pass().await;
        process.client.close().await;
        assert!(process.ended().await.success());
        let mut process = Process::raw("everything", &[], version);
        process.client.close().await;
        assert!(
            process.ended().await.success(),
            "even if nothing was ever said"
        );
    }
}

// Covers: STDIO-07
#[tokio::test]
async fn work_under_way_at_the_end_of_input_is_finished() {
    for version in Version::ERAS {
        let mut process = everything(version).await;
        let id = process
            .client
            .start(
                "tools/call",
                json!({"name": "doze", "arguments": {"ms": 300}}),
            )
            .await;
        process.client.close().await;
        process.client.response(&id).await.unwrap();
        assert!(process.client.read().await.is_none());
        assert!(process.ended().await.success());
    }
}

// Covers: STDIO-07
#[tokio::test]
async fn work_that_does_not_end_is_dropped_after_a_grace() {
    let mut process = everything(Version::V2025_11_25).await;
    process
        .client
        .start("tools/call", json!({"name": "doze"}))
        .await;
    let before = Instant::now();
    process.client.close().await;
    assert!(process.ended().await.success());
    assert!(
        before.elapsed() < Duration::from_secs(15),
        "{:?}",
        before.elapsed()
    );
}

// Covers: STDIO-08, SUBS-10
#[cfg(unix)]
#[tokio::test]
async fn a_signal_to_stop_is_taken_like_the_end_of_input() {
    for version in Version::ERAS {
        let mut process = everything(version).await;
        let id = process
            .client
            .start(
                "tools/call",
                json!({"name": "doze", "arguments": {"ms": 300}}),
            )
            .await;
        let mut listener = Value::Null;
        if version.is_modern() {
            let listen = json!({"notifications": {"toolsListChanged": true}});
            listener = process.client.start("subscriptions/listen", listen).await;
            process
                .client
                .notification("notifications/subscriptions/acknowledged")
                .await;
        }
        process.client.pass().await;
        let pid = process.child.id().unwrap();
        tests::run::signal(pid, "TERM");
        process.client.response(&id).await.unwrap();
        if version.is_modern() {
            process.client.response(&listener).await.unwrap();
            let ended = process.client.notification("notifications/cancelled").await;
            assert_eq!(ended["requestId"], listener);
        }
        assert!(process.ended().await.success());
    }
}

// Covers: STDIO-03, LIFE-11
#[tokio::test]
async fn a_ping_is_answered_beside_slow_calls() {
    let mut process = everything(Version::V2025_11_25).await;
    for _ in 0..10 {
        process
            .client
            .start("tools/call", json!({"name": "doze"}))
            .await;
    }
    let before = Instant::now();
    process.client.pass().await;
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "{:?}",
        before.elapsed()
    );
}

// Covers: STDIO-01, STDIO-06
#[tokio::test]
async fn half_a_message_at_the_end_of_input_is_no_message() {
    let mut process = everything(Version::V2025_11_25).await;
    process
        .client
        .bytes(br#"{"jsonrpc":"2.0","id":1,"met"#)
        .await;
    process.client.close().await;
    let mut rest = Vec::new();
    while let Some(message) = process.client.read().await {
        rest.push(message);
    }
    assert!(
        rest.iter()
            .all(|message: &Value| message["error"]["code"] == -32700),
        "{rest:?}"
    );
    assert!(process.ended().await.success());
}

// Covers: STDIO-03
#[tokio::test]
async fn input_may_come_from_a_file() {
    let directory = std::env::temp_dir().join(format!("mcp-input-{}", std::process::id()));
    std::fs::write(
        &directory,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    )
    .unwrap();
    let mut command = std::process::Command::new(tests::binary("hello"));
    let file = std::fs::File::open(&directory).unwrap();
    let output = tests::run::finish(command.stdin(file), "");
    std::fs::remove_file(&directory).unwrap();
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

// Covers: STDIO-02
#[tokio::test]
async fn nothing_but_messages_is_written_even_to_a_client_that_says_nothing() {
    let mut command = std::process::Command::new(tests::binary("hello"));
    let output = tests::run::output(&mut command);
    assert!(output.status.success());
    assert_eq!(output.stdout, b"");
}

// Covers: STDIO-07
#[cfg(unix)]
#[tokio::test]
async fn a_server_ends_with_the_process_that_started_it_though_the_pipe_stays_open() {
    let program = tests::binary("everything");
    // A shell starts the server, passes on its standard input and waits.
    let arguments = [
        "-c",
        "exec 3<&0; \"$0\" <&3 & wait",
        program.to_str().unwrap(),
    ];
    let mut shell = Process::spawn("sh".as_ref(), &arguments, &[], Version::V2025_11_25);
    shell.client = shell.client.connect().await;
    shell.client.pass().await;
    shell.child.kill().await.unwrap();
    // This process holds the other end of the input, so only the end of the output shows that the server has exited.
    assert!(shell.client.read().await.is_none());
}

#[tokio::test]
async fn bytes_are_sent_over_standard_input() {
    for version in Version::ERAS {
        let mut process = everything(version).await;
        let measured = process
            .client
            .text("measure", json!({"bytes": "aGVsbG8"}))
            .await;
        assert_eq!(measured, "5");
        let refused = process
            .client
            .refused("measure", json!({"bytes": "A".repeat(1_336)}))
            .await;
        assert!(refused.contains("more than 1000 bytes"), "{refused}");
    }
}
