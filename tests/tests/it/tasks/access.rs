//! Access to tasks and jobs: each request about a call is decided like a call of its tool, by the credentials of the
//! request and the definition of that moment.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::auth::{ProtectedResource, StaticTokens};
use mcp_runtime::backend::Backend;
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::tasks::TaskOptions;
use mcp_runtime::{Caller, Limits};
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response};
use tests::wait::until;

use super::test_store::TestStore;
use super::{Bench, LEGACY, Sure, TASKS, accepted, client_of, count, create, get, server, text};
use crate::backend::Folder;
use crate::http::support::{Served, next_in_time, serve_server};

/// Alice's token for everything, and her token for nothing.
const WIDE: &str = "a-wide-token-of-alice-0123456789abcdef";
const NARROW: &str = "a-narrow-token-of-alice-0123456789abcdef";

/// The challenge for a token without the scope.
const CHALLENGE: &str = r#"Bearer error="insufficient_scope", scope="admin""#;

/// Asks, and opens the vault.
#[tool(tags("task-access"), scopes("admin"), task)]
async fn vault(ctx: &Context, bench: State<Bench>) -> Result<String> {
    open(ctx, &bench).await
}

/// Exists only for the staff.
#[tool(tags("task-access"), visible_if = is_staff, task)]
async fn back_room(ctx: &Context, bench: State<Bench>) -> Result<String> {
    open(ctx, &bench).await
}

/// Works until the test lets it finish, for those who have the scope.
#[tool(tags("task-access"), scopes("admin"), task)]
async fn dig(bench: State<Bench>) -> Result<&'static str> {
    bench.go_on.acquire().await.expose()?.forget();
    Ok("dug")
}

/// Works until the test lets it finish, and exists only for the staff.
#[tool(tags("task-access"), visible_if = is_staff, task)]
async fn mine(bench: State<Bench>) -> Result<&'static str> {
    bench.go_on.acquire().await.expose()?.forget();
    Ok("mined")
}

/// Is for everybody.
#[tool(tags("task-access"), task)]
async fn counter() -> &'static str {
    "served"
}

fn is_staff(caller: &Caller) -> bool {
    caller.has_scope("admin")
}

async fn open(ctx: &Context, bench: &Bench) -> Result<String> {
    let Sure { sure } = ctx.elicit("Open it?").key("sure").await?;
    bench.runs.fetch_add(1, Ordering::SeqCst);
    Ok(format!("opened: {sure}"))
}

/// The place in which a server keeps its tasks.
enum Place {
    Memory,
    /// A store that other processes can share.
    Shared(TestStore),
    Sqlite(Folder),
}

async fn serve(bench: &Bench, place: &Place, limits: Limits) -> Served {
    let alice = Principal::new("alice");
    let tokens = StaticTokens::new()
        .token(WIDE, alice.clone().with_scopes(["admin"]))
        .token(NARROW, alice);
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", tokens);
    let server = new_server!()
        .only(Selected::tag("task-access"))
        .state(bench.clone());
    let server = server.limits(limits);
    let server = server.http(HttpOptions::new().authenticate(resource));
    serve_server(match place {
        Place::Memory => server,
        Place::Shared(store) => server.backend(Backend::new().tasks(Arc::new(store.clone()))),
        Place::Sqlite(folder) => server.backend(folder.open()),
    })
    .await
}

/// A client with one of Alice's tokens.
struct User<'a> {
    served: &'a Served,
    token: &'static str,
    /// The session, in the legacy era.
    session: Option<String>,
    has_tasks: bool,
}

impl<'a> User<'a> {
    async fn begin(served: &'a Served, version: Version, token: &'static str) -> Self {
        let mut user = Self {
            served,
            token,
            session: None,
            has_tasks: true,
        };
        if !version.is_modern() {
            let params = json!({
                "protocolVersion": version.date(),
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "tests", "version": "1"},
            });
            let hello =
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let hello = user.authorized(Request::bare(&hello, version));
            let response = served.send(&hello).await;
            let session = response.header("mcp-session-id").unwrap().to_owned();
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let ready = user.authorized(Request::legacy(&session, &ready, version));
            assert_eq!(served.send(&ready).await.status, 202);
            user.session = Some(session);
        }
        user
    }

    /// Makes a client that does not support tasks.
    fn without_tasks(mut self) -> Self {
        self.has_tasks = false;
        self
    }

    fn authorized(&self, request: Request) -> Request {
        request.with("Authorization", &format!("Bearer {}", self.token))
    }

    async fn send(&self, method: &str, mut params: Value) -> Response {
        let request = if let Some(session) = &self.session {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            Request::legacy(session, &message, LEGACY)
        } else {
            let extensions = if self.has_tasks {
                json!({TASKS: {}})
            } else {
                json!({})
            };
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({"elicitation": {}, "extensions": extensions});
            let id = params["taskId"].as_str().map(str::to_owned);
            let request = Request::modern(1, method, params);
            match id {
                Some(id) => request.without("Mcp-Name").header("Mcp-Name", &id),
                None => request,
            }
        };
        self.served.send(&self.authorized(request)).await
    }

    /// Returns the status, the challenge and the message that answers a request.
    async fn ask(&self, method: &str, params: Value) -> (u16, String, Value) {
        let mut response = self.send(method, params).await;
        let challenge = response.header("www-authenticate").unwrap_or_default();
        let (status, challenge) = (response.status, challenge.to_owned());
        let message = loop {
            let message = if response.is_events() {
                next_in_time(&mut response).await
            } else {
                response.message().await
            };
            if message["id"] == 1 {
                break message;
            }
        };
        (status, challenge, message)
    }

    async fn ok(&self, method: &str, params: Value) -> Value {
        let (status, _, message) = self.ask(method, params).await;
        assert_eq!(
            (status, &message["error"]),
            (200, &Value::Null),
            "{message}"
        );
        message["result"].clone()
    }

    /// Calls a tool as a task and returns the id of the task.
    async fn create(&self, tool: &str) -> String {
        let mut params = json!({"name": tool, "arguments": {}});
        if self.session.is_some() {
            params["task"] = json!({});
        }
        let created = self.ok("tools/call", params).await;
        let task = match &created["task"] {
            Value::Null => &created,
            task => task,
        };
        task["taskId"].as_str().unwrap().to_owned()
    }

    /// Waits until a task has this status.
    async fn until_status(&self, id: &str, status: &str) -> Value {
        until(async || self.ok("tasks/get", json!({"taskId": id})).await["status"] == status).await;
        self.ok("tasks/get", json!({"taskId": id})).await
    }
}

/// Requests that touch a task, in an era.
fn requests(version: Version, id: &str) -> Vec<(&'static str, Value)> {
    let params = json!({"taskId": id});
    let mut requests = vec![
        ("tasks/get", params.clone()),
        ("tasks/cancel", params.clone()),
    ];
    if version.is_modern() {
        let answers = json!({"taskId": id, "inputResponses": {"sure": accepted(true)}});
        requests.insert(0, ("tasks/update", answers));
    } else {
        requests.insert(0, ("tasks/result", params));
    }
    requests
}

/// Checks that a token without the scope reaches neither a task of `vault` nor one of `back_room`.
async fn check_narrow(served: &Served, version: Version, vault: &str, back_room: &str) {
    let narrow = User::begin(served, version, NARROW).await;
    for (method, params) in requests(version, vault) {
        let (status, challenge, message) = narrow.ask(method, params).await;
        assert_eq!(
            (status, &*challenge),
            (403, CHALLENGE),
            "{method}: {message}"
        );
        assert_eq!(message["error"]["data"]["scopes"], json!(["admin"]));
    }
    let unknown = "A".repeat(32);
    let both = requests(version, back_room).into_iter();
    for ((method, hidden), (_, unknown)) in both.zip(requests(version, &unknown)) {
        let hidden = narrow.ask(method, hidden).await;
        assert_eq!(hidden.2["error"]["code"], -32602, "{method}: {hidden:?}");
        assert_eq!(hidden, narrow.ask(method, unknown).await, "{method}");
    }
    if !version.is_modern() {
        let own = narrow.create("counter").await;
        let listed = narrow.ok("tasks/list", json!({})).await;
        let ids: Vec<_> = listed["tasks"].as_array().unwrap().iter().collect();
        assert_eq!(ids.len(), 1, "{listed}");
        assert_eq!(ids[0]["taskId"], own);
    }
}

#[tokio::test]
async fn a_token_without_the_scope_reaches_no_task_of_the_tool() {
    for version in Version::ERAS {
        let shared = || {
            Place::Shared(TestStore {
                outlives: true,
                ..TestStore::default()
            })
        };
        // In the last two, another process has taken over the tasks.
        for (place, is_moved) in [
            (Place::Memory, false),
            (shared(), false),
            (shared(), true),
            (Place::Sqlite(Folder::new()), true),
        ] {
            let bench = Bench::default();
            let mut served = serve(&bench, &place, Limits::default()).await;
            let mut ids = Vec::new();
            {
                let wide = User::begin(&served, version, WIDE).await;
                for tool in ["vault", "back_room"] {
                    let id = wide.create(tool).await;
                    wide.until_status(&id, "input_required").await;
                    ids.push(id);
                }
            }
            if is_moved {
                served.handle.shut_down();
                served = serve(&bench, &place, Limits::default()).await;
            }
            check_narrow(&served, version, &ids[0], &ids[1]).await;
            // Nothing has been answered or cancelled.
            let wide = User::begin(&served, version, WIDE).await;
            for id in &ids {
                wide.until_status(id, "input_required").await;
            }
            assert_eq!(count(&bench.runs), 0);
            if !version.is_modern() {
                let listed = wide.ok("tasks/list", json!({})).await;
                assert_eq!(listed["tasks"].as_array().unwrap().len(), 3);
                continue;
            }
            for id in &ids {
                let answers = json!({"taskId": id, "inputResponses": {"sure": accepted(true)}});
                wide.ok("tasks/update", answers).await;
                let ended = wide.until_status(id, "completed").await;
                assert_eq!(text(&ended["result"]), "opened: true");
            }
            check_narrow(&served, version, &ids[0], &ids[1]).await;
        }
    }
}

#[tokio::test]
async fn a_task_list_continues_after_pages_without_visible_tasks() {
    let limits = Limits::default().with(|limits| limits.tasks.max_running = 1);
    let served = serve(&Bench::default(), &Place::Memory, limits).await;
    let wide = User::begin(&served, LEGACY, WIDE).await;
    let narrow = User::begin(&served, LEGACY, NARROW).await;
    let early = narrow.create("counter").await;
    for _ in 0..120 {
        wide.create("dig").await;
    }
    let late = narrow.create("counter").await;
    let mut seen = Vec::new();
    let mut params = json!({});
    loop {
        let page = narrow.ok("tasks/list", params).await;
        let tasks = page["tasks"].as_array().unwrap();
        assert!(!tasks.is_empty() || page["nextCursor"].is_null(), "{page}");
        seen.extend(tasks.iter().map(|task| task["taskId"].clone()));
        if page["nextCursor"].is_null() {
            break;
        }
        params = json!({"cursor": page["nextCursor"]});
    }
    seen.sort_by_key(|id| *id != early);
    assert_eq!(seen, [early, late]);
}

#[tokio::test]
async fn a_token_without_the_scope_is_not_notified_of_tasks_of_the_tool() {
    let bench = Bench::default();
    let served = serve(&bench, &Place::Memory, Limits::default()).await;
    let wide = User::begin(&served, Version::V2026_07_28, WIDE).await;
    let narrow = User::begin(&served, Version::V2026_07_28, NARROW).await;
    let ids = [wide.create("dig").await, wide.create("mine").await];
    let filter = json!({"notifications": {"taskIds": ids}});
    let mut of_wide = wide.send("subscriptions/listen", filter.clone()).await;
    let mut of_narrow = narrow.send("subscriptions/listen", filter).await;
    for stream in [&mut of_wide, &mut of_narrow] {
        let acknowledged = next_in_time(stream).await;
        let keys = acknowledged["params"]["notifications"]["taskIds"].as_array();
        assert_eq!(keys.map(Vec::len), Some(2), "{acknowledged}");
    }
    bench.go_on.add_permits(2);
    let mut ended = 0;
    while ended < 2 {
        let told = next_in_time(&mut of_wide).await;
        assert_eq!(told["method"], "notifications/tasks");
        ended += usize::from(told["params"]["status"] == "completed");
    }
    served.handle.shut_down();
    for told in of_narrow.all().await {
        assert_ne!(told["method"], "notifications/tasks", "{told}");
    }
}

#[tokio::test]
async fn a_token_without_the_scope_reaches_no_job_of_the_tool() {
    let limits = Limits::default().with(|limits| limits.tasks.patience = Duration::from_millis(20));
    for version in Version::ERAS {
        let bench = Bench::default();
        let served = serve(&bench, &Place::Memory, limits.clone()).await;
        let wide = User::begin(&served, version, WIDE).await.without_tasks();
        let narrow = User::begin(&served, version, NARROW).await.without_tasks();
        let call = async |user: &User<'_>, tool: &str, id: &str| {
            let arguments = json!({"job_id": id});
            let params = json!({"name": tool, "arguments": arguments});
            user.ask("tools/call", params).await
        };
        let mut ids = Vec::new();
        for tool in ["dig", "mine"] {
            let params = json!({"name": tool, "arguments": {}});
            let handle = wide.ok("tools/call", params).await;
            ids.push(super::patience::id_of(&handle));
        }
        for tool in ["job_status", "job_cancel"] {
            let (status, challenge, message) = call(&narrow, tool, &ids[0]).await;
            assert_eq!((status, &*challenge), (403, CHALLENGE), "{tool}: {message}");
            let hidden = call(&narrow, tool, &ids[1]).await;
            assert_eq!(hidden.2["result"]["isError"], true, "{hidden:?}");
            assert_eq!(hidden, call(&narrow, tool, &"A".repeat(32)).await);
        }
        bench.go_on.add_permits(2);
        for (id, done) in ids.iter().zip(["dug", "mined"]) {
            until(async || text(&call(&wide, "job_status", id).await.2["result"]) == done).await;
        }
        let (status, ..) = call(&narrow, "job_status", &ids[0]).await;
        assert_eq!(status, 403);
    }
}

/// A tool for everybody whose calls are tasks that wait for ever.
fn waiting() -> DynamicTool {
    let wait = |_: Arguments, _: Context| async { std::future::pending::<String>().await };
    DynamicTool::new("waiting", json!({"type": "object"}), wait).task(TaskOptions::default())
}

#[tokio::test]
async fn access_to_earlier_tasks_follows_the_current_definition() {
    for version in Version::ERAS {
        let served = serve(&Bench::default(), &Place::Memory, Limits::default()).await;
        let tools = served.handle.tools();
        tools.insert(waiting()).unwrap();
        let wide = User::begin(&served, version, WIDE).await;
        let narrow = User::begin(&served, version, NARROW).await;
        let id = narrow.create("waiting").await;
        let get = async |user: &User<'_>| {
            let (status, _, message) = user.ask("tasks/get", json!({"taskId": id})).await;
            (status, message["error"]["code"].as_i64())
        };
        assert_eq!(get(&narrow).await, (200, None));
        tools.replace(waiting().scopes(["admin"])).unwrap();
        assert_eq!(get(&narrow).await, (403, Some(403)));
        assert_eq!(get(&wide).await, (200, None));
        tools.replace(waiting().visible_if(is_staff)).unwrap();
        assert_eq!(get(&narrow).await, (200, Some(-32602)));
        assert_eq!(get(&wide).await, (200, None));
        // A disabled tool is not called any more, but its access rules are still there.
        tools.disable("waiting");
        assert_eq!(get(&narrow).await, (200, Some(-32602)));
        assert_eq!(get(&wide).await, (200, None));
        tools.remove("waiting");
        assert_eq!(get(&wide).await, (200, Some(-32602)));
        tools.insert(waiting()).unwrap();
        assert_eq!(get(&narrow).await, (200, None));
    }
}

#[tokio::test]
async fn a_removed_tool_changes_nothing_for_callers_without_credentials() {
    for version in Version::ERAS {
        let server = server(&Bench::default());
        let tools = server.handle().tools();
        tools.insert(waiting()).unwrap();
        let mut client = client_of(server, version).await;
        let task = create(&mut client, "waiting", json!({})).await;
        assert!(tools.remove("waiting"));
        assert_eq!(get(&mut client, &task).await["status"], "working");
    }
}

#[tokio::test]
async fn an_open_elicitation_is_not_answered_after_access_was_lost() {
    let served = serve(&Bench::default(), &Place::Memory, Limits::default()).await;
    let asking = || {
        let ask = |_: Arguments, ctx: Context| async move {
            let Sure { sure } = ctx.elicit("Sure?").key("sure").await?;
            Ok::<_, HandlerError>(sure.to_string())
        };
        DynamicTool::new("asking", json!({"type": "object"}), ask).task(TaskOptions::default())
    };
    let tools = served.handle.tools();
    tools.insert(asking()).unwrap();
    let narrow = User::begin(&served, LEGACY, NARROW).await;
    let wide = User::begin(&served, LEGACY, WIDE).await;
    let id = narrow.create("asking").await;
    let mut stream = narrow.send("tasks/result", json!({"taskId": id})).await;
    let question = loop {
        let message = next_in_time(&mut stream).await;
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    tools.replace(asking().scopes(["admin"])).unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted(true)});
    let answer = Request::legacy(narrow.session.as_deref().unwrap(), &answer, LEGACY);
    assert_eq!(served.send(&narrow.authorized(answer)).await.status, 202);
    let ended = loop {
        let message = next_in_time(&mut stream).await;
        if message["id"] == 1 {
            break message;
        }
    };
    assert_eq!(ended["error"]["code"], 403, "{ended}");
    let task = wide.ok("tasks/get", json!({"taskId": id})).await;
    assert_eq!(task["status"], "input_required");
}
