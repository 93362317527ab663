//! The ready-made middleware: audit log, cache and trimming.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::extension::{Extension, ExtensionResult};
use mcp_runtime::middleware::{
    AuditOutcome, AuditRecord, Call, CallOutput, Kind, Middleware, Next, audit, cache, trim_text,
};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tests::Version;
use tests::wait::in_time;

use crate::support::connect;

/// Counts the calls that reach handlers.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<AtomicU32>);

impl Calls {
    pub(super) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn so_far(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns how often it was called.
#[tool(tags("ready-made"))]
fn count(calls: &State<Calls>, of: Option<String>) -> String {
    format!("{} {}", calls.next(), of.unwrap_or_default())
}

/// Fails until it has been called so often.
#[tool(tags("ready-made"))]
fn unreliable(calls: &State<Calls>, until: u32) -> Result<u32> {
    let call = calls.next();
    if call < until {
        Err(std::io::Error::from(std::io::ErrorKind::TimedOut))?;
    }
    Ok(call)
}

/// Fails with a message for the model.
#[tool(tags("ready-made"))]
fn refuses(calls: &State<Calls>) -> Result<()> {
    calls.next();
    bail!("choose another day")
}

/// Asks for a day.
#[tool(tags("ready-made"))]
async fn asks(ctx: &Context) -> Result<String> {
    let Day { day } = ctx.elicit("Which day?").await?;
    Ok(day)
}

/// Asks for a day, in a task.
#[tool(tags("ready-made"), task)]
async fn asks_in_task(ctx: &Context) -> Result<String> {
    asks(ctx).await
}

#[derive(Elicit)]
struct Day {
    day: String,
}

/// Waits for ever.
#[tool(tags("ready-made"))]
async fn waits(calls: State<Calls>) {
    calls.next();
    std::future::pending::<()>().await;
}

/// Has two arguments with different candidates.
#[prompt(tags("ready-made"))]
fn route(#[complete(["Rome"])] from: &str, #[complete(["Riga"])] to: &str) -> String {
    format!("{from} {to}")
}

/// A text that was found.
#[data(output)]
struct Found {
    text: String,
}

/// Returns this many bytes, as text, or as structured content.
#[tool(tags("ready-made"))]
fn long(bytes: usize) -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("é".repeat(bytes / 2)),
        ContentBlock::text("end"),
    ]
}

/// Returns so many blocks of seven bytes, then an image.
#[tool(tags("ready-made"))]
fn many(blocks: usize) -> Vec<ContentBlock> {
    let mut content = vec![ContentBlock::text("0123456"); blocks];
    content.push(ContentBlock::image([0], "image/png"));
    content
}

/// Fails with so many bytes for the model.
#[tool(tags("ready-made"))]
fn exposes(bytes: usize) -> Result<()> {
    bail!("{}", "x".repeat(bytes))
}

#[tool(tags("ready-made"))]
fn long_json(bytes: usize) -> Json<Found> {
    Json(Found {
        text: "x".repeat(bytes),
    })
}

#[tool(tags("ready-made"), text = "none")]
fn long_without_text(bytes: usize) -> Json<Found> {
    long_json(bytes)
}

/// Counts charges.
#[derive(Clone, Default)]
pub(super) struct Charges(pub(super) Calls);

pub(super) fn server() -> (Server, Calls) {
    let calls = Calls::default();
    let server = Server::new("ready-made", "1").only(Selected::tag("ready-made"));
    let server = server.state(Charges::default());
    (server.state(calls.clone()), calls)
}

#[tokio::test]
async fn an_audit_log_has_every_call_however_it_ends() {
    for version in Version::ERAS {
        let (server, calls) = server();
        let (ended, mut endings) = tokio::sync::mpsc::unbounded_channel();
        let server = server.middleware(audit(move |record| {
            let _ = ended.send((record.call.name().to_owned(), record.outcome));
        }));
        let mut client = connect(server, version).await;
        client.text("count", json!({})).await;
        client.refused("refuses", json!({})).await;
        client.refused("unreliable", json!({"until": "x"})).await;
        let id = client
            .start("tools/call", json!({"name": "waits", "arguments": {}}))
            .await;
        tests::wait::until(async || calls.so_far() == 3).await;
        client.cancel(&id).await;
        for expected in [
            ("count", AuditOutcome::Succeeded),
            ("refuses", AuditOutcome::Failed),
            ("unreliable", AuditOutcome::Failed),
            ("waits", AuditOutcome::Dropped),
        ] {
            let (name, outcome) = in_time(endings.recv()).await.unwrap();
            assert_eq!((&*name, outcome), expected);
        }
    }
}

/// Names what makes middleware, as authors do in a file of its own.
fn audit_lines(path: &str) -> std::io::Result<(impl Middleware, Arc<Mutex<Vec<String>>>)> {
    if path.is_empty() {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let middleware = audit(move |record| kept.lock().unwrap().push(record.json()));
    Ok((middleware, lines))
}

async fn pass_on(call: Call, next: Next) -> Result<CallOutput> {
    next.run(call).await
}

#[tokio::test]
async fn a_function_can_return_middleware_that_it_names() {
    assert!(audit_lines("").is_err());
    for named in [|| pass_on, || pass_on] {
        let (server, calls) = server();
        let (lines_of, lines) = audit_lines("audit.log").unwrap();
        let server = server.middleware(named()).middleware(lines_of);
        let client = TestClient::both(server).await;
        drop(client.call("refuses", json!({})).await.unwrap());
        assert_eq!(calls.so_far(), 2);
        assert_eq!(lines.lock().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_round_that_ends_with_a_question_has_asked() {
    let outcomes = async |version: Version, tool: &str| {
        let (server, _) = server();
        let (audit, lines) = audit_lines("audit.log").unwrap();
        let client = TestClient::new(server.middleware(audit), version.protocol_version()).await;
        client.answer(Day {
            day: "Monday".into(),
        });
        let called = if tool == "asks" {
            client.call(tool, json!({})).await.unwrap()
        } else {
            let task = client.start_task(tool, json!({})).await.unwrap();
            task.result().await.unwrap()
        };
        assert_eq!(called.text(), "Monday");
        drop(client);
        let lines = lines.lock().unwrap();
        let outcome = |line: &String| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["round"].clone(), line["outcome"].clone())
        };
        lines.iter().map(outcome).collect::<Vec<_>>()
    };
    let (asked, ended) = ((json!(1), json!("asked")), (json!(2), json!("succeeded")));
    let modern = outcomes(Version::V2026_07_28, "asks").await;
    assert_eq!(modern, [asked.clone(), ended.clone()]);
    let legacy = outcomes(Version::V2025_11_25, "asks").await;
    assert_eq!(legacy, [(json!(1), json!("succeeded"))]);
    for version in Version::ERAS {
        // A client that polls its task fills no audit log.
        assert_eq!(
            outcomes(version, "asks_in_task").await,
            [asked.clone(), ended.clone()]
        );
    }
}

#[tokio::test]
async fn an_audit_record_says_who_called() {
    let alice = Principal::new("alice").with_issuer("https://issuer.example.com");
    for version in Version::ERAS {
        let who = async |tenant: bool, caller: Option<&Principal>| {
            let (server, _) = server();
            let (audit, lines) = audit_lines("audit.log").unwrap();
            let mut server = server.middleware(audit);
            if tenant {
                server = server
                    .header_from_env("X-Absent", "NO_SUCH_VARIABLE")
                    .header_from_env("X-Api-Key", "CARGO_MANIFEST_DIR")
                    .header_from_env("X-Tenant", "CARGO_PKG_NAME");
            }
            let mut client = TestClient::new(server, version.protocol_version());
            if let Some(caller) = caller {
                client = client.as_principal(caller.clone());
            }
            client
                .await
                .call("count", json!({"of": "hunter2"}))
                .await
                .unwrap();
            let lines = lines.lock().unwrap();
            assert!(
                !lines[0].contains("hunter2") && !lines[0].contains('\n'),
                "{lines:?}"
            );
            serde_json::from_str::<serde_json::Value>(&lines[0]).unwrap()
        };
        let line = who(false, None).await;
        assert_eq!(
            (&line["who"], &line["subject"]),
            (&json!("anonymous"), &json!(null))
        );
        assert_eq!(
            (&line["kind"], &line["name"]),
            (&json!("tool"), &json!("count"))
        );
        assert_eq!(line["version"], version.date());
        assert!(
            line["time"].is_string() && line["callId"].is_string(),
            "{line}"
        );
        assert!(line["milliseconds"].is_number(), "{line}");
        assert_eq!(who(true, None).await["who"], "tests");
        let line = who(true, Some(&alice)).await;
        assert_eq!(
            (&line["who"], &line["subject"]),
            (&json!("alice"), &json!("alice"))
        );
        assert_eq!(line["issuer"], "https://issuer.example.com");
    }
}

#[tokio::test]
async fn an_audit_line_names_the_caller_and_no_arguments() {
    let (server, _) = server();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let server = server.middleware(audit(move |record: &AuditRecord| {
        kept.lock().unwrap().push(format!("{record:?}"));
        record.log();
    }));
    let alice = mcp_runtime::Principal::new("alice");
    let client = TestClient::modern(server).as_principal(alice).await;
    let (log, _guard) = crate::results::Log::begin();
    let arguments = json!({"of": "hunter2"});
    client.call("count", arguments).await.unwrap();
    let log = log.take();
    for part in [
        "name=count",
        "subject=alice",
        "outcome=Succeeded",
        "version=2026-07-28",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("hunter2") && !lines.lock().unwrap()[0].contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn a_cache_answers_equal_calls_of_the_same_caller_until_it_expires() {
    let (server, calls) = server();
    let server = server.middleware(cache(Duration::from_mins(1), |call| {
        let who = call.principal().map(|who| who.key().to_owned());
        (call.name() != "unreliable").then(|| who.unwrap_or_default())
    }));
    let hub = tests::link::Hub::serve(server);
    let connect = async |subject: &'static str| {
        let client = hub.client_as(Version::V2025_11_25, |connection| {
            connection.with_principal(mcp_runtime::Principal::new(subject))
        });
        client.connect().await
    };
    let (mut alice, mut bob) = (connect("alice").await, connect("bob").await);
    for _ in 0..3 {
        assert_eq!(alice.text("count", json!({"of": "a"})).await, "1 a");
        assert_eq!(bob.text("count", json!({"of": "a"})).await, "2 a");
        assert_eq!(alice.text("count", json!({"of": "b"})).await, "3 b");
        assert_eq!(calls.so_far(), 3);
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(alice.text("count", json!({"of": "a"})).await, "4 a");
    // Failures, and calls without a key, run again.
    for expected in [5, 6] {
        alice.refused("refuses", json!({})).await;
        assert_eq!(calls.so_far(), expected);
    }
    for expected in ["7", "8"] {
        assert_eq!(
            alice.text("unreliable", json!({"until": 0})).await,
            expected
        );
    }
}

#[tokio::test]
async fn a_cache_does_not_mix_the_candidates_of_two_arguments() {
    for version in Version::ERAS {
        let (server, _) = server();
        let server = server.middleware(cache(Duration::from_mins(1), |_| Some(String::new())));
        let mut client = connect(server, version).await;
        let mut complete = async |argument: &str| {
            let params = json!({
                "ref": {"type": "ref/prompt", "name": "route"},
                "argument": {"name": argument, "value": "R"},
                // Some clients include the argument itself, so that both requests have the same text.
                "context": {"arguments": {"from": "R", "to": "R"}},
            });
            let mut completed = client.ok("completion/complete", params).await;
            completed["completion"]["values"].take()
        };
        for _ in 0..2 {
            assert_eq!(complete("to").await, json!(["Riga"]), "{version:?}");
            assert_eq!(complete("from").await, json!(["Rome"]), "{version:?}");
        }
    }
}

#[tokio::test]
async fn middleware_sees_which_argument_is_completed() {
    for version in Version::ERAS {
        let (server, _) = server();
        let (seen, mut completed) = tokio::sync::mpsc::unbounded_channel();
        let server = server.middleware(move |call: Call, next: Next| {
            let _ = seen.send(call.completed_argument().map(str::to_owned));
            next.run(call)
        });
        let mut client = connect(server, version).await;
        let reference = json!({"type": "ref/prompt", "name": "route"});
        let params = json!({"ref": reference, "argument": {"name": "to", "value": ""}});
        client.ok("completion/complete", params).await;
        client.text("count", json!({})).await;
        assert_eq!(
            in_time(completed.recv()).await.unwrap().as_deref(),
            Some("to")
        );
        assert_eq!(in_time(completed.recv()).await.unwrap(), None);
    }
}

// Covers: EXT-05
#[tokio::test]
async fn results_of_an_extension_are_not_cached() {
    const ESTIMATES: &str = "com.example/estimates";
    let estimates = Extension::new(ESTIMATES)
        .result_type("tools/call", "estimate")
        .middleware(async |call, next| {
            if call.kind() != Kind::Tool || call.context().extension(ESTIMATES).is_none() {
                return next.run(call).await;
            }
            let result = ExtensionResult::new(json!({"minutes": 3}))?;
            Ok(CallOutput::Extension(result.result_type("estimate")))
        });
    let (server, calls) = server();
    let server = server
        .middleware(cache(Duration::from_mins(1), |_| Some(String::new())))
        .with(estimates);
    let hub = tests::link::Hub::serve(server);
    let mut declaring = hub.client(Version::V2026_07_28);
    declaring.capabilities = json!({"extensions": {ESTIMATES: {}}});
    let mut declaring = declaring.connect().await;
    let mut plain = hub.client(Version::V2026_07_28).connect().await;
    let estimate = declaring.ok("tools/call", json!({"name": "count"})).await;
    assert_eq!(estimate["resultType"], "estimate");
    assert_eq!(plain.text("count", json!({})).await, "1 ");
    assert_eq!(plain.text("count", json!({})).await, "1 ");
    assert_eq!(calls.so_far(), 1);
}

#[tokio::test]
async fn long_text_is_trimmed_between_characters_with_a_note() {
    for version in Version::ERAS {
        let (server, _) = server();
        let mut client = connect(server.middleware(trim_text(9)), version).await;
        let result = client.tool("long", json!({"bytes": 6})).await;
        assert_eq!(result["content"][0]["text"], "ééé");
        assert_eq!(result["content"][1]["text"], "end");
        let result = client.tool("long", json!({"bytes": 20})).await;
        let note = |missing| format!("\n[{missing} more bytes were omitted; ask for less]");
        assert_eq!(
            result["content"],
            json!([{"type": "text", "text": format!("éééé{}", note(15))}])
        );
        // One note replaces any number of text blocks, and other content is left unchanged.
        let result = client.tool("many", json!({"blocks": 10_000})).await;
        let content = result["content"].as_array().unwrap();
        assert_eq!(content.len(), 3, "{version:?}");
        assert_eq!(content[0]["text"], "0123456");
        assert_eq!(content[1]["text"], format!("01{}", note(9_998 * 7 + 5)));
        assert_eq!(content[2]["type"], "image");
        let failed = client.refused("exposes", json!({"bytes": 20})).await;
        assert_eq!(failed, format!("xxxxxxxxx{}", note(11)));
        assert_eq!(
            client.refused("exposes", json!({"bytes": 9})).await,
            "xxxxxxxxx"
        );
        let failed = client.refused("unreliable", json!({"until": 100})).await;
        assert!(failed.starts_with("internal error (reference "), "{failed}");
        let result = client.tool("long_json", json!({"bytes": 50})).await;
        assert_eq!(result["structuredContent"]["text"], "x".repeat(50));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("{{\"text\":\"{}", note(52)));
    }
}

#[tokio::test]
async fn text_generated_for_older_versions_is_trimmed() {
    for version in Version::ALL {
        let (server, _) = server();
        let mut client = connect(server.middleware(trim_text(9)), version).await;
        let result = client.tool("long_without_text", json!({"bytes": 50})).await;
        if version >= Version::V2025_06_18 {
            assert_eq!(result["content"], json!([]));
        } else {
            let text = result["content"][0]["text"].as_str().unwrap();
            let note = "\n[52 more bytes were omitted; ask for less]";
            assert_eq!(text, format!("{{\"text\":\"{note}"));
        }
    }
}
