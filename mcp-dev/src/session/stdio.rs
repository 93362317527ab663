//! Starts a program that communicates over its standard input and output, reads its lines up to a maximum length, and
//! stops it together with all processes that it has started.

use std::process::Stdio;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::{MAX_MESSAGE, Session};
use crate::group::Group;
use crate::lines::read_line;
use crate::session::Era;

/// Maximum length of a standard error line that is kept.
const MAX_LINE: usize = 4 << 10;
/// Maximum time that a process may take to read enough of its input for the next line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time within which a process must end on its own once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The writing end of the connection to a process.
pub(super) struct StdioLink {
    lines: mpsc::Sender<String>,
    stop: watch::Sender<bool>,
    gone: watch::Receiver<bool>,
}

/// A process whose output is not being read yet.
pub(super) struct Process {
    group: Group,
    child: Child,
    lines: mpsc::Receiver<String>,
    stop: watch::Receiver<bool>,
    gone: watch::Sender<bool>,
}

/// Starts a program.
pub(super) fn start(words: &[String]) -> Result<(StdioLink, Process), String> {
    let [program, arguments @ ..] = words else {
        return Err("no program was specified".into());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (group, child) =
        Group::start(&mut command).map_err(|error| format!("cannot start `{program}`: {error}"))?;
    let (lines, lines_end) = mpsc::channel(64);
    let (stop, stop_end) = watch::channel(false);
    let (gone_end, gone) = watch::channel(false);
    let link = StdioLink { lines, stop, gone };
    let process = Process {
        group,
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
            Err(_) => Err("the process is not reading its standard input".into()),
        }
    }

    /// Requests that the process be stopped.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(super) async fn gone(&self) {
        let mut gone = self.gone.clone();
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

impl Process {
    /// Runs the process for a session. The session ends when the process ends.
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
        let (group, mut child) = (self.group, self.child);
        let (mut stop, gone) = (self.stop, self.gone);
        tokio::spawn(async move {
            let status = tokio::select! {
                status = child.wait() => Some(status),
                // The session has ended or was dropped.
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
            // Stops any processes that the server has left behind.
            drop(group);
            let reason = match status {
                Some(Ok(status)) => format!("the server process ended: {status}"),
                Some(Err(error)) => format!("cannot wait for the server process: {error}"),
                None => "the server process was killed".to_owned(),
            };
            let _ = child.kill().await;
            if let Some(reader) = reader {
                // The process's last lines are read before its exit is reported.
                let _ = tokio::time::timeout(Duration::from_secs(1), reader).await;
            }
            if let Some(session) = session.upgrade() {
                session.died(&reason);
            }
            gone.send_replace(true);
        });
    }
}

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
                    "a line longer than {} MiB, of which this is the beginning",
                    MAX_MESSAGE >> 20
                ),
            );
        } else if !text.trim().is_empty() {
            session.receive(text, &Value::Null).await;
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
