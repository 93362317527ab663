//! The rules for the operations that operators use.

use std::time::Duration;

use super::{LATER, LONG, SHORT, change, created, loaded, new, release};
use crate::context::{ClaimId, OnceClaim};
use crate::stores::{
    StoredTask, TaskChange, TaskChanged, TaskDetails, TaskId, TaskOutcome, TaskStatus, TaskStep,
    TaskStore,
};
use tokio::time::sleep;

pub(super) async fn lists(store: &dyn TaskStore) {
    let mut expected = Vec::new();
    for owner in ["one", "two", "one", "three", "two"] {
        expected.push(created(store, new(owner)).await.id);
    }
    let mut brief = new("one");
    brief.ttl = SHORT;
    let brief = created(store, brief).await.id;
    sleep(LATER).await;
    let (mut listed, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = store.list_all(cursor.as_deref(), 2).await;
        let page = page
            .expect("the store works")
            .expect("its own cursor is valid");
        assert!(page.tasks.len() <= 2, "a page is not longer than requested");
        listed.extend(page.tasks.into_iter().map(|task| task.id));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    for id in &expected {
        let times = listed.iter().filter(|listed| *listed == id).count();
        assert_eq!(
            times, 1,
            "operators see each task of every caller exactly once"
        );
    }
    assert!(
        !listed.contains(&brief),
        "a task is not listed after its time to live"
    );
    let invalid = store.list_all(Some("?"), 2).await;
    assert!(
        invalid.expect("the store works").is_none(),
        "a cursor can be invalid"
    );
}

async fn inspected(store: &dyn TaskStore, id: &TaskId) -> TaskDetails {
    let details = store.inspect(id).await.expect("the store works");
    let mut details = details.expect("a task can be inspected until its time to live ends");
    details.steps.sort();
    details
}

pub(super) async fn details(store: &dyn TaskStore) {
    let task = created(store, new("inspected")).await;
    for name in ["done", "open"] {
        begin(store, &task, name).await;
    }
    let done = store.complete_step(&task.id, 1, "done", "1").await;
    done.expect("the store works");
    let details = inspected(store, &task.id).await;
    assert_eq!(details.task.version, task.version);
    assert_eq!(
        details.steps,
        [TaskStep::new("done", true), TaskStep::new("open", false)],
        "each step shows whether it is done"
    );
    let left = details.due_in.expect("a working task becomes due");
    assert!(
        left > LONG / 2 && left <= LONG,
        "a task is due when its lease lapses"
    );
    release(store, &task.id, 1, Duration::ZERO).await;
    let details = inspected(store, &task.id).await;
    assert_eq!(
        details.due_in,
        Some(Duration::ZERO),
        "a task without a lease is due"
    );
    change(store, &task, TaskChange::to(TaskStatus::Cancelled)).await;
    let details = inspected(store, &task.id).await;
    assert_eq!(details.due_in, None, "a final task is never due");
    let unknown = store.inspect(&TaskId::random()).await;
    assert!(unknown.expect("the store works").is_none());
}

async fn begin(store: &dyn TaskStore, task: &StoredTask, name: &str) -> OnceClaim {
    let begun = store.begin_step(&task.id, task.attempt, name, ClaimId::random());
    let begun = begun.await;
    begun.expect("the store works")
}

async fn retry(
    store: &dyn TaskStore,
    task: &StoredTask,
    not_done: Option<&str>,
) -> Option<StoredTask> {
    let retried = store.retry(&task.id, task.version, not_done).await;
    super::changed_task(retried.expect("the store works"))
}

fn failed() -> TaskChange {
    let json = r#"{"code":-32603,"message":"no"}"#.into();
    TaskChange::to(TaskStatus::Failed)
        .message("no")
        .outcome(TaskOutcome::Error { json })
}

pub(super) async fn retries(store: &dyn TaskStore) {
    let task = created(store, new("retrier")).await;
    assert!(
        retry(store, &task, None).await.is_none(),
        "a working task is not retried"
    );
    for name in ["done", "open", "lost"] {
        begin(store, &task, name).await;
    }
    let done = store.complete_step(&task.id, 1, "done", "1").await;
    done.expect("the store works");
    let task = change(store, &task, failed()).await;
    let task = task.expect("the version is current");
    assert!(
        task.can_be_retried() && &*task.call == "the call",
        "a failed task keeps its call"
    );
    assert!(
        store
            .claim(&task.id, LONG)
            .await
            .expect("the store works")
            .is_none(),
        "a failed task is not due"
    );
    let id = TaskId::random();
    let unknown = store.retry(&id, 1, None).await.expect("the store works");
    assert!(matches!(unknown, TaskChanged::Unchanged));
    let mut older = task.clone();
    older.version -= 1;
    assert!(
        retry(store, &older, None).await.is_none(),
        "a retry by an older version changes nothing"
    );

    let retried = retry(store, &task, Some("open")).await;
    let retried = retried.expect("a failed task can be retried");
    assert_eq!(
        (retried.status, retried.tries, &retried.outcome),
        (TaskStatus::Working, 0, &None)
    );
    assert!(retried.version > task.version);
    let found = loaded(store, &task.id).await;
    assert_eq!(
        (found.status, found.tries, found.outcome, found.message),
        (TaskStatus::Working, 0, None, None),
        "a retried task is working again, and its tries are counted from zero"
    );
    assert_eq!((&*found.state, &*found.call), ("{}", "the call"));
    assert!(
        retry(store, &task, None).await.is_none(),
        "a task is retried once"
    );
    let claimed = store.claim(&task.id, LONG).await.expect("the store works");
    let claimed = claimed.expect("a retried task is due immediately");
    assert_eq!(claimed.tries, 1);
    assert_eq!(
        begin(store, &claimed, "done").await,
        OnceClaim::Done("1".into()),
        "a retried task keeps what it has done"
    );
    assert_eq!(
        begin(store, &claimed, "lost").await,
        OnceClaim::Taken(String::new()),
        "a retried task keeps the steps whose outcome is unknown"
    );
    assert_eq!(
        begin(store, &claimed, "open").await,
        OnceClaim::Granted,
        "a step that was not done is forgotten"
    );

    // A result that reports a tool failure is also a failure.
    let json = "{\"content\":[],\"isError\":true}".into();
    let is_error = true;
    let failure = TaskOutcome::Result { json, is_error };
    let failure = TaskChange::to(TaskStatus::Completed).outcome(failure);
    let task = change(store, &claimed, failure).await;
    let task = task.expect("the version is current");
    assert!(task.can_be_retried());
    let claimed = retry(store, &task, None).await;
    let claimed = claimed.expect("a failed task can be retried");

    // Without a state, the task could not continue.
    let task = change(store, &claimed, failed().state("")).await;
    let task = task.expect("the version is current");
    assert!(!task.can_be_retried() && task.call.is_empty());
    assert!(retry(store, &task, None).await.is_none());
    let details = inspected(store, &task.id).await;
    assert_eq!(
        details.steps,
        [],
        "a task that cannot be retried keeps no steps"
    );
    let task = created(store, new("retrier")).await;
    begin(store, &task, "open").await;
    let task = change(store, &task, TaskChange::to(TaskStatus::Cancelled)).await;
    let task = task.expect("the version is current");
    assert!(
        retry(store, &task, None).await.is_none(),
        "a cancelled task is not retried"
    );
    assert!(task.call.is_empty(), "a cancelled task keeps no call");
    assert_eq!(inspected(store, &task.id).await.steps, []);
}
