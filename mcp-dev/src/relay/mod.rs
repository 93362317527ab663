//! Relays between a host and a server so that the host's connection survives new builds and crashes of the server.
//!
//! The `dialogue` module decides where messages are sent; `process` starts and stops the server.

mod dialogue;
mod process;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Read, Write as _};
use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::sync::{mpsc, oneshot};

use crate::lines::MAX_MESSAGE;
use crate::project::{Builds, Project};
use crate::signals;
use crate::target::Target;
use dialogue::{Dialogue, OutgoingLine};
use process::Process;

/// Maximum time that a host may take to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// An event that the relay handles.
enum Event {
    /// The host wrote a line.
    Host(String),
    /// The host closed its end of the connection.
    HostLeft,
    /// The server with this number wrote a line.
    Server(u64, String),
    /// The server with this number ended.
    ServerEnded(u64, String),
    /// A program is ready to be started with these words.
    Program(Vec<String>),
    /// The build failed, so there is no new program.
    BuildFailed(String),
}

/// Relays until the host disconnects or a signal arrives.
pub(crate) async fn run(target: Target, project: Option<Project>) -> Result<()> {
    let (events, mut inbox) = mpsc::channel(64);
    let host = events.clone();
    // This uses a thread because reading from standard input cannot be interrupted.
    std::thread::spawn(move || read_host(&host));
    let (lines, written) = mpsc::channel(4);
    let (flushed, all_flushed) = oneshot::channel::<()>();
    // This also uses a thread, because otherwise a host that does not read its input would block signal handling.
    std::thread::spawn(move || {
        write_host(written);
        drop(flushed);
    });
    let building = tokio::spawn(build(target, project, events.clone()));
    let mut relay = Relay {
        dialogue: Dialogue::default(),
        program: Vec::new(),
        process: None,
        number: 0,
        events,
        host: lines,
    };
    let ended = tokio::select! {
        ended = relay.run(&mut inbox) => ended,
        () = signals::wanted_to_end() => Ok(()),
    };
    building.abort();
    let _ = building.await;
    if let Some(process) = relay.process.take() {
        process.stop().await;
    }
    drop(relay.host);
    let _ = tokio::time::timeout(LAST_LINES, all_flushed).await;
    ended
}

struct Relay {
    dialogue: Dialogue,
    /// The server's program and its arguments; empty while it is being built.
    program: Vec<String>,
    process: Option<Process>,
    /// The number of servers that have been started.
    number: u64,
    events: mpsc::Sender<Event>,
    /// Lines for the host.
    host: mpsc::Sender<String>,
}

impl Relay {
    async fn run(&mut self, inbox: &mut mpsc::Receiver<Event>) -> Result<()> {
        while let Some(event) = inbox.recv().await {
            let out = match event {
                Event::Host(line) => self.dialogue.host(&line),
                Event::HostLeft => return Ok(()),
                Event::Server(number, line) if number == self.number => self.dialogue.server(&line),
                Event::ServerEnded(number, reason) if number == self.number => {
                    eprintln!("mcp-dev: {reason}");
                    self.process = None;
                    self.dialogue.ended(&reason)
                }
                // This event was sent by an older server.
                Event::Server(..) | Event::ServerEnded(..) => continue,
                Event::Program(words) => {
                    self.program = words;
                    if let Some(process) = self.process.take() {
                        process.stop().await;
                        let reason = "the server was rebuilt during this call";
                        let out = self.dialogue.ended(reason);
                        self.write(out).await?;
                    }
                    self.start()
                }
                Event::BuildFailed(reason) => {
                    eprintln!("{reason}");
                    self.dialogue.cannot_start(&reason)
                }
            };
            self.write(out).await?;
            // A server that has died is restarted when it is next needed.
            if self.process.is_none() && !self.program.is_empty() && self.dialogue.needs_server() {
                let out = self.start();
                self.write(out).await?;
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Vec<OutgoingLine> {
        self.number += 1;
        match Process::start(&self.program, self.number, &self.events) {
            Ok(process) => {
                self.process = Some(process);
                self.dialogue.started(self.number)
            }
            Err(reason) => {
                eprintln!("mcp-dev: {reason}");
                let mut out = self.dialogue.ended(&reason);
                out.extend(self.dialogue.refuse(&reason));
                out
            }
        }
    }

    async fn write(&mut self, out: Vec<OutgoingLine>) -> Result<()> {
        for out in out {
            match out {
                OutgoingLine::Host(line) => {
                    let sent = self.host.send(line).await;
                    sent.map_err(|_| anyhow!("the host has closed the connection"))?;
                }
                OutgoingLine::Server(line) => {
                    let Some(process) = &self.process else {
                        continue;
                    };
                    if let Err(reason) = process.send(line).await {
                        // The server is stopped, and its exit is reported as usual.
                        eprintln!("mcp-dev: {reason}");
                        process.kill();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reports the program to start, and reports it again after each change to a project.
async fn build(target: Target, project: Option<Project>, events: mpsc::Sender<Event>) {
    if let Target::Command(words) = target {
        let _ = events.send(Event::Program(words)).await;
    }
    let Some(project) = project else {
        return;
    };
    let (mut builds, problem) = Builds::new(project);
    if let Some(problem) = problem {
        eprintln!("mcp-dev: {problem}");
    }
    while builds.change().await {
        let event = match builds.build().await {
            Ok(built) if built.changed => Event::Program(vec![built.program.display().to_string()]),
            Ok(_) => continue,
            Err(reason) => Event::BuildFailed(reason),
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// Writes lines to the host until either side ends.
fn write_host(mut lines: mpsc::Receiver<String>) {
    let mut stdout = std::io::stdout().lock();
    while let Some(line) = lines.blocking_recv() {
        if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            eprintln!("mcp-dev: {error}");
            return;
        }
    }
}

/// Reads lines from the host until it disconnects.
fn read_host(events: &mpsc::Sender<Event>) {
    let mut stdin = std::io::stdin().lock();
    loop {
        match read_line(&mut stdin) {
            Ok(Some(line)) if line.trim().is_empty() => {}
            Ok(Some(line)) => {
                if events.blocking_send(Event::Host(line)).is_err() {
                    return;
                }
            }
            end => {
                if let Err(error) = end {
                    eprintln!("mcp-dev: {error}");
                }
                let _ = events.blocking_send(Event::HostLeft);
                return;
            }
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_MESSAGE)?;
    if reader.take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() >= MAX_MESSAGE && !line.ends_with(b"\n") {
        return Err(anyhow!(
            "the host sent a message of more than {} MiB",
            MAX_MESSAGE >> 20
        ));
    }
    let line = String::from_utf8_lossy(&line);
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}
