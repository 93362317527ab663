//! Runs a history: a sequence of processes with the same stores, until the call has ended.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, advance, timeout};

use super::client::{AnswerSource, UnreliableClient};
use super::following::{
    CallEnd, answer_all, end_of, error_text, follow_legacy_task, follow_task, is_unserved,
};
use super::history::{CallHistory, HistoryWatcher};
use super::store::SurvivingTaskStore;
use crate::Server;
use crate::context::Caller;
use crate::context::watching::{self, RunWatcher as _};
use crate::protocol::ProtocolVersion;
use crate::server::SurvivingStores;
use crate::stores::MemoryOnceStore;
use crate::stores::TaskStore;

/// Time after which a call that has not ended is considered endless.
const PATIENCE: Duration = Duration::from_hours(6);
/// Time that a restart takes.
const RESTART: Duration = Duration::from_secs(1);
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

/// The call to try, which is the same in every history.
pub(super) struct CallUnderTest<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    pub(super) answers: AnswerSource<'a>,
    /// `true` if the client repeats a call that was lost.
    pub(super) repeats: bool,
}

/// The state of a call that its client remembers while processes die.
struct CallProgress {
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

impl CallProgress {
    /// Returns `true` if a process has died and no state is left from which the call could continue.
    fn is_lost(&self) -> bool {
        // Without sealing, a round's state is lost when its process dies.
        let has_round = cfg!(feature = "sealing") && (self.asked.is_some() || self.has_state);
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
        server: &dyn Fn() -> Server,
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
        server: &dyn Fn() -> Server,
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
                    advance(behind + RESTART).await;
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
                let living = self.live(way, history, server().surviving(&stores), &mut progress);
                let end = tokio::select! {
                    biased;
                    () = history.died() => None,
                    end = timeout(PATIENCE, living) => {
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

    fn start(&self, way: ServedAs) -> CallProgress {
        let mut next = json!({"name": self.tool, "arguments": self.arguments});
        if way.is_task && !way.version.is_modern() {
            next["task"] = json!({});
        }
        CallProgress {
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
        mut server: Server,
        progress: &mut CallProgress,
    ) -> CallEnd {
        server.prepare_for_tests();
        let connected = match server.serve_in_process(1, &Caller::trusted()) {
            Ok(mut connected) => connected.pop(),
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
        progress: &mut CallProgress,
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
