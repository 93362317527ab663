//! A server's process between its lines: starting it, writing to it, stopping it and everything that it has started.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use super::Event;
use crate::group::Group;
use crate::lines::{MAX_MESSAGE, read_line};

/// Time in which a process must have read enough of its input for the next line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time in which a process may end by itself once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// A server that runs. It is stopped when this is dropped.
pub(super) struct Process {
    lines: mpsc::Sender<String>,
    stop: watch::Sender<bool>,
    gone: watch::Receiver<bool>,
}

impl Process {
    /// Starts a program, whose lines and end are told as events of the server `number`. Its standard error is that of this
    /// program.
    pub(super) fn start(
        words: &[String],
        number: u64,
        events: &mpsc::Sender<Event>,
    ) -> Result<Self, String> {
        let [program, arguments @ ..] = words else {
            return Err("no program is given".into());
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
                // What it wrote last is told first.
                let _ = tokio::time::timeout(GRACE, reader).await;
            }
            let _ = events.send(Event::ServerEnded(number, reason)).await;
        });
        Ok(Self { lines, stop, gone })
    }

    pub(super) async fn send(&self, line: String) -> Result<(), String> {
        match self.lines.send_timeout(line, PATIENCE).await {
            Ok(()) => Ok(()),
            Err(_) => Err("the server does not read its standard input".into()),
        }
    }

    /// Has the process stopped.
    pub(super) fn kill(&self) {
        self.stop.send_replace(true);
    }

    /// Stops the process, and returns when it is gone.
    pub(super) async fn stop(mut self) {
        self.kill();
        let _ = self.gone.wait_for(|gone| *gone).await;
    }
}

/// Waits for the end of a process, which is wanted once `stopped` is true. Returns how it ended.
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
        Some(Ok(status)) => format!("the server's process ended: {status}"),
        Some(Err(error)) => format!("the server's process cannot be waited for: {error}"),
        None => "the server's process was killed".to_owned(),
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
            eprintln!(
                "mcp-dev: the server wrote a line of more than {size} MiB, which is left out"
            );
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
