//! A test that checks any implementation against the rules of [`TaskStore`].

use std::collections::HashSet;
use std::time::Duration;

use mcp_core::context::{ClaimId, OnceClaim, StoreRefusal};
use tokio::time::{sleep, timeout};

use crate::{
    ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation,
    TaskDetails, TaskId, TaskOutcome, TaskStatus, TaskStep, TaskStore,
};

/// A lease that does not lapse during the check.
const LEASE: Duration = Duration::from_mins(5);

/// A lease, or a time to live, that ends during the check.
const BRIEF_LEASE: Duration = Duration::from_millis(200);

/// A duration slightly longer than `BRIEF_LEASE`.
const AFTER_BRIEF_LEASE: Duration = Duration::from_millis(300);

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
    leases(store).await;
    due(store).await;
    turns(store).await;
    exceptions(store).await;
    steps(store).await;
    tries(store).await;
    waiting(store).await;
    expiry(store).await;
    deletion(store).await;
    operator_lists(store).await;
    details(store).await;
    retries(store).await;
}

fn new(owner: &str) -> NewTask {
    let mut task = NewTask::new(owner, "tool");
    task.lease = LEASE;
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
    let claimed = store.claim(&task.id, LEASE).await.expect("the store works");
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
    let claimed = store.claim(&task.id, LEASE).await.expect("the store works");
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
    timeout(LEASE, stale)
        .await
        .expect("a change made before the wait is detected")
        .expect("the store works");
    let (waited, changed) = tokio::join!(
        timeout(LEASE, store.changed(&task.id, task.version)),
        async {
            sleep(BRIEF_LEASE).await;
            change(store, &task, TaskChange::to(TaskStatus::Working)).await
        }
    );
    assert!(changed.is_some());
    waited
        .expect("a change ends the wait")
        .expect("the store works");
    let unknown = timeout(LEASE, store.changed(&TaskId::random(), 1)).await;
    unknown
        .expect("waiting for an unknown task ends immediately")
        .expect("the store works");
}

async fn expiry(store: &dyn TaskStore) {
    let mut brief = new("short-lived");
    brief.ttl = BRIEF_LEASE;
    let task = created(store, brief).await;
    let waited = timeout(LEASE, store.changed(&task.id, task.version)).await;
    waited
        .expect("the end of a task's time to live counts as a change")
        .expect("the store works");
    sleep(AFTER_BRIEF_LEASE).await;
    let found = store.load(&task.id).await.expect("the store works");
    assert!(
        found.is_none(),
        "a task is not found after its time to live has elapsed"
    );
    let claimed = store.claim(&task.id, LEASE).await.expect("the store works");
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

// --- The rules for leases and for due tasks.

pub(super) async fn leases(store: &dyn TaskStore) {
    let claim = async |id: &TaskId| store.claim(id, LEASE).await.expect("the store works");
    let renew = async |id: &TaskId, attempt| {
        store
            .renew(id, attempt, LEASE)
            .await
            .expect("the store works")
    };
    let mut wanted = new("leaser");
    wanted.lease = BRIEF_LEASE;
    let task = created(store, wanted).await;
    assert!(claim(&task.id).await.is_none(), "the creator has the lease");
    sleep(AFTER_BRIEF_LEASE).await;
    let second = claim(&task.id)
        .await
        .expect("a lapsed lease can be claimed");
    assert!(second.attempt > task.attempt && second.version > task.version);
    assert!(
        claim(&task.id).await.is_none(),
        "only one of two claims succeeds"
    );
    assert!(
        !renew(&task.id, task.attempt).await,
        "an older attempt cannot renew the lease"
    );
    assert!(renew(&task.id, second.attempt).await);
    let stale = change(store, &task, TaskChange::to(TaskStatus::Failed)).await;
    assert!(stale.is_none(), "an older attempt cannot change the task");
    let release = async |attempt| release(store, &task.id, attempt, Duration::ZERO).await;
    release(task.attempt).await;
    assert!(
        claim(&task.id).await.is_none(),
        "an older attempt cannot release the task"
    );
    release(second.attempt).await;
    let third = claim(&task.id)
        .await
        .expect("a released task can be claimed");
    let parked = change(store, &third, TaskChange::to(TaskStatus::InputRequired)).await;
    let parked = parked.expect("the version is current");
    assert!(
        claim(&task.id).await.is_none(),
        "a task that is waiting for an answer cannot be claimed"
    );
    assert!(!renew(&task.id, third.attempt).await);
    let resumed = change(store, &parked, TaskChange::to(TaskStatus::Working)).await;
    assert!(resumed.is_some());
    let fourth = claim(&task.id)
        .await
        .expect("an answered task can be claimed");
    assert!(
        fourth.attempt > third.attempt,
        "attempt numbers are never reused"
    );
}

async fn claim_due(store: &dyn TaskStore, except: &ClaimExceptions) -> TaskClaim {
    let claim = store.claim_due(LEASE, except).await;
    claim.expect("the store works")
}

/// Claims all due tasks. Returns the tasks and the time until the next task is due.
async fn claim_all(store: &dyn TaskStore) -> (Vec<StoredTask>, Option<Duration>) {
    let mut claimed = Vec::new();
    loop {
        match claim_due(store, &ClaimExceptions::default()).await {
            TaskClaim::Claimed(task) => claimed.push(task),
            TaskClaim::Wait(wait) => return (claimed, wait),
        }
    }
}

pub(super) async fn due(store: &dyn TaskStore) {
    // Claims the tasks left over from earlier parts of the test.
    claim_all(store).await;
    let mut brief = new("one");
    brief.lease = BRIEF_LEASE;
    let brief = created(store, brief).await;
    let held = created(store, new("other")).await;
    let (none, wait) = claim_all(store).await;
    assert!(none.is_empty(), "the creators have the leases");
    let wait = wait.expect("a lease can lapse");
    assert!(
        wait <= BRIEF_LEASE,
        "the next task is due when the first lease lapses"
    );
    sleep(AFTER_BRIEF_LEASE).await;
    let (claimed, _) = claim_all(store).await;
    let [lapsed] = &claimed[..] else {
        panic!("the task whose lease has lapsed is due: {claimed:?}")
    };
    assert_eq!(
        (&lapsed.id, lapsed.attempt, lapsed.tries),
        (&brief.id, 2, 2)
    );
    assert_eq!((&*lapsed.call, &*lapsed.state), ("the call", "{}"));
    assert!(
        lapsed.version > brief.version,
        "a claim increases the version"
    );
    release(store, &held.id, held.attempt, BRIEF_LEASE).await;
    let early = store.claim(&held.id, LEASE).await.expect("the store works");
    assert!(
        early.is_none(),
        "a released task is due after the specified time"
    );
    assert!(claim_all(store).await.0.is_empty());
    let renewed = store.renew(&lapsed.id, lapsed.attempt, LEASE).await;
    assert!(renewed.expect("the store works"));
    sleep(AFTER_BRIEF_LEASE).await;
    let (claimed, _) = claim_all(store).await;
    let [given_back] = &claimed[..] else {
        panic!("a released task is due: {claimed:?}")
    };
    assert_eq!((&given_back.id, given_back.attempt), (&held.id, 2));
    assert_eq!(given_back.tries, 1, "a released attempt does not count");
    let parked = change(store, given_back, TaskChange::to(TaskStatus::InputRequired)).await;
    let parked = parked.expect("the version is current");
    assert!(
        claim_all(store).await.0.is_empty(),
        "a task that is waiting for an answer is not due"
    );
    let answered = change(store, &parked, TaskChange::to(TaskStatus::Working)).await;
    assert!(answered.is_some());
    let (claimed, _) = claim_all(store).await;
    let [answered] = &claimed[..] else {
        panic!("an answered task is due: {claimed:?}")
    };
    assert_eq!((answered.attempt, answered.tries), (3, 1));
    let reported = change(store, answered, TaskChange::to(TaskStatus::Working)).await;
    assert!(reported.is_some());
    assert!(
        claim_all(store).await.0.is_empty(),
        "a status message does not end the lease"
    );
    let none = ClaimExceptions::default();
    let (one, other) = tokio::join!(store.claim(&answered.id, LEASE), claim_due(store, &none));
    assert!(one.expect("the store works").is_none());
    assert!(matches!(other, TaskClaim::Wait(_)));
    let latest = loaded(store, &answered.id).await;
    let done = change(store, &latest, TaskChange::to(TaskStatus::Cancelled)).await;
    assert!(done.is_some());
    release(store, &answered.id, answered.attempt, Duration::ZERO).await;
    assert!(
        claim_all(store).await.0.is_empty(),
        "a final task is never due"
    );
}

/// Creates a task that is due.
async fn due_task(store: &dyn TaskStore, owner: &str) -> StoredTask {
    let mut task = new(owner);
    task.lease = Duration::ZERO;
    created(store, task).await
}

pub(super) async fn turns(store: &dyn TaskStore) {
    claim_all(store).await;
    for _ in 0..40 {
        due_task(store, "many").await;
    }
    // The order in which tasks became due is known in milliseconds.
    sleep(Duration::from_millis(2)).await;
    let single = due_task(store, "single").await;
    let (claimed, _) = claim_all(store).await;
    assert_eq!(claimed.len(), 41);
    let turn = claimed.iter().position(|task| task.id == single.id);
    assert!(
        turn.is_some_and(|turn| turn < 20),
        "a caller does not wait for all tasks of another: {turn:?}"
    );
    let lapsed = due_task(store, "single").await;
    let (claimed, _) = claim_all(store).await;
    assert_eq!(claimed.len(), 1);
    let late = claimed[0].attempt;
    let released = store.release(&lapsed.id, late, Duration::ZERO).await;
    released.expect("the store works");
    let renewed = store.renew(&lapsed.id, late, LEASE).await;
    assert!(
        renewed.expect("the store works"),
        "the latest attempt can renew its lease after it has lapsed"
    );
    assert!(claim_all(store).await.0.is_empty());
}

pub(super) async fn exceptions(store: &dyn TaskStore) {
    claim_all(store).await;
    let held = due_task(store, "one").await;
    let mut busy = new("one");
    (busy.lease, busy.tool) = (Duration::ZERO, "busy".into());
    let busy = created(store, busy).await;
    let except = ClaimExceptions {
        tasks: vec![held.id.clone(), TaskId::random()],
        tools: vec!["other".into(), "busy".into()],
    };
    let TaskClaim::Wait(wait) = claim_due(store, &except).await else {
        panic!("a task that is excepted is not claimed");
    };
    assert!(
        wait.is_none_or(|wait| wait > BRIEF_LEASE),
        "tasks that are excepted are not waited for: {wait:?}"
    );
    let free = due_task(store, "one").await;
    let claim = claim_due(store, &except).await;
    let TaskClaim::Claimed(task) = claim else {
        panic!("other tasks are claimed: {claim:?}");
    };
    assert_eq!(task.id, free.id);
    let (claimed, _) = claim_all(store).await;
    let claimed: HashSet<_> = claimed.into_iter().map(|task| task.id).collect();
    assert_eq!(claimed, HashSet::from([held.id, busy.id]));
}

// --- The rules for the operations that operators use.

async fn operator_lists(store: &dyn TaskStore) {
    let mut expected = Vec::new();
    for owner in ["one", "two", "one", "three", "two"] {
        expected.push(created(store, new(owner)).await.id);
    }
    let mut brief = new("one");
    brief.ttl = BRIEF_LEASE;
    let brief = created(store, brief).await.id;
    sleep(AFTER_BRIEF_LEASE).await;
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
        left > LEASE / 2 && left <= LEASE,
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
    changed_task(retried.expect("the store works"))
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
            .claim(&task.id, LEASE)
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
    let claimed = store.claim(&task.id, LEASE).await.expect("the store works");
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
