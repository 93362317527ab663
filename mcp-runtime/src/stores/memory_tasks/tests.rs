//! Tests that the in-memory store follows the rules for stores and its own bounds.

use super::*;
use crate::stores::task_contract::check_task_store;

fn created(creation: TaskCreation) -> Option<StoredTask> {
    match creation {
        TaskCreation::Created(task) => Some(task),
        _ => None,
    }
}

fn changed(changed: TaskChanged) -> StoredTask {
    match changed {
        TaskChanged::Changed(task) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn it_keeps_the_rules_of_stores() {
    check_task_store(&MemoryTaskStore::default()).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_bounded_and_makes_room_when_tasks_expire() {
    let store = MemoryTaskStore::new(TaskLimits {
        max_tasks: 3,
        max_per_caller: 2,
        ..TaskLimits::default()
    });
    let create = |owner: &str| store.create_now(&NewTask::new(owner, "tool")).unwrap();
    assert!(created(create("a")).is_some() && created(create("a")).is_some());
    assert!(matches!(create("a"), TaskCreation::CallerFull));
    assert!(created(create("b")).is_some());
    assert!(matches!(create("c"), TaskCreation::Full));
    tokio::time::advance(Duration::from_hours(1)).await;
    assert!(created(create("c")).is_some());
    let table = store.table();
    assert_eq!((table.tasks.len(), table.by_owner.len()), (1, 1));
    assert_eq!((table.by_expiry.len(), table.bytes), (1, "ctool".len()));
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_all_tasks_are_counted() {
    let store = MemoryTaskStore::new(TaskLimits {
        max_bytes: 105,
        ..TaskLimits::default()
    });
    let task = created(store.create_now(&NewTask::new("a", "tool")).unwrap()).unwrap();
    let state = |bytes: usize| TaskChange::to(TaskStatus::Working).state("x".repeat(bytes));
    let task = changed(store.change_now(&task.id, 1, state(60)));
    let full = store.change_now(&task.id, task.version, state(101));
    assert!(matches!(full, TaskChanged::Full));
    let step = store.begin_step(&task.id, 1, "step", ClaimId::random());
    let step = step.await.unwrap();
    assert_eq!(step, OnceClaim::Granted);
    let result = "r".repeat(40);
    let completed = store.complete_step(&task.id, 1, "step", &result).await;
    assert!(completed.is_err());
    let completed = store.complete_step(&task.id, 1, "step", "1").await;
    completed.unwrap();
    assert_eq!(store.table().bytes, 70);
    // A task that has ended no longer needs its steps.
    let done = TaskChange::to(TaskStatus::Cancelled);
    changed(store.change_now(&task.id, task.version, done));
    assert_eq!(store.table().bytes, 65);
    assert_eq!(store.delete_all("a").await.unwrap(), 1);
    assert_eq!(store.table().bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn the_call_of_a_task_counts_until_the_task_is_final() {
    let store = MemoryTaskStore::new(TaskLimits {
        max_bytes: 250,
        max_bytes_per_caller: 150,
        ..TaskLimits::default()
    });
    let create = |owner: &str| {
        let mut task = NewTask::new(owner, "tool");
        task.call_bytes = 100;
        store.create_now(&task).unwrap()
    };
    let task = created(create("a")).unwrap();
    assert!(matches!(create("a"), TaskCreation::CallerFull));
    assert!(created(create("b")).is_some());
    assert!(matches!(create("c"), TaskCreation::Full));
    changed(store.change_now(&task.id, 1, TaskChange::to(TaskStatus::Cancelled)));
    assert_eq!(store.table().bytes, 110);
    assert!(created(create("c")).is_some());
}
