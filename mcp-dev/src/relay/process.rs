//! Starts a server's process, writes to it, and stops it together with all processes that it has started.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::Event;
use crate::group::Group;
use crate::lines::{MAX_MESSAGE, read_line};

/// Maximum time that a process may take to read enough of its input for the next line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time within which a process must end on its own once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// A running server, which is stopped when this value is dropped.
pub(super) struct Process {
    lines: mpsc::Sender<String>,
    stop: watch::Sender<bool>,
    gone: watch::Receiver<bool>,
}

impl Process {
    /// Starts a program and reports its lines and its exit as events of server `number`. The program inherits this
    /// process's standard error.
    pub(super) fn start(
        words: &[String],
        number: u64,
        events: &mpsc::Sender<Event>,
    ) -> Result<Self, String> {
        let [program, arguments @ ..] = words else {
            return Err("no program was specified".into());
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let (group, mut child) = Group::start(&mut command)
            .map_err(|error| format!("cannot start `{program}`: {error}"))?;
        let (lines, unwritten) = mpsc::channel(1_024);
        let (stop, stopped) = watch::channel(false);
        let (gone_end, gone) = watch::channel(false);
        let writer = child
            .stdin
            .take()
            .map(|stdin| tokio::spawn(write(stdin, unwritten)));
        let reader = child
            .stdout
            .take()
            .map(|stdout| tokio::spawn(read(stdout, number, events.clone())));
        let events = events.clone();
        tokio::spawn(async move {
            let reason = wait(&mut child, stopped, || {
                if let Some(writer) = writer {
                    // Closes the process's input.
                    writer.abort();
                }
            })
            .await;
            drop(group);
            let _ = child.kill().await;
            gone_end.send_replace(true);
            if let Some(reader) = reader {
                // The process's last lines are reported before its exit.
                let _ = tokio::time::timeout(GRACE, reader).await;
            }
            let _ = events.send(Event::ServerEnded(number, reason)).await;
        });
        Ok(Self { lines, stop, gone })
    }

    pub(super) async fn send(&self, line: String) -> Result<(), String> {
        match self.lines.send_timeout(line, PATIENCE).await {
            Ok(()) => Ok(()),
            Err(_) => Err("the server is not reading its standard input".into()),
        }
    }

    /// Requests that the process be stopped.
    pub(super) fn kill(&self) {
        self.stop.send_replace(true);
    }

    /// Stops the process and waits until it has ended.
    pub(super) async fn stop(mut self) {
        self.kill();
        let _ = self.gone.wait_for(|gone| *gone).await;
    }
}

/// Waits for a process to end, and ends it once `stopped` is `true`. Returns a description of how the process ended.
async fn wait(
    child: &mut Child,
    mut stopped: watch::Receiver<bool>,
    close: impl FnOnce(),
) -> String {
    let status = tokio::select! {
        status = child.wait() => Some(status),
        _ = stopped.wait_for(|stopped| *stopped) => None,
    };
    close();
    let status = match status {
        Some(status) => Some(status),
        None => tokio::time::timeout(GRACE, child.wait()).await.ok(),
    };
    match status {
        Some(Ok(status)) => format!("the server process ended: {status}"),
        Some(Err(error)) => format!("cannot wait for the server process: {error}"),
        None => "the server process was killed".to_owned(),
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

async fn read(stdout: ChildStdout, number: u64, events: mpsc::Sender<Event>) {
    let mut stdout = BufReader::with_capacity(64 << 10, stdout);
    let mut line = Vec::new();
    while let Ok(Some(whole)) = read_line(&mut stdout, &mut line, MAX_MESSAGE).await {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if !whole {
            let size = MAX_MESSAGE >> 20;
            eprintln!("mcp-dev: the server wrote a line longer than {size} MiB, which was skipped");
        } else if !text.trim().is_empty()
            && events
                .send(Event::Server(number, text.to_owned()))
                .await
                .is_err()
        {
            return;
        }
    }
}
