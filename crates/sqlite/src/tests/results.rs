//! Large results in the file.

use std::time::Duration;

use mcp_core::limits::Limits;
use mcp_stores::{KeptResult, ResultStore};

use super::Folder;
use crate::{Sqlite, SqliteOptions};

const LONG: Duration = Duration::from_mins(5);

#[tokio::test]
async fn a_result_outlives_the_process_that_kept_it() {
    let folder = Folder::new();
    let result = KeptResult::new("alice", "{}", "[1,2,3]");
    let store = Sqlite::open(folder.file()).unwrap();
    assert!(store.keep(result.clone(), LONG).await.unwrap());
    drop(store);
    let store = Sqlite::open(folder.file()).unwrap();
    assert_eq!(store.load(&result.id).await.unwrap(), Some(result));
}

#[tokio::test]
async fn results_are_bounded_for_one_caller_and_for_all() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| {
        (
            limits.results.max_bytes,
            limits.results.max_bytes_per_caller,
        ) = (30, 20);
    });
    let options = SqliteOptions::new().limits(limits);
    let store = options.open(folder.file()).unwrap();
    for (owner, bytes, ttl, expected) in [
        ("a", 19, LONG, true),
        ("a", 0, LONG, false),
        ("b", 10, LONG, false),
        ("b", 9, Duration::ZERO, true),
        ("b", 9, LONG, true),
    ] {
        let result = KeptResult::new(owner, "", "x".repeat(bytes));
        let kept = store.keep(result, ttl).await.unwrap();
        assert_eq!(kept, expected, "{owner} {bytes}");
    }
}
