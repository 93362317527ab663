//! Runs a history: a sequence of processes with the same stores, until the call has ended.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::Question;
use mcp_core::context::watching::RunWatcher as _;
use mcp_core::context::{Caller, ClaimId, OnceClaim, OnceStore, StoreFuture, watching};
use mcp_core::dispatch::UnstartedServer;
use mcp_core::seal::SealingKey;
use mcp_protocol::ProtocolVersion;
use mcp_stores::{
    ClaimExceptions, MemoryOnceStore, MemoryTaskStore, NewTask, StoredTask, TaskChange,
    TaskChanged, TaskClaim, TaskCreation, TaskDetails, TaskId, TaskPage, TaskStore,
};
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::time::{Instant, advance, sleep, timeout};

use crate::chaos::history::{
    CallEnd, CallHistory, Disruption, HistoryWatcher, answer_all, end_of, error_text,
    follow_legacy_task, follow_task, is_unserved,
};
use crate::declarations::prepare;

/// Time after which a call that has not ended is considered endless.
const ENDLESS_CALL_TIME: Duration = Duration::from_hours(6);

/// Time that a restart takes.
const RESTART_TIME: Duration = Duration::from_secs(1);

/// The way in which a call is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServedAs {
    pub(super) version: ProtocolVersion,
    pub(super) is_task: bool,
}

impl ServedAs {
    pub(super) const ALL: [Self; 4] = [
        Self::new(ProtocolVersion::LATEST_LEGACY, false),
        Self::new(ProtocolVersion::LATEST, false),
        Self::new(ProtocolVersion::LATEST_LEGACY, true),
        Self::new(ProtocolVersion::LATEST, true),
    ];

    const fn new(version: ProtocolVersion, is_task: bool) -> Self {
        Self { version, is_task }
    }

    pub(super) fn words(self) -> String {
        let kind = if self.is_task {
            "a task"
        } else {
            "a plain call"
        };
        format!("{kind} of {}", self.version.as_str())
    }
}

/// The stores shared by all processes of a history.
struct SurvivingStores {
    tasks: Arc<dyn TaskStore>,
    once: Arc<dyn OnceStore>,
}

/// Lower bound for the number of times a task may be started, which is higher than the number of deaths in a test.
const MIN_ATTEMPTS: u32 = 10;

impl SurvivingStores {
    /// Gives the stores to a process, which then continues the calls of those before it.
    fn give_to(&self, mut server: Box<dyn UnstartedServer>) -> Box<dyn UnstartedServer> {
        server.stores_mut().set(Arc::clone(&self.tasks));
        server.survive_in(Arc::clone(&self.once), SealingKey::from_bytes([7; 32]));
        let tasks = &mut server.limits_mut().tasks;
        tasks.max_attempts = tasks.max_attempts.max(MIN_ATTEMPTS);
        server
    }
}

/// The call to try, which is the same in every history.
pub(super) struct CallUnderTest<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    pub(super) answers: AnswerSource<'a>,
    /// `true` if the client repeats a call that was lost.
    pub(super) repeats: bool,
}

/// The state of a call that its client remembers while processes die.
struct RememberedCall {
    /// The parameters for the next request in a plain call.
    next: Value,
    /// The questions that the client must answer before that request.
    asked: Option<Value>,
    task: Option<Value>,
    has_state: bool,
    /// `true` once a process has died.
    is_restarted: bool,
    /// Parameters of requests that are sent again after the result has been received.
    repeated: Vec<Value>,
    questions: usize,
}

impl RememberedCall {
    /// Returns `true` if a process has died and no state is left from which the call could continue.
    fn is_lost(&self) -> bool {
        let has_round = self.asked.is_some() || self.has_state;
        self.is_restarted && self.task.is_none() && !has_round
    }
}

/// Returns the id of the only task in a store.
async fn only_task(store: &dyn TaskStore) -> Option<Value> {
    let page = store.list(Caller::trusted().key(), None, 1).await;
    let page = page.ok().flatten()?;
    page.tasks.first().map(|task| task.id.as_str().into())
}

impl CallUnderTest<'_> {
    /// Runs a history on this thread.
    pub(super) fn run(
        &self,
        way: ServedAs,
        history: &Arc<CallHistory>,
        server: &dyn Fn() -> Box<dyn UnstartedServer>,
    ) -> CallEnd {
        watching::watch(Some(Rc::new(HistoryWatcher(Arc::clone(history)))));
        let end = self.run_until_ended(way, history, server);
        watching::watch(None);
        end
    }

    fn run_until_ended(
        &self,
        way: ServedAs,
        history: &Arc<CallHistory>,
        server: &dyn Fn() -> Box<dyn UnstartedServer>,
    ) -> CallEnd {
        let stores = SurvivingStores {
            tasks: Arc::new(SurvivingTaskStore::new(history)),
            once: Arc::new(MemoryOnceStore::new()),
        };
        let mut progress = self.start(way);
        history.tell(format!(
            "the client calls `{}` ({})",
            self.tool,
            way.words()
        ));
        let mut clock = None;
        loop {
            let process = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .expect("a runtime can be built");
            let (end, now) = process.block_on(async {
                // A process's clock continues where the previous process's clock left off.
                if let Some(clock) = clock {
                    let behind = Instant::duration_since(&clock, Instant::now());
                    advance(behind + RESTART_TIME).await;
                }
                if way.is_task && progress.task.is_none() {
                    // The task exists even if the client does not know about it.
                    progress.task = only_task(&*stores.tasks).await;
                }
                if progress.is_lost() {
                    if !self.repeats {
                        return (Some(CallEnd::Lost), Instant::now());
                    }
                    history.tell("the client calls again");
                    progress = self.start(way);
                }
                let living = self.live(way, history, stores.give_to(server()), &mut progress);
                let end = tokio::select! {
                    biased;
                    () = history.died() => None,
                    end = timeout(ENDLESS_CALL_TIME, living) => {
                        Some(end.unwrap_or(CallEnd::Endless("it does not end")))
                    }
                };
                (end, Instant::now())
            });
            history.end_process();
            process.shutdown_background();
            if let Some(end) = end {
                return end;
            }
            clock = Some(now);
            history.restart();
            progress.is_restarted = true;
        }
    }

    fn start(&self, way: ServedAs) -> RememberedCall {
        let mut next = json!({"name": self.tool, "arguments": self.arguments});
        if way.is_task && !way.version.is_modern() {
            next["task"] = json!({});
        }
        RememberedCall {
            next,
            asked: None,
            task: None,
            has_state: false,
            is_restarted: false,
            repeated: Vec::new(),
            questions: 0,
        }
    }

    /// Runs a process until the call ends or the process dies.
    async fn live(
        &self,
        way: ServedAs,
        history: &Arc<CallHistory>,
        mut server: Box<dyn UnstartedServer>,
        progress: &mut RememberedCall,
    ) -> CallEnd {
        prepare(&mut *server);
        let connected = match server.start() {
            Ok(server) => mcp_client::serve(&server, 1, &Caller::trusted()).pop(),
            Err(error) => panic!("the server does not start:\n{error}"),
        };
        let Some(connection) = connected else {
            return CallEnd::Endless("the server has no connection");
        };
        let (version, answers) = (way.version, self.answers);
        let mut client =
            UnreliableClient::connect(connection.stream, version, way.is_task, history, answers)
                .await;
        if progress.task.is_none() {
            match self.call(way, history, &mut client, progress).await {
                Ok(task) => progress.task = Some(task),
                Err(end) => return end,
            }
        }
        let Some(task) = progress.task.clone() else {
            return CallEnd::Lost;
        };
        if way.version.is_modern() {
            follow_task(&mut client, &task, &mut progress.questions).await
        } else {
            follow_legacy_task(&mut client, &task).await
        }
    }

    /// Makes the call, in rounds if necessary. Returns the task that the call becomes, or the end of the call.
    async fn call(
        &self,
        way: ServedAs,
        history: &Arc<CallHistory>,
        client: &mut UnreliableClient<'_>,
        progress: &mut RememberedCall,
    ) -> Result<Value, CallEnd> {
        loop {
            if let Some(asked) = &progress.asked {
                let (answers, times) =
                    answer_all(client, &asked["inputRequests"], &mut progress.questions).await?;
                let mut next = json!({"name": self.tool, "arguments": self.arguments});
                next["inputResponses"] = answers.into();
                next["requestState"] = asked["requestState"].clone();
                if times > 1 {
                    progress.repeated.push(next.clone());
                }
                progress.next = next;
                progress.has_state = true;
                progress.asked = None;
            }
            HistoryWatcher(Arc::clone(history)).begin_run();
            let result = client.request("tools/call", progress.next.clone()).await;
            let mut result = match result {
                Ok(result) => result,
                Err(error) if is_unserved(&error) => {
                    return Err(CallEnd::NotServed(error_text(&error)));
                }
                Err(error) => return Err(CallEnd::Failed(error_text(&error))),
            };
            if result["resultType"] == "input_required" {
                progress.asked = Some(result);
                continue;
            }
            let task = if way.version.is_modern() {
                (result["resultType"] == "task").then(|| result["taskId"].take())
            } else {
                result.get_mut("task").map(|task| task["taskId"].take())
            };
            match task {
                Some(task) => return Ok(task),
                None if way.is_task => {
                    return Err(CallEnd::NotServed(
                        "the tool does not have the `task` option".into(),
                    ));
                }
                None => {}
            }
            for repeated in std::mem::take(&mut progress.repeated) {
                history.tell("the client sends an earlier round of the call again");
                HistoryWatcher(Arc::clone(history)).begin_run();
                // Only the call's first result counts, and the client already has it.
                let _ = client.request("tools/call", repeated).await;
            }
            return Err(end_of(&result));
        }
    }
}

// --- A task store that outlives simulated processes, with a point before and after each operation that changes a task.

/// A store whose operations are points at which processes can die. Operations inside steps are not points, because the
/// handler's own points cover steps. Reads are not points either, because they do not change anything.
pub(super) struct SurvivingTaskStore {
    store: MemoryTaskStore,
    history: Arc<CallHistory>,
}

impl SurvivingTaskStore {
    pub(super) fn new(history: &Arc<CallHistory>) -> Self {
        Self {
            store: MemoryTaskStore::default(),
            history: Arc::clone(history),
        }
    }

    fn between<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        work: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            self.history
                .pass(&format!("before the store {operation}"))
                .await;
            let done = work.await;
            self.history
                .pass(&format!("after the store {operation}"))
                .await;
            done
        })
    }
}

impl TaskStore for SurvivingTaskStore {
    fn outlives_process(&self) -> bool {
        true
    }
    fn create(&self, task: NewTask) -> StoreFuture<'_, TaskCreation> {
        // The in-memory store acts when it is called, not when its future is polled.
        let work = Box::pin(async move { self.store.create(task).await });
        self.between("creates the task", work)
    }
    fn load<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<StoredTask>> {
        self.store.load(id)
    }
    fn list<'a>(
        &'a self,
        owner: &'a str,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        self.store.list(owner, cursor, max)
    }
    fn change<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        change: TaskChange,
    ) -> StoreFuture<'a, TaskChanged> {
        let work = Box::pin(async move { self.store.change(id, version, change).await });
        self.between("changes the task", work)
    }
    fn claim<'a>(&'a self, id: &'a TaskId, lease: Duration) -> StoreFuture<'a, Option<StoredTask>> {
        let work = Box::pin(async move { self.store.claim(id, lease).await });
        self.between("lets a process claim the task", work)
    }
    // Only a successful claim is a point, because the number of unsuccessful claims depends on time.
    fn claim_due<'a>(
        &'a self,
        lease: Duration,
        except: &'a ClaimExceptions,
    ) -> StoreFuture<'a, TaskClaim> {
        Box::pin(async move {
            let claim = self.store.claim_due(lease, except).await?;
            if let TaskClaim::Claimed(_) = &claim {
                self.history.pass("after it has claimed the task").await;
            }
            Ok(claim)
        })
    }
    fn renew<'a>(&'a self, id: &'a TaskId, attempt: u64, lease: Duration) -> StoreFuture<'a, bool> {
        self.store.renew(id, attempt, lease)
    }
    fn release<'a>(&'a self, id: &'a TaskId, attempt: u64, after: Duration) -> StoreFuture<'a, ()> {
        let work = Box::pin(async move { self.store.release(id, attempt, after).await });
        self.between("releases the task's lease", work)
    }
    fn changed<'a>(&'a self, id: &'a TaskId, version: u64) -> StoreFuture<'a, ()> {
        self.store.changed(id, version)
    }
    fn begin_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, OnceClaim> {
        self.store.begin_step(id, attempt, name, claim)
    }
    fn complete_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        result: &'a str,
    ) -> StoreFuture<'a, ()> {
        self.store.complete_step(id, attempt, name, result)
    }
    fn abandon_step<'a>(
        &'a self,
        id: &'a TaskId,
        attempt: u64,
        name: &'a str,
        claim: ClaimId,
    ) -> StoreFuture<'a, ()> {
        self.store.abandon_step(id, attempt, name, claim)
    }
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        self.store.delete_all(owner)
    }
    fn list_all<'a>(
        &'a self,
        cursor: Option<&'a str>,
        max: usize,
    ) -> StoreFuture<'a, Option<TaskPage>> {
        self.store.list_all(cursor, max)
    }
    fn inspect<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, Option<TaskDetails>> {
        self.store.inspect(id)
    }
    fn retry<'a>(
        &'a self,
        id: &'a TaskId,
        version: u64,
        not_done: Option<&'a str>,
    ) -> StoreFuture<'a, TaskChanged> {
        self.store.retry(id, version, not_done)
    }
}

// --- A client that answers late, twice or never, and tolerates the server's death.

/// Time that a user takes to answer a question.
const ANSWERING_TIME: Duration = Duration::from_secs(2);

/// Time that a late answer takes. Three late answers are still within the default limit.
const ANSWERING_LATE: Duration = Duration::from_secs(90);

/// The extension that clients declare to use tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Returns the result that answers a question, if any.
pub(super) type AnswerSource<'a> = &'a (dyn Fn(&Question) -> Option<Value> + Send + Sync);

/// An answer, and how many times it is sent.
pub(super) enum SentAnswer {
    Once(Value),
    Twice(Value),
    Never,
}

/// A client with a single connection to a single process.
pub(super) struct UnreliableClient<'a> {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    version: ProtocolVersion,
    capabilities: Value,
    next_id: u64,
    history: &'a CallHistory,
    answers: AnswerSource<'a>,
}

impl<'a> UnreliableClient<'a> {
    /// Connects a client.
    pub(super) async fn connect(
        stream: DuplexStream,
        version: ProtocolVersion,
        knows_tasks: bool,
        history: &'a CallHistory,
        answers: AnswerSource<'a>,
    ) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let mut capabilities = json!({
            "elicitation": {"form": {}, "url": {}},
            "sampling": {"tools": {}, "context": {}},
            "roots": {},
        });
        if knows_tasks && version.is_modern() {
            capabilities["extensions"] = json!({TASKS: {}});
        }
        let mut client = Self {
            lines: BufReader::new(reader).lines(),
            writer,
            version,
            capabilities,
            next_id: 1,
            history,
            answers,
        };
        if !version.is_modern() {
            let params = json!({
                "protocolVersion": version.as_str(),
                "capabilities": client.capabilities,
                "clientInfo": {"name": "chaos", "version": "1"},
            });
            // If this fails, the failure is detected when the tool is called.
            let _ = client.request("initialize", params).await;
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            client.send(&initialized).await;
        }
        client
    }

    async fn send(&mut self, message: &Value) {
        // If the server has ended, this is detected when the answer is read.
        let _ = self
            .writer
            .write_all(format!("{message}\n").as_bytes())
            .await;
    }

    /// Sends a request and waits for its result or error. Answers the questions that the server sends in the meantime.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.with_meta(params);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request).await;
        while let Ok(Some(line)) = self.lines.next_line().await {
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if let Some(method) = message["method"].as_str().map(str::to_owned) {
                if !message["id"].is_null() {
                    let (id, params) = (message["id"].take(), message["params"].take());
                    self.answer_request(id, Question::new(method, params)).await;
                }
            } else if message["id"] == id {
                return match message["error"].take() {
                    Value::Null => Ok(message["result"].take()),
                    error => Err(error),
                };
            }
        }
        Err(json!({"message": "the server has closed the connection"}))
    }

    /// Answers a request from the server.
    async fn answer_request(&mut self, id: Value, question: Question) {
        let (result, times) = match &*question.method {
            "ping" => (json!({}), 1),
            _ => match self.answer(&question).await {
                SentAnswer::Once(result) => (result, 1),
                SentAnswer::Twice(result) => (result, 2),
                SentAnswer::Never => return,
            },
        };
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        for _ in 0..times {
            self.send(&message).await;
        }
    }

    /// Answers a question, either on time or late.
    pub(super) async fn answer(&self, question: &Question) -> SentAnswer {
        let text = match question.message() {
            "" => &*question.method,
            text => text,
        };
        let disruption = self.history.disruption_of_answer(text).await;
        let Some(answer) = (self.answers)(question) else {
            panic!(
                "the test has no answer to `{}` {}; give it one with `Chaos::answer` or `Chaos::answer_with`",
                question.method, question.params
            );
        };
        let (time, words) = match disruption {
            Some(Disruption::LateAnswer) => (ANSWERING_LATE, "late"),
            Some(Disruption::RepeatedAnswer) => (ANSWERING_TIME, "twice"),
            Some(Disruption::NoAnswer) => {
                self.history
                    .tell(format!("the client never answers `{text}`"));
                return SentAnswer::Never;
            }
            _ => (ANSWERING_TIME, ""),
        };
        sleep(time).await;
        let space = if words.is_empty() { "" } else { " " };
        self.history
            .tell(format!("the client answers `{text}`{space}{words}"));
        if disruption == Some(Disruption::RepeatedAnswer) {
            SentAnswer::Twice(answer)
        } else {
            SentAnswer::Once(answer)
        }
    }

    fn with_meta(&self, mut params: Value) -> Value {
        if self.version.is_modern()
            && let Some(members) = params.as_object_mut()
        {
            let mut meta = Map::new();
            for (name, value) in [
                ("protocolVersion", json!(self.version.as_str())),
                ("clientCapabilities", self.capabilities.clone()),
                ("clientInfo", json!({"name": "chaos", "version": "1"})),
            ] {
                meta.insert(format!("io.modelcontextprotocol/{name}"), value);
            }
            members.insert("_meta".into(), Value::Object(meta));
        }
        params
    }
}
