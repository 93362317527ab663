use std::io::Cursor;

use serde_json::{Value, json};

use crate::hub::{Hub, WireMessage};
use crate::record::Entry;
use crate::recording::read::Recording;
use crate::recording::replay::{chosen, hides_something};
use crate::recording::secrets::MASK;
use crate::recording::{MAX_BYTES, Recorder, test};
use crate::session::Era;

struct File(std::path::PathBuf);

impl File {
    fn new() -> Self {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).unwrap();
        let name = format!("mcp-dev-{:x}.jsonl", u64::from_ne_bytes(bytes));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn entry(era: Era, sent: bool, text: String) -> Entry {
    Entry {
        seq: 1,
        era,
        sent,
        at: 0.0,
        text: text.into(),
        notes: Value::Null,
    }
}

fn record(era: Era, messages: &[(bool, Value)]) -> Recording {
    let file = File::new();
    let mut recorder = Recorder::new(&file.0, None).unwrap();
    for (sent, message) in messages {
        assert!(recorder.write(&entry(era, *sent, message.to_string())));
    }
    // An existing file is not overwritten.
    assert!(Recorder::new(&file.0, None).is_err());
    Recording::read(&file.0).unwrap()
}

fn listed(name: &str, schema: &Value) -> [(bool, Value); 2] {
    [
        (true, json!({"id": "l", "method": "tools/list"})),
        (
            false,
            json!({"id": "l", "result": {"tools": [{"name": name, "inputSchema": schema}]}}),
        ),
    ]
}

#[test]
fn a_recording_becomes_calls_and_a_test() {
    let call = json!({"name": "book", "arguments": {"name": "A\u{7}da\u{202e}", "far": 5_000_000_000_u64}, "_meta": {"progressToken": "t"}});
    let ask = json!({"method": "elicitation/create", "id": 7, "params": {"requestedSchema": {}}});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let mut messages = vec![
        (true, json!({"id": 0, "method": "initialize", "params": {}})),
        (
            false,
            json!({"id": 0, "result": {"serverInfo": {"name": "house"}}}),
        ),
    ];
    messages.extend(listed("book", &json!({})));
    messages.extend(listed(
        "unlock",
        &json!({"properties": {"code": {"format": "password"}}}),
    ));
    messages.extend([
        (true, json!({"id": 1, "method": "tools/call", "params": call})),
        (false, ask),
        (true, json!({"id": 7, "result": {"action": "accept", "content": {"sure": true}}})),
        (false, json!({"id": 1, "result": {"content": text("booked"), "structuredContent": {"nights": [1, 2.5]}}})),
        (true, json!({"id": 2, "method": "resources/read", "params": {"uri": "a:b"}})),
        (false, json!({"id": 2, "error": {"code": -32002, "message": "no \"a\""}})),
        (true, json!({"id": 3, "method": "tools/call", "params": {"name": "unlock", "arguments": {"code": "1"}}})),
        (false, json!({"id": 3, "result": {"content": text("open")}})),
        (true, json!({"id": 4, "method": "prompts/get", "params": {"name": "p"}})),
        (false, json!({"id": 4, "result": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi\nyou"}}]}})),
        (true, json!({"id": 5, "method": "tools/call", "params": {"name": "book"}})),
    ]);
    let recording = record(Era::Legacy, &messages);
    assert_eq!(recording.server.as_deref(), Some("house"));
    let asked: Vec<_> = chosen(&recording.calls, Era::Modern)
        .iter()
        .map(|call| call.method.as_str())
        .collect();
    assert_eq!(
        asked,
        [
            "tools/call",
            "resources/read",
            "tools/call",
            "prompts/get",
            "tools/call"
        ]
    );
    assert_eq!(
        chosen(&recording.calls, Era::Legacy).len(),
        asked.len() + 1,
        "the newest list"
    );
    let hidden = |name: &str| {
        recording
            .calls
            .iter()
            .any(|call| call.params["name"] == name && hides_something(call))
    };
    assert!(hidden("unlock") && !hidden("book"));
    let expected = r#"
    let client = TestClient::each(server).await;

    client.answer(json!({"sure": true}));
    let result = client.call("book", json!({"name": "A\u{7}da\u{202e}", "far": 5000000000_i64})).await.unwrap();
    assert_eq!(result.json(), json!({"nights": [1, 2.5]}));

    let error = client.read("a:b").await.unwrap_err();
    assert_eq!(error.message, "no \"a\"");

    // A secret is hidden: tools/call unlock {"code":"•••"}

    let result = client.prompt("p", json!({})).await.unwrap();
    assert_eq!(result.text(), "hi\nyou");
}
"#;
    let text = test::write(&recording, "At noon-1");
    assert!(
        text.contains("#[cfg(test)]\n#[tokio::test]\nasync fn as_in_at_noon_1() {\n"),
        "{text}"
    );
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn messages_of_rounds_pages_and_tasks_are_joined_into_one_call() {
    let call = |id: u32, more: Value| {
        let mut params = json!({"name": "go", "arguments": {}});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        (
            true,
            json!({"id": id, "method": "tools/call", "params": params}),
        )
    };
    let question = json!({"resultType": "input_required", "requestState": "s", "inputRequests": {"k": {"method": "roots/list"}}});
    let mut messages = listed("go", &json!({})).to_vec();
    messages.extend([
        call(1, json!({})),
        (false, json!({"id": 1, "result": question})),
        call(2, json!({"requestState": "s", "inputResponses": {"k": {"roots": []}}})),
        (false, json!({"id": 2, "result": {"resultType": "complete", "content": []}})),
        (true, json!({"id": 3, "method": "prompts/list", "params": {}})),
        (false, json!({"id": 3, "result": {"prompts": [{"name": "a"}], "nextCursor": "c"}})),
        (true, json!({"id": 4, "method": "prompts/list", "params": {"cursor": "c"}})),
        (false, json!({"id": 4, "result": {"prompts": [{"name": "b"}]}})),
        call(5, json!({})),
        (false, json!({"id": 5, "result": {"resultType": "task", "taskId": "t"}})),
        (true, json!({"id": 6, "method": "tasks/get", "params": {"taskId": "t"}})),
        (false, json!({"id": 6, "result": {"resultType": "complete", "status": "completed", "result": {"content": [5]}}})),
    ]);
    let recording = record(Era::Modern, &messages);
    let outcomes: Vec<_> = recording
        .calls
        .iter()
        .map(|call| call.outcome.as_ref().unwrap().value.clone())
        .collect();
    assert_eq!(recording.calls.len(), 4, "{recording:?}");
    assert_eq!(recording.calls[1].answers[0].key.as_deref(), Some("k"));
    assert_eq!(outcomes[1]["resultType"], "complete");
    assert_eq!(
        outcomes[2]["prompts"],
        json!([{"name": "a"}, {"name": "b"}])
    );
    assert_eq!(outcomes[3], json!({"content": [5]}));
}

fn read(text: &str) -> anyhow::Result<Recording> {
    let secrets = [("KEY".to_owned(), "sesame".to_owned())];
    Recording::read_from(Cursor::new(text.as_bytes().to_vec()), "r.jsonl", &secrets)
}

#[test]
fn an_invalid_recording_is_refused_with_a_reason() {
    let head = "{\"mcp-dev\":1,\"started\":5}\n";
    let line = "{\"era\":\"modern\",\"sent\":true,\"message\":{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sesame\"}}}\n";
    let refused = |text: &str| format!("{:#}", read(text).unwrap_err());
    assert_eq!(refused(""), "`r.jsonl` is empty");
    assert_eq!(
        refused("fn main() {}\n"),
        "`r.jsonl` is not an mcp-dev recording"
    );
    assert!(
        refused("{\"mcp-dev\":2}\n")
            .contains("is in format 2, but this mcp-dev reads format 1; use a newer mcp-dev")
    );
    let broken = refused(&format!("{head}{line}{{\"era\": 1}}\n{line}"));
    assert!(
        broken.starts_with("line 3 of `r.jsonl` is invalid: "),
        "{broken}"
    );
    let deep = refused(&format!("{head}{}\n", "[".repeat(100_000)));
    assert!(
        deep.starts_with("line 2 of `r.jsonl` is invalid: "),
        "{deep}"
    );
    let many = refused(&format!("{head}{}", line.repeat(10_001)));
    assert_eq!(many, "the recording contains more than 10000 calls");

    let cut = read(&format!("{head}{line}{}", &line[..50])).unwrap();
    assert_eq!(cut.calls.len(), 1);
    assert_eq!(cut.warnings.len(), 2, "{:?}", cut.warnings);
    assert!(
        cut.warnings[0].starts_with("line 2 contains the value of the environment variable KEY")
    );
    assert!(cut.warnings[1].starts_with("line 3, the last one, is cut off"));

    let file = File::new();
    let huge = std::fs::File::create(&file.0).unwrap();
    huge.set_len(5 << 30).unwrap();
    let huge = Recording::read(&file.0).unwrap_err().to_string();
    assert!(
        huge.ends_with("is 5120 MiB, but a recording can be at most 64"),
        "{huge}"
    );
}

#[test]
fn variables_that_a_server_declares_as_secret_are_hidden_before_and_after() {
    let value = std::env::var("PATH").unwrap();
    let text = json!({"id": 1, "method": "x", "params": {"text": value}}).to_string();
    let say = |hub: &Hub| {
        hub.message(WireMessage {
            era: Era::Modern,
            sent: true,
            text: &text,
            notes: Value::Null,
            droppable: false,
        })
    };
    for declared_first in [true, false] {
        let file = File::new();
        let hub = Hub::new("server", false);
        if declared_first {
            hub.hide_variables(&["PATH".to_owned()]);
        }
        hub.record_to(Recorder::new(&file.0, None).unwrap());
        if !declared_first {
            hub.hide_variables(&["PATH".to_owned(), "NO_SUCH_VARIABLE".to_owned()]);
        }
        say(&hub);
        assert!(hub.recorded().unwrap().1);
        hub.stop_recording();
        say(&hub);
        assert!(!hub.recorded().unwrap().1);
        let written = std::fs::read_to_string(&file.0).unwrap();
        assert_eq!(written.lines().count(), 2);
        assert!(
            written.contains(MASK) && !written.contains(&value),
            "{written}"
        );
    }
}

#[test]
fn a_recording_ends_when_it_is_too_long() {
    let file = File::new();
    let mut recorder = Recorder::new(&file.0, None).unwrap();
    let part = json!({"method": "x", "params": {"text": "x".repeat(MAX_BYTES / 3)}}).to_string();
    let part = entry(Era::Modern, true, part);
    assert!(recorder.write(&part) && recorder.write(&part));
    assert!(!recorder.write(&part));
    let status = recorder.status(true);
    assert_eq!(
        (&status["runs"], &status["messages"]),
        (&json!(false), &json!(2))
    );
    assert_eq!(status["failure"], "it reached the limit of 64 MiB");
    assert!(std::fs::metadata(&file.0).unwrap().len() < MAX_BYTES as u64);
    assert_eq!(Recording::read(&file.0).unwrap().calls.len(), 0);
}
