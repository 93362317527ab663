//! Calls by clients that do not support tasks, which take longer than these clients wait.

mod deaths;
mod jobs;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::tasks::TaskOptions;
use serde_json::{Value, json};
use tests::client::Answer;
use tests::http::Request;
use tests::{Client, Version};
use tokio::time::{Instant, sleep};

use super::{Bench, Sure, count, text};
use crate::http::support::{call, serve_server};
use crate::support::raw;

/// Counts its runs, works for three minutes, and tells how far it is.
#[tool(tags("patience"), task)]
async fn ponder(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let mut guard = super::Dropped(Some(bench.dropped.clone()));
    bench.started.fetch_add(1, Ordering::SeqCst);
    sleep(Duration::from_secs(30)).await;
    ctx.progress((1, 6, "pondering"));
    sleep(Duration::from_secs(150)).await;
    guard.0 = None;
    Ok("pondered".to_owned())
}

/// The result of a long measurement.
#[data]
struct Measured {
    value: u32,
}

/// Measures for a minute, and has an output schema.
#[tool(tags("patience"), task(patience = "20s"))]
async fn measure() -> Json<Measured> {
    sleep(Duration::from_mins(1)).await;
    Json(Measured { value: 7 })
}

/// Pays at once, delivers for a minute, and asks.
#[tool(tags("patience"), task)]
async fn order(ctx: &Context, bench: State<Bench>) -> Result<String> {
    let add = |counter: &AtomicUsize| counter.fetch_add(1, Ordering::SeqCst);
    ctx.once("pay", async || Ok(add(&bench.once))).await?;
    ctx.once("deliver", async || {
        add(&bench.started);
        sleep(Duration::from_mins(1)).await;
        Ok(())
    })
    .await?;
    add(&bench.runs);
    let Sure { sure } = ctx.elicit("Keep it?").key("keep").await?;
    Ok(format!("kept: {sure}"))
}

/// Says what it does, and asks before it takes long.
#[tool(tags("patience"), task)]
async fn talk(ctx: &Context, bench: State<Bench>) -> Result<String> {
    ctx.info("hello");
    let Sure { sure } = ctx.elicit("Really?").await?;
    let step = ctx.once("step", async || {
        Ok(bench.once.fetch_add(1, Ordering::SeqCst))
    });
    let step = step.await?;
    sleep(Duration::from_mins(1)).await;
    Ok(format!("{sure} {step}"))
}

/// Fails after a minute.
#[tool(tags("patience"), task)]
async fn fail_late() -> Result<()> {
    sleep(Duration::from_mins(1)).await;
    bail!("it went wrong")
}

/// Would work for a minute, but has less time.
#[tool(tags("patience"), task(patience = "20s"), timeout = "30s")]
async fn hurry(ctx: &Context, seconds: u64) -> Result<&'static str> {
    ctx.progress(1);
    sleep(Duration::from_secs(seconds)).await;
    Ok("hurried")
}

/// Works alone for a minute.
#[tool(tags("patience"), task, concurrency = 1)]
async fn alone() -> &'static str {
    sleep(Duration::from_mins(1)).await;
    "alone"
}

/// Asks another question in each run, and so never ends.
#[tool(tags("patience"), task)]
async fn ask_for_ever(ctx: &Context, bench: State<Bench>) -> Result<bool> {
    let run = bench.runs.fetch_add(1, Ordering::SeqCst);
    let Sure { sure } = ctx.elicit(format!("Sure in run {run}?")).await?;
    Ok(sure)
}

/// Closes the connection of its call.
#[tool(tags("patience"), task)]
async fn go_apart(ctx: &Context, bench: State<Bench>) -> Result<&'static str> {
    ctx.close_stream();
    bench.go_on.acquire().await.expose()?.forget();
    Ok("came back")
}

/// Never a task.
#[tool(tags("tasks-none"))]
fn brief() -> &'static str {
    "brief"
}

fn patient_server(bench: &Bench) -> Server {
    new_server!()
        .only(Selected::tag("patience"))
        .state(bench.clone())
}

/// Connects a client that can answer questions but does not support tasks.
async fn connect_plain(server: Server, version: Version) -> Client {
    let mut client = raw(server, version);
    client.capabilities = json!({"elicitation": {}});
    // Requests progress, because the client of these tests does not wait long without any.
    client.meta.insert("progressToken".into(), json!("p"));
    client.answer(|_| Answer::accept(json!({"sure": true})));
    client.connect().await
}

/// Returns the id from a handle, which is in the text in every version.
pub(super) fn id_of(handle: &Value) -> String {
    let text = text(handle);
    let (_, rest) = text
        .split_once("job `")
        .unwrap_or_else(|| panic!("{handle}"));
    rest.split_once('`').unwrap().0.to_owned()
}

/// Calls a tool that continues as a job. Returns the id.
async fn job_of(client: &mut Client, name: &str) -> String {
    let handle = client.tool(name, json!({})).await;
    assert_ne!(handle["isError"], true, "{handle}");
    id_of(&handle)
}

async fn job_status(client: &mut Client, id: &str) -> Value {
    let params = json!({"name": "job_status", "arguments": {"job_id": id}});
    client.ask("tools/call", params).await.unwrap()
}

// Limits: tasks.patience
#[tokio::test(start_paused = true)]
async fn a_call_that_exceeds_its_patience_becomes_a_job() {
    for version in Version::ALL {
        let bench = Bench::default();
        let mut client = connect_plain(patient_server(&bench), version).await;
        let began = Instant::now();
        let handle = client.tool("ponder", json!({})).await;
        assert_eq!(began.elapsed().as_secs(), 45);
        assert_ne!(handle["isError"], true, "{handle}");
        let id = id_of(&handle);
        let told = text(&handle);
        assert!(
            told.contains("`job_status`") && told.contains("ponder"),
            "{told}"
        );
        if version >= Version::V2025_06_18 {
            let state = &handle["structuredContent"];
            assert_eq!(state["job_id"], *id);
            assert_eq!(state["status"], "working");
        }
        let state = job_status(&mut client, &id).await;
        assert_eq!(began.elapsed().as_secs(), 90);
        assert!(
            text(&state).contains("is still running (pondering (1 of 6))"),
            "{state}"
        );
        job_status(&mut client, &id).await;
        let waited = Instant::now();
        job_status(&mut client, &id).await;
        assert_eq!(waited.elapsed().as_secs(), 45);
        // It ends when the job does, with the result that the tool would have returned.
        let mut ended = job_status(&mut client, &id).await;
        assert_eq!(began.elapsed().as_secs(), 180, "{ended}");
        let mut again = job_status(&mut client, &id).await;
        assert_eq!(text(&ended), "pondered");
        for result in [&mut ended, &mut again] {
            result.as_object_mut().unwrap().remove("_meta");
        }
        assert_eq!(ended, again);
        assert_eq!(ended["structuredContent"], Value::Null);
        // The handler continued where it was.
        assert_eq!((count(&bench.started), count(&bench.dropped)), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_handle_of_a_tool_with_an_output_schema_is_an_error_result() {
    for version in Version::ALL {
        let mut client = connect_plain(patient_server(&Bench::default()), version).await;
        let began = Instant::now();
        let handle = client.tool("measure", json!({})).await;
        assert_eq!(began.elapsed().as_secs(), 20);
        // Clients reject a successful result without the structured content that the schema describes.
        let has_schemas = version >= Version::V2025_06_18;
        assert_eq!(handle["isError"] == true, has_schemas, "{handle}");
        assert_eq!(handle["structuredContent"], Value::Null);
        let id = id_of(&handle);
        // The tool's own time limit applies here, too.
        let state = job_status(&mut client, &id).await;
        assert_eq!(began.elapsed().as_secs(), 40, "{state}");
        let ended = job_status(&mut client, &id).await;
        assert!(text(&ended).contains('7'), "{ended}");
        if has_schemas {
            assert_eq!(ended["structuredContent"], json!({"value": 7}));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_job_is_the_tool_error() {
    for version in Version::ERAS {
        let mut client = connect_plain(patient_server(&Bench::default()), version).await;
        let id = job_of(&mut client, "fail_late").await;
        let ended = job_status(&mut client, &id).await;
        assert_eq!(
            (text(&ended), &ended["isError"]),
            ("it went wrong", &json!(true))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_tool_timeout_covers_the_call_and_its_job() {
    for version in Version::ERAS {
        let mut client = connect_plain(patient_server(&Bench::default()), version).await;
        let began = Instant::now();
        let result = client.tool("hurry", json!({"seconds": 10})).await;
        assert_eq!((text(&result), began.elapsed().as_secs()), ("hurried", 10));
        let began = Instant::now();
        let handle = client.tool("hurry", json!({"seconds": 60})).await;
        assert_eq!(began.elapsed().as_secs(), 20);
        let ended = job_status(&mut client, &id_of(&handle)).await;
        assert_eq!(ended["isError"], true, "{ended}");
        assert!(text(&ended).contains("30"), "{ended}");
        assert!((30..60).contains(&began.elapsed().as_secs()), "{ended}");
    }
}

#[tokio::test]
async fn a_tool_that_may_become_a_job_can_close_its_connection_over_http() {
    let version = Version::V2025_11_25;
    let bench = Bench::default();
    let served = serve_server(patient_server(&bench)).await;
    let session = served.session(version).await;
    let request = call(&session, 1, "go_apart", json!({}), version);
    let mut stream = served.send(&request).await;
    let place = stream.event().await.unwrap().id.unwrap();
    assert!(stream.event().await.is_none(), "the connection is closed");
    bench.go_on.add_permits(1);
    let again = Request::new("GET", version)
        .header("Mcp-Session-Id", &session)
        .header("Last-Event-ID", &place);
    let mut stream = served.send(&again).await;
    let mut data = String::new();
    while data.is_empty() {
        data = stream.event().await.unwrap().data;
    }
    let message: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(text(&message["result"]), "came back");
}

#[tokio::test(start_paused = true)]
async fn a_call_before_its_patience_ends_can_log_and_elicit() {
    for version in Version::ERAS {
        let bench = Bench::default();
        let mut client = connect_plain(patient_server(&bench), version).await;
        if version.is_modern() {
            let level = "io.modelcontextprotocol/logLevel";
            client.meta.insert(level.into(), json!("info"));
        }
        let params = json!({"name": "talk", "arguments": {}});
        let handle = client.ask("tools/call", params).await.unwrap();
        let told = client.drain().await;
        let of = |method: &str| told.iter().filter(|told| told["method"] == method).count();
        assert!(of("notifications/message") >= 1, "{told:?}");
        assert!(of("notifications/progress") >= 2, "{told:?}");
        let ended = job_status(&mut client, &id_of(&handle)).await;
        assert_eq!(text(&ended), "true 0");
        assert_eq!(count(&bench.once), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_free_task_slot_the_call_stays_a_plain_call() {
    for version in Version::ERAS {
        for is_full in [true, false] {
            let limits = Limits::default().with(|limits| {
                if is_full {
                    limits.tasks.max_tasks = 1;
                } else {
                    limits.tasks.max_running = 1;
                }
            });
            let bench = Bench::default();
            let mut client = connect_plain(patient_server(&bench).limits(limits), version).await;
            let began = Instant::now();
            job_of(&mut client, "ponder").await;
            let mut handle = client.tool("ponder", json!({})).await;
            if is_full {
                assert_eq!(began.elapsed().as_secs(), 45 + 180);
            } else {
                // The first job ends and makes room.
                assert_eq!(began.elapsed().as_secs(), 180);
                handle = job_status(&mut client, &id_of(&handle)).await;
            }
            assert_eq!(text(&handle), "pondered");
            assert_eq!((count(&bench.started), count(&bench.dropped)), (2, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_concurrency_becomes_a_job() {
    for version in Version::ERAS {
        let mut client = connect_plain(patient_server(&Bench::default()), version).await;
        let params = json!({"name": "alone", "arguments": {}});
        let first = client.start("tools/call", params.clone()).await;
        let second = client.start("tools/call", params).await;
        let first = client.response(&first).await.unwrap();
        let second = client.response(&second).await.unwrap();
        for handle in [first, second] {
            let id = id_of(&handle);
            let mut state = job_status(&mut client, &id).await;
            while text(&state) != "alone" {
                state = job_status(&mut client, &id).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_tool_can_have_a_custom_patience() {
    for version in Version::ERAS {
        let server = new_server!().only(Selected::tag("tasks-none"));
        let options = TaskOptions::new().patience(Duration::from_secs(3));
        server
            .handle()
            .tools()
            .insert(lone().task(options))
            .unwrap();
        let mut client = connect_plain(server, version).await;
        let began = Instant::now();
        let id = job_of(&mut client, "lone").await;
        assert_eq!(began.elapsed().as_secs(), 3);
        let mut state = job_status(&mut client, &id).await;
        while text(&state) != "done" {
            state = job_status(&mut client, &id).await;
        }
        assert_eq!(began.elapsed().as_secs(), 60);
    }
}

fn lone() -> DynamicTool {
    let schema = json!({"type": "object"});
    DynamicTool::new("lone", schema, |_: Arguments, _: Context| async {
        sleep(Duration::from_mins(1)).await;
        "done"
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_with_endless_elicitations_fails() {
    for version in Version::ALL.into_iter().filter(|version| {
        // Older clients cannot be asked, and in these tests, newer clients would have to run the rounds by hand.
        !version.is_modern() && *version >= Version::V2025_06_18
    }) {
        let bench = Bench::default();
        let mut client = connect_plain(patient_server(&bench), version).await;
        let result = client
            .ok(
                "tools/call",
                json!({"name": "ask_for_ever", "arguments": {}}),
            )
            .await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(
            text(&result),
            "asked the client 32 times in a row without finishing"
        );
        assert_eq!(bench.runs.load(Ordering::SeqCst), 33, "{version:?}");
    }
}
