//! A program that speaks over its standard input and output: starting it, reading its lines within a limit, stopping it
//! and everything that it started.

use std::process::Stdio;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::{MAX_MESSAGE, Session};
use crate::session::Era;

/// Longest line of standard error that is kept.
const MAX_LINE: usize = 4 << 10;
/// Time in which a process must have read enough of its input for the next line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time in which a process may end by itself once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The side of a process that is written to.
pub(super) struct StdioLink {
    lines: mpsc::Sender<String>,
    stop: watch::Sender<bool>,
    gone: watch::Receiver<bool>,
}

/// A process whose output nobody reads yet.
pub(super) struct Process {
    child: Child,
    lines: mpsc::Receiver<String>,
    stop: watch::Receiver<bool>,
    gone: watch::Sender<bool>,
}

/// Starts a program.
pub(super) fn start(words: &[String]) -> Result<(StdioLink, Process), String> {
    let [program, arguments @ ..] = words else {
        return Err("no program is given".into());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // A group of its own, so that what a script or `npx` starts is stopped with it.
    #[cfg(unix)]
    command.process_group(0);
    let child = command
        .spawn()
        .map_err(|error| format!("cannot start `{program}`: {error}"))?;
    let (lines, lines_end) = mpsc::channel(64);
    let (stop, stop_end) = watch::channel(false);
    let (gone_end, gone) = watch::channel(false);
    let link = StdioLink { lines, stop, gone };
    let process = Process {
        child,
        lines: lines_end,
        stop: stop_end,
        gone: gone_end,
    };
    Ok((link, process))
}

impl StdioLink {
    pub(super) async fn send(&self, line: String) -> Result<(), String> {
        match self.lines.send_timeout(line, PATIENCE).await {
            Ok(()) => Ok(()),
            Err(_) => Err("the process does not read its standard input".into()),
        }
    }

    /// Has the process stopped.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(super) async fn gone(&self) {
        let mut gone = self.gone.clone();
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

impl Process {
    /// Runs the process for a session, which it ends when it ends itself.
    pub(super) fn attach(mut self, session: &Arc<Session>) {
        let writer = self
            .child
            .stdin
            .take()
            .map(|stdin| tokio::spawn(write(stdin, self.lines)));
        let stdout = self.child.stdout.take();
        let reader = stdout.map(|stdout| tokio::spawn(read(stdout, Arc::downgrade(session))));
        if let Some(stderr) = self.child.stderr.take() {
            tokio::spawn(read_errors(stderr, Arc::downgrade(session), session.era));
        }
        let session = Arc::downgrade(session);
        let (mut child, mut stop, gone) = (self.child, self.stop, self.gone);
        tokio::spawn(async move {
            let group = child.id();
            let status = tokio::select! {
                status = child.wait() => Some(status),
                // The session was ended, or dropped.
                _ = stop.wait_for(|stop| *stop) => None,
            };
            if let Some(writer) = writer {
                // Closes the process's input.
                writer.abort();
            }
            let status = match status {
                Some(status) => Some(status),
                None => tokio::time::timeout(GRACE, child.wait()).await.ok(),
            };
            // Whatever the process has left behind.
            kill_group(group);
            let reason = match status {
                Some(Ok(status)) => format!("the server's process ended: {status}"),
                Some(Err(error)) => format!("the server's process cannot be waited for: {error}"),
                None => "the server's process was killed".to_owned(),
            };
            let _ = child.kill().await;
            if let Some(reader) = reader {
                // What it wrote last is read first.
                let _ = tokio::time::timeout(Duration::from_secs(1), reader).await;
            }
            if let Some(session) = session.upgrade() {
                session.died(&reason);
            }
            gone.send_replace(true);
        });
    }
}

#[cfg(unix)]
fn kill_group(group: Option<u32>) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = group
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    if let Some(group) = group {
        // It fails if there is no such process any more.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: Option<u32>) {}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read(stdout: ChildStdout, session: Weak<Session>) {
    let mut stdout = BufReader::with_capacity(64 << 10, stdout);
    let mut line = Vec::new();
    loop {
        let Ok(Some(whole)) = read_line(&mut stdout, &mut line, MAX_MESSAGE).await else {
            return;
        };
        let Some(session) = session.upgrade() else {
            return;
        };
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if !whole {
            let shown: String = text.chars().take(1_000).collect();
            session.stray(
                &shown,
                &format!(
                    "a line of more than {} MiB; this is its beginning",
                    MAX_MESSAGE >> 20
                ),
            );
        } else if !text.trim().is_empty() {
            session.receive(text, &Value::Null);
        }
    }
}

async fn read_errors(stderr: ChildStderr, session: Weak<Session>, era: Era) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(Some(_)) = read_line(&mut stderr, &mut line, MAX_LINE).await {
        let Some(session) = session.upgrade() else {
            return;
        };
        session
            .hub
            .line(era, String::from_utf8_lossy(&line).trim_end());
    }
}

/// Reads a line of at most `max` bytes. `None`: the end; `false`: the line is longer, and its rest was skipped.
async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    max: usize,
) -> std::io::Result<Option<bool>> {
    line.clear();
    line.shrink_to(1 << 20);
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    if (&mut *reader).take(limit).read_until(b'\n', line).await? == 0 {
        return Ok(None);
    }
    if line.len() < max || line.ends_with(b"\n") {
        return Ok(Some(true));
    }
    loop {
        let rest = reader.fill_buf().await?;
        let newline = rest.iter().position(|byte| *byte == b'\n');
        let (skipped, end) = (newline.map_or(rest.len(), |at| at + 1), rest.is_empty());
        reader.consume(skipped);
        if end || newline.is_some() {
            return Ok(Some(false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped() {
        let mut reader = BufReader::with_capacity(4, &b"12345678901234\nabc\nrest"[..]);
        let mut line = Vec::new();
        assert_eq!(
            read_line(&mut reader, &mut line, 10).await.unwrap(),
            Some(false)
        );
        assert_eq!(line, b"1234567890");
        assert_eq!(
            read_line(&mut reader, &mut line, 10).await.unwrap(),
            Some(true)
        );
        assert_eq!(line, b"abc\n");
        assert_eq!(
            read_line(&mut reader, &mut line, 10).await.unwrap(),
            Some(true)
        );
        assert_eq!(line, b"rest");
        assert_eq!(read_line(&mut reader, &mut line, 10).await.unwrap(), None);
    }
}
