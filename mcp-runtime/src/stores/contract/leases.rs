//! The rules for leases and for due tasks.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::sleep;

use super::{LATER, LONG, SHORT, change, created, loaded, new, release};
use crate::stores::{
    ClaimExceptions, StoredTask, TaskChange, TaskClaim, TaskId, TaskStatus, TaskStore,
};

pub(super) async fn leases(store: &dyn TaskStore) {
    let claim = async |id: &TaskId| store.claim(id, LONG).await.expect("the store works");
    let renew = async |id: &TaskId, attempt| {
        store
            .renew(id, attempt, LONG)
            .await
            .expect("the store works")
    };
    let mut wanted = new("leaser");
    wanted.lease = SHORT;
    let task = created(store, wanted).await;
    assert!(claim(&task.id).await.is_none(), "the creator has the lease");
    sleep(LATER).await;
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
    let claim = store.claim_due(LONG, except).await;
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
    brief.lease = SHORT;
    let brief = created(store, brief).await;
    let held = created(store, new("other")).await;
    let (none, wait) = claim_all(store).await;
    assert!(none.is_empty(), "the creators have the leases");
    let wait = wait.expect("a lease can lapse");
    assert!(
        wait <= SHORT,
        "the next task is due when the first lease lapses"
    );
    sleep(LATER).await;
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
    release(store, &held.id, held.attempt, SHORT).await;
    let early = store.claim(&held.id, LONG).await.expect("the store works");
    assert!(
        early.is_none(),
        "a released task is due after the specified time"
    );
    assert!(claim_all(store).await.0.is_empty());
    let renewed = store.renew(&lapsed.id, lapsed.attempt, LONG).await;
    assert!(renewed.expect("the store works"));
    sleep(LATER).await;
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
    let (one, other) = tokio::join!(store.claim(&answered.id, LONG), claim_due(store, &none));
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
    let renewed = store.renew(&lapsed.id, late, LONG).await;
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
        wait.is_none_or(|wait| wait > SHORT),
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
