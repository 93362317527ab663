//! Recordings: files that contain the messages sent over the wire, one on each line, without secrets.
//!
//! `mask`, `schema` and `secrets` hide secrets. `read` reads a recording, `replay` and `replay_connection` replay it against the
//! current server, `compare` and `steady` find the differences, and `report` presents them. `test` turns a recording
//! into a test.

mod compare;
mod mask;
mod read;
mod replay;
mod replay_connection;
mod report;
mod schema;
mod secrets;
mod steady;
mod test;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::record::Entry;
use crate::target::Target;
use mask::RecordingMasker;
pub(crate) use replay::{Replay, as_test, play, replay};
pub(crate) use report::Report;

/// The version of the file format.
const FORMAT: u64 = 1;
/// Maximum size of a recording.
const MAX_BYTES: usize = 64 << 20;
/// Maximum number of file names to try in order to find an unused name.
const MAX_NAMES: u32 = 10_000;

/// Writes a recording.
pub(crate) struct Recorder {
    path: PathBuf,
    file: File,
    masker: RecordingMasker,
    bytes: usize,
    messages: u64,
    /// The reason why the recording ended on its own.
    failure: Option<String>,
}

impl Recorder {
    /// Creates the file. An existing file is never overwritten.
    pub(crate) fn new(path: &Path, target: Option<&Target>) -> Result<Self> {
        let file = create(path).with_context(|| format!("cannot make `{}`", path.display()))?;
        Self::begin(path.to_owned(), file, target)
    }

    /// Creates a file with an unused name in the current folder.
    pub(crate) fn with_free_name(target: Option<&Target>) -> Result<Self> {
        for number in 1..=MAX_NAMES {
            let path = PathBuf::from(format!("recording-{number}.jsonl"));
            match create(&path) {
                Ok(file) => return Self::begin(path, file, target),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot make `{}`", path.display()));
                }
            }
        }
        bail!("this folder already contains {MAX_NAMES} recordings")
    }

    fn begin(path: PathBuf, mut file: File, target: Option<&Target>) -> Result<Self> {
        writeln!(file, "{}", json!({"mcp-dev": FORMAT, "started": now()}))?;
        let mut masker = RecordingMasker::of_environment();
        if let Some(Target::Url { headers, .. }) = target {
            for value in headers.iter().filter_map(|(_, value)| value.to_str().ok()) {
                masker.learn(value);
                // The token, without its authentication scheme.
                masker.learn(value.rsplit(' ').next().unwrap_or_default());
            }
        }
        Ok(Self {
            path,
            file,
            masker,
            bytes: 0,
            messages: 0,
            failure: None,
        })
    }

    /// Hides a value from now on.
    pub(crate) fn hide(&mut self, secret: &str) {
        self.masker.learn(secret);
    }

    /// Remembers the secrets in a message that was sent before the recording started.
    pub(crate) fn learn(&mut self, entry: &Entry) {
        if let Ok(message) = serde_json::from_str(&entry.text) {
            self.masker.mask(entry.era, entry.sent, message);
        }
    }

    /// Writes a message; entries that are not messages are omitted. Returns `false` if this entry caused the recording
    /// to end on its own.
    pub(crate) fn write(&mut self, entry: &Entry) -> bool {
        if self.failure.is_some() || entry.notes.get("stray").is_some() {
            return true;
        }
        let Ok(message) = serde_json::from_str(&entry.text) else {
            return true;
        };
        let message = self.masker.mask(entry.era, entry.sent, message);
        let line = json!({"era": entry.era, "sent": entry.sent, "message": message});
        let line = format!("{line}\n");
        if self.bytes + line.len() > MAX_BYTES {
            self.failure = Some(format!("it reached the limit of {} MiB", MAX_BYTES >> 20));
        } else if let Err(error) = self.file.write_all(line.as_bytes()) {
            self.failure = Some(format!("it cannot be written: {error}"));
        } else {
            self.bytes += line.len();
            self.messages += 1;
        }
        self.failure.is_none()
    }

    /// Returns the recording's status, as sent to pages.
    pub(crate) fn status(&self, runs: bool) -> Value {
        json!({
            "file": self.path.display().to_string(),
            "runs": runs && self.failure.is_none(),
            "messages": self.messages,
            "bytes": self.bytes,
            "failure": self.failure,
        })
    }
}

/// Creates a file that only its owner can read.
fn create(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// Returns the current time in seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
