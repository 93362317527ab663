//! For anything that a peer can send: a clear error with the right code, and the next message is still served.

use mcp_runtime::Limits;
use mcp_runtime::transport::memory;
use serde_json::{Value, json};
use tests::{Client, Version};

use crate::fixture;
use crate::support::{client, client_and_state, limited};

/// Sends a line that has no readable id; returns the code of the error.
async fn refused(client: &mut Client, line: &[u8]) -> i64 {
    client.bytes(&[line, b"\n"].concat()).await;
    let code = client.anonymous().await.code;
    client.pass().await;
    code
}

// Covers: STDIO-06, BASE-03, BASE-05
#[tokio::test]
async fn a_line_that_is_not_json_is_a_parse_error() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for line in [
            &b"nonsense"[..],
            b"{",
            b"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} {\"jsonrpc\":\"2.0\"}",
            b"{'jsonrpc':'2.0'}",
            b"{\"a\":01}",
            b"{\"a\":NaN}",
            b"{\"a\":\"\\x\"}",
            b"{\"a\":\"\x01\"}",
            b"\xff\xfe\x00",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\"}",
            b"[1,",
        ] {
            assert_eq!(
                refused(&mut client, line).await,
                -32700,
                "{}",
                String::from_utf8_lossy(line)
            );
        }
    }
}

// Covers: BASE-01, BASE-02, STDIO-06
#[tokio::test]
async fn json_that_is_not_a_message_is_an_invalid_request() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for message in [
            json!(1),
            json!("x"),
            json!(null),
            json!(true),
            json!({}),
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1e300, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": [], "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": true, "method": "ping"}),
        ] {
            assert_eq!(
                refused(&mut client, message.to_string().as_bytes()).await,
                -32600,
                "{message}"
            );
        }
        assert_eq!(
            refused(
                &mut client,
                br#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#
            )
            .await,
            -32600
        );
    }
}

// Covers: BASE-01, BASE-03
#[tokio::test]
async fn an_invalid_message_with_a_readable_id_is_refused_with_that_id() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for (message, code) in [
            (
                json!({"jsonrpc": "1.0", "id": "x", "method": "ping"}),
                -32600,
            ),
            (json!({"id": "x", "method": "ping"}), -32600),
            (json!({"jsonrpc": "2.0", "id": "x", "method": 1}), -32600),
            (
                json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": 7}),
                -32602,
            ),
            (
                json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": "p"}),
                -32602,
            ),
        ] {
            client.line(&message.to_string()).await;
            let failure = client.response(&json!("x")).await.unwrap_err();
            assert_eq!(failure.code, code, "{message}: {failure:?}");
            client.pass().await;
        }
    }
}

// Covers: BASE-01, SEC-05
#[tokio::test]
async fn repeated_keys_of_the_envelope_are_refused() {
    for version in Version::ERAS {
        let mut client = client(version).await;
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
        ] {
            client.line(line).await;
            let answer = client.read().await.unwrap();
            assert_eq!(answer["error"]["code"], -32600, "{answer}");
            client.pass().await;
        }
    }
}

// Covers: SEC-05, STDIO-06
#[tokio::test]
async fn deep_and_wide_messages_are_refused() {
    for version in Version::ERAS {
        let mut client = client(version).await;
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{deep}}}}}"#);
        client.line(&line).await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        client.line(&"[".repeat(100_000)).await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        let wide = vec!["1"; 200_000].join(",");
        client
            .line(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":[{wide}]}}}}"#
            ))
            .await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        client.pass().await;
    }
}

// Covers: STDIO-06, SEC-05
#[tokio::test]
async fn a_line_of_64_mib_is_discarded_and_refused() {
    let mut client = client(Version::V2025_11_25).await;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        client.bytes(&chunk).await;
    }
    client.bytes(b"\n").await;
    assert_eq!(client.anonymous().await.code, -32600);
    client.pass().await;
}

// Covers: BASE-04, BASE-13
#[tokio::test]
async fn notifications_and_answers_are_never_answered() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}),
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "nothing"}}),
            json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": "no"}}),
        ] {
            client.line(&message.to_string()).await;
        }
        client.pass().await;
        assert_eq!(client.drain().await, Vec::<Value>::new());
        assert!(!client.answered(&json!(99)) && !client.answered(&json!("x")));
    }
}

// Covers: STDIO-01
#[tokio::test]
async fn lines_may_end_in_a_carriage_return_and_be_blank() {
    for version in Version::ERAS {
        let mut client = client(version).await;
        client.bytes(b"\n\r\n  \n\n").await;
        let params = client.dress(json!({}));
        let message =
            json!({"jsonrpc": "2.0", "id": "cr", "method": "tools/list", "params": params});
        client.remember(&message);
        client.bytes(format!(" {message} \r\n").as_bytes()).await;
        client.response(&json!("cr")).await.unwrap();
    }
}

// Covers: STDIO-01
#[tokio::test]
async fn a_message_may_come_byte_by_byte_and_many_at_once() {
    let mut client = client(Version::V2025_11_25).await;
    let ping = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    client.remember(&ping(1_001));
    for byte in format!("{}\n", ping(1_001)).bytes() {
        client.bytes(&[byte]).await;
        tokio::task::yield_now().await;
    }
    client.response(&json!(1_001)).await.unwrap();
    let mut many = String::new();
    for id in 2_000..2_100 {
        client.remember(&ping(id));
        many += &format!("{}\n", ping(id));
    }
    client.bytes(many.as_bytes()).await;
    for id in 2_000..2_100 {
        client.response(&json!(id)).await.unwrap();
    }
}

// Covers: STDIO-03, SEC-05
#[tokio::test]
async fn a_hundred_thousand_requests_at_once_are_all_answered() {
    let (transport, stream) = memory();
    let server = tokio::spawn(fixture::server().serve(transport));
    let (reader, mut writer) = tokio::io::split(stream);
    let sending = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        for block in 0..100 {
            let lines: String = (0..1_000)
                .map(|index| {
                    format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}}\n",
                        block * 1_000 + index
                    )
                })
                .collect();
            writer.write_all(lines.as_bytes()).await.unwrap();
        }
        writer
    });
    let mut client = Client::new(reader, tokio::io::sink(), Version::V2025_11_25);
    let mut seen = vec![false; 100_000];
    for _ in 0..100_000 {
        let line = client.read_line().await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(!std::mem::replace(&mut seen[id], true), "answered twice");
        assert_eq!(answer["result"], json!({}));
    }
    drop(sending.await.unwrap());
    drop(client);
    let _ = server.await;
}

// Covers: STDIO-03, SEC-05
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_stops_being_read_and_loses_nothing() {
    let limits = Limits::default().with(|limits| limits.calls.max_queued = 50);
    let mut client = limited(Version::V2025_11_25, limits).await;
    // Far more output than the queues hold; the client does not read yet, so the server stops reading at some point.
    let most = 1_000;
    let mut sent = 0;
    for id in 10_000..10_000 + most {
        let message = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "fill", "arguments": {"bytes": 50_000}},
        });
        client.remember(&message);
        let line = format!("{message}\n");
        let sending = tokio::time::timeout(
            std::time::Duration::from_millis(300),
            client.try_bytes(line.as_bytes()),
        );
        if sending.await.is_err() {
            break;
        }
        sent += 1;
    }
    // One MiB is waiting for the client, and 64 KiB of requests for the server.
    assert!(
        sent < most,
        "the server reads whatever becomes of its answers"
    );
    for id in 10_000..10_000 + sent {
        client.response(&json!(id)).await.unwrap();
    }
}

// Covers: BASE-06, SEC-05
#[tokio::test]
async fn too_many_calls_at_once_are_refused_and_the_others_go_on() {
    for version in Version::ERAS {
        let (mut client, shared) = client_and_state(version).await;
        let mut ids = Vec::new();
        for _ in 0..1_300 {
            ids.push(client.start("tools/call", json!({"name": "wait"})).await);
        }
        shared.started(256).await;
        client.pass().await;
        let mut refused = 0;
        for id in ids
            .iter()
            .filter(|id| client.answered(id))
            .cloned()
            .collect::<Vec<_>>()
        {
            let failure = client.response(&id).await.unwrap_err();
            assert!(!(-32768..=-32000).contains(&failure.code), "{failure:?}");
            refused += 1;
        }
        assert_eq!(refused, 20, "256 run and 1,024 wait");
        for id in ids {
            client.cancel(&id).await;
        }
        client.pass().await;
    }
}

// Covers: RES-04, TOOL-09, PROMPT-03, COMP-04, PAGE-03
#[tokio::test]
async fn parameters_of_every_wrong_type_are_refused() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for method in [
            "tools/call",
            "prompts/get",
            "resources/read",
            "completion/complete",
        ] {
            for member in ["name", "uri", "ref", "argument", "arguments"] {
                for value in [
                    json!(null),
                    json!(1),
                    json!([]),
                    json!({}),
                    json!(true),
                    json!(""),
                ] {
                    // Only a URI can be valid and still name nothing.
                    let is_uri = (method, member) == ("resources/read", "uri") && value == "";
                    let code = if is_uri && !version.is_modern() {
                        -32002
                    } else {
                        -32602
                    };
                    client.fails(method, json!({member: value}), code).await;
                }
            }
        }
    }
}
