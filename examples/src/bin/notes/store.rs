//! The database of notes.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_runtime::data;
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

/// A note.
#[data(output)]
pub(crate) struct Note {
    /// The number of the note, which is never reused
    pub(crate) id: i64,
    /// The topic, in a word or two
    pub(crate) topic: String,
    /// The text of the note
    pub(crate) text: String,
}

impl Note {
    /// Returns the URI at which clients read the note.
    pub(crate) fn uri(&self) -> String {
        format!("notes:///{}", self.id)
    }

    fn from_row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            topic: row.get("topic")?,
            text: row.get("text")?,
        })
    }
}

/// An open database.
pub(crate) struct Store(Mutex<Connection>);

impl Store {
    /// Opens the database, creating it if necessary.
    pub(crate) fn open(path: impl AsRef<Path>) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE IF NOT EXISTS notes (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 topic TEXT NOT NULL,
                 text TEXT NOT NULL
             );",
        )?;
        Ok(Self(Mutex::new(connection)))
    }

    pub(crate) fn add(&self, topic: &str, text: &str) -> Result<Note> {
        self.lock().query_row(
            "INSERT INTO notes (topic, text) VALUES (?1, ?2) RETURNING *",
            [topic, text],
            Note::from_row,
        )
    }

    pub(crate) fn get(&self, id: i64) -> Result<Option<Note>> {
        let sql = "SELECT * FROM notes WHERE id = ?1";
        self.lock().query_row(sql, [id], Note::from_row).optional()
    }

    /// Changes the given parts of a note; returns `None` if there is no such note.
    pub(crate) fn edit(
        &self,
        id: i64,
        topic: Option<String>,
        text: Option<String>,
    ) -> Result<Option<Note>> {
        let sql = "UPDATE notes SET topic = ifnull(?2, topic), text = ifnull(?3, text)
                   WHERE id = ?1 RETURNING *";
        self.lock()
            .query_row(sql, (id, topic, text), Note::from_row)
            .optional()
    }

    /// Deletes a note; returns `false` if there is no such note.
    pub(crate) fn delete(&self, id: i64) -> Result<bool> {
        let sql = "DELETE FROM notes WHERE id = ?1";
        Ok(self.lock().execute(sql, [id])? > 0)
    }

    /// Returns the notes that contain these words, newest first.
    pub(crate) fn search(&self, words: &str, most: u32) -> Result<Vec<Note>> {
        let sql = "SELECT * FROM notes WHERE instr(lower(topic || ' ' || text), lower(?1))
                   ORDER BY id DESC LIMIT ?2";
        self.notes(sql, params![words, most])
    }

    pub(crate) fn about(&self, topic: &str, most: u32) -> Result<Vec<Note>> {
        let sql = "SELECT * FROM notes WHERE topic = ?1 ORDER BY id LIMIT ?2";
        self.notes(sql, params![topic, most])
    }

    /// Returns the notes after this one, in order.
    pub(crate) fn after(&self, id: i64, most: u32) -> Result<Vec<Note>> {
        let sql = "SELECT * FROM notes WHERE id > ?1 ORDER BY id LIMIT ?2";
        self.notes(sql, params![id, most])
    }

    /// Returns all topics, those with the most notes first.
    pub(crate) fn topics(&self) -> Result<Vec<String>> {
        let connection = self.lock();
        let mut topics = connection
            .prepare("SELECT topic FROM notes GROUP BY topic ORDER BY count(*) DESC LIMIT 1000")?;
        let topics = topics.query_map([], |row| row.get(0))?;
        topics.collect()
    }

    fn notes(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<Vec<Note>> {
        let connection = self.lock();
        let mut notes = connection.prepare(sql)?;
        let notes = notes.query_map(parameters, Note::from_row)?;
        notes.collect()
    }

    /// Ignores poisoning: a panic elsewhere leaves the database intact, because statements run completely or not at
    /// all.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
