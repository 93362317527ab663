//! A test that checks any implementation against the rules of [`TaskStore`].

mod leases;
mod operators;

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::context::{ClaimId, OnceClaim, StoreRefusal};
use crate::stores::{
    NewTask, StoredTask, TaskChange, TaskChanged, TaskCreation, TaskId, TaskOutcome, TaskStatus,
    TaskStore,
};

/// A lease that does not lapse during the check.
const LONG: Duration = Duration::from_mins(5);
/// A lease, or a time to live, that ends during the check.
const SHORT: Duration = Duration::from_millis(200);
/// A duration slightly longer than `SHORT`.
const LATER: Duration = Duration::from_millis(300);

/// Checks that a task store follows the rules of [`TaskStore`]. The store must be empty. Takes less than two seconds,
/// or no time if tokio's clock is paused and the store uses that clock.
///
/// ```
/// # use mcp_runtime::backend::{MemoryTaskStore, check_task_store};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// check_task_store(&MemoryTaskStore::default()).await;
/// # }
/// ```
///
/// # Panics
///
/// Panics if the store breaks a rule. The panic message states the rule.
pub async fn check_task_store(store: &dyn TaskStore) {
    creation(store).await;
    lists(store).await;
    changes(store).await;
    leases::leases(store).await;
    leases::due(store).await;
    leases::turns(store).await;
    leases::exceptions(store).await;
    steps(store).await;
    tries(store).await;
    waiting(store).await;
    expiry(store).await;
    deletion(store).await;
    operators::lists(store).await;
    operators::details(store).await;
    operators::retries(store).await;
}

fn new(owner: &str) -> NewTask {
    let mut task = NewTask::new(owner, "tool");
    task.lease = LONG;
    task.state = "{}".into();
    task.call = "the call".into();
    task
}

async fn created(store: &dyn TaskStore, task: NewTask) -> StoredTask {
    match store.create(task).await.expect("the store works") {
        TaskCreation::Created(task) => task,
        other => panic!("an empty store creates a task: {other:?}"),
    }
}

async fn loaded(store: &dyn TaskStore, id: &TaskId) -> StoredTask {
    let task = store.load(id).await.expect("the store works");
    task.expect("a task is found until its time to live ends")
}

async fn change(
    store: &dyn TaskStore,
    task: &StoredTask,
    change: TaskChange,
) -> Option<StoredTask> {
    let changed = store.change(&task.id, task.version, change);
    changed_task(changed.await.expect("the store works"))
}

fn changed_task(changed: TaskChanged) -> Option<StoredTask> {
    match changed {
        TaskChanged::Changed(task) => Some(task),
        TaskChanged::Unchanged => None,
        TaskChanged::Full => panic!("a store must have room for a few small tasks"),
    }
}

async fn creation(store: &dyn TaskStore) {
    let wanted = new("alice");
    let task = created(store, wanted.clone()).await;
    let found = loaded(store, &task.id).await;
    assert_eq!(
        (&found.id, &*found.owner, &*found.tool, &*found.state),
        (&wanted.id, "alice", "tool", "{}"),
        "a task is loaded exactly as it was created"
    );
    assert_eq!(
        (found.ttl, found.poll_interval),
        (wanted.ttl, wanted.poll_interval)
    );
    assert_eq!((found.status, found.attempt), (TaskStatus::Working, 1));
    assert_eq!((&*found.call, found.tries), ("the call", 1));
    assert_eq!(found.version, task.version);
    assert!(
        store
            .load(&TaskId::random())
            .await
            .expect("the store works")
            .is_none(),
        "an unknown task is not found"
    );
    let again = created(store, wanted.clone()).await;
    assert_eq!(
        (again.created_at, again.attempt, again.version),
        (task.created_at, 1, task.version),
        "a creation that is repeated returns the task as it was created"
    );
    let page = store.list("alice", None, 2).await.expect("the store works");
    assert_eq!(
        page.map(|page| page.tasks.len()),
        Some(1),
        "a creation that is repeated creates one task"
    );
    let mut of_other = new("mallory");
    of_other.id = wanted.id;
    assert!(
        store.create(of_other).await.is_err(),
        "an id can be used only once"
    );
}

async fn lists(store: &dyn TaskStore) {
    let mut wanted = Vec::new();
    for _ in 0..5 {
        wanted.push(created(store, new("lister")).await.id);
    }
    created(store, new("other")).await;
    let (mut listed, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = store.list("lister", cursor.as_deref(), 2).await;
        let page = page
            .expect("the store works")
            .expect("the store's own cursor is valid");
        assert!(page.tasks.len() <= 2, "a page is not longer than requested");
        listed.extend(page.tasks.into_iter().map(|task| task.id));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(
        listed, wanted,
        "a list contains all tasks of one caller, oldest first"
    );
    let none = store
        .list("newcomer", None, 2)
        .await
        .expect("the store works");
    assert!(none.is_some_and(|page| page.tasks.is_empty() && page.next.is_none()));
    let invalid = store.list("lister", Some("?"), 2).await;
    assert!(
        invalid.expect("the store works").is_none(),
        "a cursor can be invalid"
    );
}

async fn changes(store: &dyn TaskStore) {
    let task = created(store, new("changer")).await;
    let parked = TaskChange::to(TaskStatus::InputRequired)
        .message("asks")
        .state("[1]");
    let parked = change(store, &task, parked)
        .await
        .expect("the version is current");
    assert!(
        parked.version > task.version,
        "a change increases the version"
    );
    assert_eq!(
        (parked.message.as_deref(), &*parked.state),
        (Some("asks"), "[1]")
    );
    let late = change(store, &task, TaskChange::to(TaskStatus::Cancelled)).await;
    assert!(
        late.is_none(),
        "a change based on an older version has no effect"
    );
    assert_eq!(
        loaded(store, &task.id).await.status,
        TaskStatus::InputRequired
    );
    let outcome = TaskOutcome::Result {
        json: "{\"content\":[]}".into(),
        is_error: true,
    };
    let done = TaskChange::to(TaskStatus::Completed).outcome(outcome.clone());
    let done = change(store, &parked, done)
        .await
        .expect("the version is current");
    assert_eq!(
        (&*done.state, &done.message),
        ("[1]", &None),
        "a state is kept unless it is replaced"
    );
    assert_eq!(loaded(store, &task.id).await.outcome, Some(outcome));
    let again = change(store, &done, TaskChange::to(TaskStatus::Working)).await;
    assert!(again.is_none(), "a final task never changes");
    let id = TaskId::random();
    let unknown = store.change(&id, 1, TaskChange::to(TaskStatus::Failed));
    let unknown = unknown.await.expect("the store works");
    assert!(changed_task(unknown).is_none());
}

async fn release(store: &dyn TaskStore, id: &TaskId, attempt: u64, after: Duration) {
    let released = store.release(id, attempt, after).await;
    released.expect("the store works");
}

async fn steps(store: &dyn TaskStore) {
    let task = created(store, new("stepper")).await;
    let claims: [ClaimId; 4] = std::array::from_fn(|_| ClaimId::random());
    let begin = async |attempt, run: usize| {
        let begun = store.begin_step(&task.id, attempt, "pay", claims[run]);
        begun.await
    };
    let taken = OnceClaim::Taken(String::new());
    for _ in 0..2 {
        assert_eq!(
            begin(1, 0).await.expect("the store works"),
            OnceClaim::Granted,
            "a claim is granted again to the same run, because the first reply may have been lost"
        );
    }
    assert_eq!(begin(1, 1).await.expect("the store works"), taken);
    for (run, claim) in [(1, taken.clone()), (0, OnceClaim::Granted)] {
        let abandoned = store.abandon_step(&task.id, 1, "pay", claims[run]).await;
        abandoned.expect("the store works");
        assert_eq!(
            begin(1, 2).await.expect("the store works"),
            claim,
            "only the run that claimed a step can abandon it"
        );
    }
    release(store, &task.id, 1, Duration::ZERO).await;
    let claimed = store.claim(&task.id, LONG).await.expect("the store works");
    let attempt = claimed.expect("a released task can be claimed").attempt;
    assert_eq!(
        begin(attempt, 3).await.expect("the store works"),
        taken,
        "a step whose attempt was lost has an unknown outcome"
    );
    let late = begin(1, 2).await;
    assert!(
        late.is_err_and(|error| error.is::<StoreRefusal>()),
        "an older attempt cannot begin a step, however often it tries"
    );
    let completed = store.complete_step(&task.id, 1, "pay", "1").await;
    assert!(
        completed.is_err_and(|error| error.is::<StoreRefusal>()),
        "an older attempt cannot complete a step, however often it tries"
    );
    for result in ["2", "3"] {
        let completed = store.complete_step(&task.id, attempt, "pay", result).await;
        completed.expect("the store works");
        let done = begin(attempt, 3).await.expect("the store works");
        assert_eq!(
            done,
            OnceClaim::Done("2".into()),
            "the first result is kept"
        );
    }
}

/// An attempt that completes a step gets further, so the attempts before it no longer count.
async fn tries(store: &dyn TaskStore) {
    let mut task = new("unlucky");
    task.lease = Duration::ZERO;
    let task = created(store, task).await;
    let mut attempt = 1;
    for (is_completed, tries) in [(false, 2), (false, 3), (true, 2), (true, 2)] {
        if is_completed {
            let name = format!("step {attempt}");
            let begun = store.begin_step(&task.id, attempt, &name, ClaimId::random());
            let begun = begun.await;
            assert_eq!(begun.expect("the store works"), OnceClaim::Granted);
            for _ in 0..2 {
                let completed = store.complete_step(&task.id, attempt, &name, "1").await;
                completed.expect("the store works");
            }
        }
        let claimed = store.claim(&task.id, Duration::ZERO).await;
        let claimed = claimed.expect("the store works");
        let claimed = claimed.expect("a task whose lease has lapsed can be claimed");
        assert_eq!(
            claimed.tries, tries,
            "a completed step sets the number of tries to 1"
        );
        attempt = claimed.attempt;
    }
    let claim = ClaimId::random();
    let begun = store.begin_step(&task.id, attempt, "failing", claim).await;
    begun.expect("the store works");
    let abandoned = store.abandon_step(&task.id, attempt, "failing", claim);
    let abandoned = abandoned.await;
    abandoned.expect("the store works");
    let claimed = store.claim(&task.id, LONG).await.expect("the store works");
    let tries = claimed.map(|claimed| claimed.tries);
    assert_eq!(
        tries,
        Some(3),
        "a failed step does not change the number of tries"
    );
}

async fn waiting(store: &dyn TaskStore) {
    let task = created(store, new("waiter")).await;
    let stale = store.changed(&task.id, 0);
    timeout(LONG, stale)
        .await
        .expect("a change made before the wait is detected")
        .expect("the store works");
    let (waited, changed) = tokio::join!(
        timeout(LONG, store.changed(&task.id, task.version)),
        async {
            sleep(SHORT).await;
            change(store, &task, TaskChange::to(TaskStatus::Working)).await
        }
    );
    assert!(changed.is_some());
    waited
        .expect("a change ends the wait")
        .expect("the store works");
    let unknown = timeout(LONG, store.changed(&TaskId::random(), 1)).await;
    unknown
        .expect("waiting for an unknown task ends immediately")
        .expect("the store works");
}

async fn expiry(store: &dyn TaskStore) {
    let mut brief = new("short-lived");
    brief.ttl = SHORT;
    let task = created(store, brief).await;
    let waited = timeout(LONG, store.changed(&task.id, task.version)).await;
    waited
        .expect("the end of a task's time to live counts as a change")
        .expect("the store works");
    sleep(LATER).await;
    let found = store.load(&task.id).await.expect("the store works");
    assert!(
        found.is_none(),
        "a task is not found after its time to live has elapsed"
    );
    let claimed = store.claim(&task.id, LONG).await.expect("the store works");
    assert!(claimed.is_none());
    let changed = change(store, &task, TaskChange::to(TaskStatus::Completed)).await;
    assert!(changed.is_none());
    let page = store
        .list("short-lived", None, 10)
        .await
        .expect("the store works");
    assert!(page.is_some_and(|page| page.tasks.is_empty()));
}

async fn deletion(store: &dyn TaskStore) {
    let task = created(store, new("leaver")).await;
    created(store, new("leaver")).await;
    let stays = created(store, new("stayer")).await;
    let deleted = store.delete_all("leaver").await.expect("the store works");
    assert_eq!(deleted, 2, "all tasks of a caller are deleted");
    assert!(
        store
            .load(&task.id)
            .await
            .expect("the store works")
            .is_none()
    );
    loaded(store, &stays.id).await;
}
