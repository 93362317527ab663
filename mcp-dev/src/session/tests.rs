use std::time::Duration;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);
const OPTIONS: ConnectionOptions = ConnectionOptions {
    patience: PATIENCE,
    tasks: true,
};

/// Starts a server that is a shell script.
async fn open(script: &str, era: Era) -> (Arc<Hub>, Result<(Arc<Session>, Value), String>) {
    let hub = Arc::new(Hub::new("server", false));
    let words = ["sh", "-c", script].map(str::to_owned);
    let (_run, mut halted) = watch::channel(None);
    let target = Target::Command(words.into());
    let opened = Session::open(&target, era, &hub, OPTIONS, &mut halted).await;
    (hub, opened)
}

async fn in_time<T>(value: impl Future<Output = T>) -> T {
    let value = tokio::time::timeout(PATIENCE, value).await;
    value.expect("it happens in time")
}

fn snapshot(hub: &Hub) -> Value {
    serde_json::from_str(&hub.open().0).unwrap()
}

const HELLO: &str = r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'; read line;"#;

#[tokio::test]
async fn the_version_that_a_server_chooses_is_taken() {
    let (_, opened) = open(&format!("{HELLO} cat >/dev/null"), Era::Legacy).await;
    let (session, status) = opened.unwrap();
    assert_eq!(status["version"], "2025-06-18");
    assert_eq!(status["server"]["name"], "s");
    session.end("the test is over");
    in_time(session.gone()).await;
}

#[tokio::test]
async fn a_server_that_ends_fails_its_requests() {
    let (hub, opened) = open(
        &format!("{HELLO} read line; echo oh >&2; exit 5"),
        Era::Legacy,
    )
    .await;
    let (session, _) = opened.unwrap();
    let mut pending = session
        .send("tools/list", Value::Null, Vec::new())
        .await
        .unwrap();
    let failed = in_time(session.reply(&mut pending)).await.unwrap_err();
    assert!(failed.contains("exit status: 5"), "{failed}");
    in_time(session.gone()).await;
    let again = session.send("tools/list", Value::Null, Vec::new()).await;
    assert!(again.is_err());
    let seen = snapshot(&hub);
    assert_eq!(seen["eras"][0]["status"]["state"], "closed");
    assert_eq!(seen["lines"][0]["text"], "oh");
}

#[tokio::test]
async fn errors_distinguish_a_server_that_exits_from_one_that_refuses() {
    let (_, ended) = open("exit 1", Era::Modern).await;
    assert!(ended.err().unwrap().contains("ended: exit status: 1"));
    let script = r#"read line; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'; cat >/dev/null"#;
    let (_, refused) = open(script, Era::Modern).await;
    assert!(
        refused
            .err()
            .unwrap()
            .contains("server/discover was refused")
    );
    let hub = Arc::new(Hub::new("server", false));
    let missing = Target::Command(vec!["/no/such/program".into()]);
    let (_run, mut halted) = watch::channel(None);
    let missing = Session::open(&missing, Era::Modern, &hub, OPTIONS, &mut halted).await;
    assert!(
        missing
            .err()
            .unwrap()
            .contains("cannot start `/no/such/program`")
    );
}

#[tokio::test]
async fn output_that_is_not_a_message_is_shown_and_otherwise_ignored() {
    let odd = r#"read line; echo 'Listening…'; echo '{"jsonrpc":"2.0"}'; echo '{"jsonrpc":"2.0","id":99,"result":{}}'; echo '[1'; echo '[{"jsonrpc":"2.0","id":2,"result":{}}]'; cat >/dev/null"#;
    let (hub, opened) = open(&format!("{HELLO} {odd}"), Era::Legacy).await;
    let (session, _) = opened.unwrap();
    let mut pending = session.send("ping", Value::Null, Vec::new()).await.unwrap();
    in_time(session.reply(&mut pending)).await.unwrap();
    let seen = snapshot(&hub);
    let strays = seen["messages"].as_array().unwrap().iter();
    let strays = strays.filter(|message| message["notes"]["stray"].is_string());
    assert_eq!(strays.count(), 4, "{seen}");
    session.end("the test is over");
}

#[tokio::test]
async fn questions_are_answered_once_and_pings_at_once() {
    let asks = r#"echo '{"jsonrpc":"2.0","id":"p","method":"ping"}'; echo '{"jsonrpc":"2.0","id":"q","method":"roots/list"}'; read pong; read answer; echo "$pong" >&2; echo "$answer" >&2; cat >/dev/null"#;
    let (hub, opened) = open(&format!("{HELLO} {asks}"), Era::Legacy).await;
    let (session, _) = opened.unwrap();
    let (_, mut events) = hub.open();
    let question = loop {
        if let Some(question) = snapshot(&hub)["questions"].get(0) {
            break question.clone();
        }
        in_time(events.recv()).await.unwrap();
    };
    let seq = question["seq"].as_u64().unwrap();
    let answer = json!({"result": {"roots": []}});
    session.answer(seq, answer.clone()).await.unwrap();
    assert!(session.answer(seq, answer).await.is_err());
    while snapshot(&hub)["lines"].as_array().unwrap().len() < 2 {
        in_time(events.recv()).await.unwrap();
    }
    let lines = snapshot(&hub)["lines"].to_string();
    assert!(
        lines.contains("\\\"p\\\"") && lines.contains("roots"),
        "{lines}"
    );
    session.end("the test is over");
}

#[tokio::test]
async fn many_log_messages_hide_no_request_and_an_oversized_request_is_refused() {
    let flood = r#"i=0; while [ $i -lt 2000 ]; do echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'; i=$((i+1)); done"#;
    let asks = r#"echo '{"jsonrpc":"2.0","id":"q","method":"roots/list"}'; printf '{"jsonrpc":"2.0","id":"h","method":"roots/list","params":{"x":"%01100000d"}}\n' 0; read refusal; echo "$refusal" >&2; cat >/dev/null"#;
    let (hub, opened) = open(&format!("{HELLO} {flood}; {asks}"), Era::Legacy).await;
    let (session, _) = opened.unwrap();
    let (_, mut events) = hub.open();
    // Lines of standard error share the log's budget, so the test looks for the answer on the wire. Between two
    // attempts, it receives all events so far.
    let refused = || {
        let seen = snapshot(&hub);
        let mut messages = seen["messages"].as_array().unwrap().iter();
        messages.any(|one| one["sent"] == true && one["text"].as_str().unwrap().contains("1 MiB"))
    };
    while !refused() {
        // Missed events can be found in the next snapshot.
        while in_time(events.recv())
            .await
            .is_ok_and(|event| !event.contains("1 MiB"))
        {}
    }
    assert_eq!(snapshot(&hub)["questions"].as_array().unwrap().len(), 1);
    session.end("the test is over");
}

#[tokio::test]
async fn a_server_that_never_answers_is_stopped_at_once() {
    let hub = Arc::new(Hub::new("server", false));
    let engine = Arc::new(crate::engine::Engine::new(Arc::clone(&hub)));
    let (_, mut events) = hub.open();
    let words = ["sh", "-c", "exec 1>&-; echo here >&2; cat >/dev/null"].map(str::to_owned);
    let replaced = engine.replace(Target::Command(words.into()), "");
    replaced.await;
    while snapshot(&hub)["lines"].get(0).is_none() {
        let _ = in_time(events.recv()).await;
    }
    let stopped = tokio::time::timeout(PATIENCE / 2, engine.stop("it is over")).await;
    assert!(stopped.is_ok(), "the handshake goes on");
    let seen = snapshot(&hub);
    assert_eq!(seen["eras"][0]["status"]["reason"], "it is over", "{seen}");
}
