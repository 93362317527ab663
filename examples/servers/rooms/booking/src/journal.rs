//! A file with a line for each change.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use mcp_runtime::prelude::data;
use mcp_runtime::serde_json;

use crate::calendar::Booking;

/// A change.
#[data]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    Booked(Booking),
    Cancelled { id: u32 },
}

pub struct Journal(File);

impl Journal {
    /// Opens the journal, and returns what is in it.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Entry>)> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let text = fs::read_to_string(path)?;
        let entries = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        Ok((Self(file), entries))
    }

    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.sync_data()
    }
}
