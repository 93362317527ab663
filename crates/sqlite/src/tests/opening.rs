//! Tests for files that cannot be opened, and for files from earlier versions.

use super::*;

fn refusal(path: &Path) -> String {
    Sqlite::open(path).unwrap_err().to_string()
}

#[test]
fn a_file_of_another_program_is_refused_and_unchanged() {
    let folder = Folder::new();
    let file = folder.file();
    let text = "this is not a database, but a text of more than a hundred characters, which SQLite reads as a header";
    fs::write(&file, text.repeat(20)).unwrap();
    let refused = refusal(&file);
    assert!(
        refused.contains("is not an SQLite database") && refused.contains("state.db"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text.repeat(20));
    fs::remove_file(&file).unwrap();
    let foreign = Connection::open(&file).unwrap();
    foreign.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(foreign);
    let before = fs::read(&file).unwrap();
    assert!(refusal(&file).contains("belongs to another program"));
    assert_eq!(fs::read(&file).unwrap(), before);
    let missing = refusal(&folder.0.join("none").join("state.db"));
    assert!(missing.contains("its folder must exist"), "{missing}");
    let refused = refusal(&folder.0);
    assert!(refused.contains("cannot be opened"), "{refused}");
}

#[test]
fn a_file_of_another_version_is_refused() {
    for (version, expected) in [
        (crate::schema::VERSION + 1, "a newer version"),
        (0, "move the file away"),
    ] {
        let folder = Folder::new();
        drop(Sqlite::open(folder.file()).unwrap());
        let newer = Connection::open(folder.file()).unwrap();
        newer
            .execute_batch(&format!("PRAGMA user_version = {version}"))
            .unwrap();
        drop(newer);
        let refused = refusal(&folder.file());
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn a_file_without_an_expected_part_of_its_schema_is_refused() {
    for (change, missing) in [
        ("DROP TABLE steps", "the table `steps`"),
        ("DROP TABLE once", "the table `once`"),
        ("DROP TRIGGER task_added", "the trigger `task_added`"),
        ("DROP INDEX tasks_by_due", "the index `tasks_by_due`"),
        (
            "ALTER TABLE results DROP COLUMN about",
            "the column `about` of the table `results`",
        ),
    ] {
        let folder = Folder::new();
        drop(Sqlite::open(folder.file()).unwrap());
        let file = Connection::open(folder.file()).unwrap();
        file.execute_batch(change).unwrap();
        drop(file);
        let refused = refusal(&folder.file());
        assert!(refused.contains(missing), "{refused}");
        assert!(refused.contains("state.db"), "{refused}");
    }
}

#[test]
fn an_error_that_main_returns_reads_like_a_sentence() {
    let folder = Folder::new();
    let error = Sqlite::open(&folder.0).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    create(&store, NewTask::new("a", "t")).await;
    let flushed = store.0.writer.read(|db| {
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    assert_eq!(flushed.await.unwrap(), 0);
    let mut bytes = fs::read(folder.file()).unwrap();
    let damaged = folder.0.join("damaged.db");
    bytes[4096 * 2..4096 * 5].fill(0xAB);
    fs::write(&damaged, bytes).unwrap();
    let refused = refusal(&damaged);
    assert!(refused.contains("damaged"), "{refused}");
}

#[test]
fn a_file_of_the_first_version_gets_the_tables_of_later_ones() {
    let folder = Folder::new();
    let first = Connection::open(folder.file()).unwrap();
    let mark = "PRAGMA application_id = 0x6d637074; PRAGMA user_version = 1";
    first
        .execute_batch(&format!("{}; {mark}", include_str!("../schema.sql")))
        .unwrap();
    drop(first);
    for _ in 0..2 {
        drop(Sqlite::open(folder.file()).unwrap());
        let now = Connection::open(folder.file()).unwrap();
        let sessions: i64 = now
            .query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sessions, 0);
        // The key of the first opening is kept.
        let keys: i64 = now
            .query_row("SELECT count(*) FROM sealing_keys", [], |row| row.get(0))
            .unwrap();
        assert_eq!(keys, 1);
    }
}

#[test]
fn a_place_without_a_write_ahead_log_is_refused() {
    let refused = refusal(Path::new(":memory:"));
    let _ = fs::remove_file(":memory:");
    assert!(
        refused.contains("choose a file on a local disk"),
        "{refused}"
    );
}

#[test]
fn a_sealing_key_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    drop(Sqlite::open(folder.file()).unwrap());
    let file = Connection::open(folder.file()).unwrap();
    let damage = "UPDATE sealing_keys SET key = 'short'";
    file.execute_batch(damage).unwrap();
    drop(file);
    let refused = refusal(&folder.file());
    assert!(refused.contains("a row that is not a key"), "{refused}");
    let without = SqliteOptions::new().sealing_keys(false);
    drop(without.open(folder.file()).unwrap());
}
