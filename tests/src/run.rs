//! Runs programs to their end, and reads what running programs write to standard error. Nothing here waits without a
//! limit, and every program ends with the value that stands for it.

use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};
use tokio::time::timeout;

use crate::client::PATIENCE;
use crate::process::Program;

/// Maximum time for which a program may run that is started for its output.
const LONGEST_RUN: Duration = Duration::from_mins(3);

/// Runs a program without input to its end. Returns what it has written.
///
/// # Panics
///
/// Panics if the program cannot be started, or does not end in time.
pub fn output(command: &mut Command) -> Output {
    finish(command.stdin(Stdio::null()), "")
}

/// Runs a program without input to its end, if it is installed. Returns what it has written.
///
/// # Panics
///
/// Panics if the program does not end in time.
pub fn output_if_installed(command: &mut Command) -> Option<Output> {
    try_finish(command.stdin(Stdio::null()), "").ok()
}

/// Runs a program with this input to its end. Returns what it has written.
///
/// # Panics
///
/// Panics if the program cannot be started, or does not end in time.
pub fn output_of(command: &mut Command, input: &str) -> Output {
    finish(command.stdin(Stdio::piped()), input)
}

/// Runs a program to its end. Returns what it has written. Its standard input is as specified in the command; if it is a
/// pipe, the program reads `input`.
///
/// # Panics
///
/// Panics if the program cannot be started, or does not end in time.
pub fn finish(command: &mut Command, input: &str) -> Output {
    try_finish(command, input).expect("the program starts")
}

fn try_finish(command: &mut Command, input: &str) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program(command.spawn()?);
    // All pipes are served at once, so that the program never waits for this one.
    let out = read(program.0.stdout.take().expect("a pipe"));
    let err = read(program.0.stderr.take().expect("a pipe"));
    if let Some(mut pipe) = program.0.stdin.take() {
        let input = input.to_owned();
        // The program may end without having read everything.
        thread::spawn(move || pipe.write_all(input.as_bytes()));
    }
    let status = ended(&mut program);
    let written = |pipe: Receiver<Vec<u8>>| {
        let all = pipe.recv_timeout(PATIENCE);
        all.unwrap_or_else(|_| panic!("another program has the output of {command:?} open"))
    };
    Ok(Output {
        status,
        stdout: written(out),
        stderr: written(err),
    })
}

fn ended(program: &mut Program) -> ExitStatus {
    let started = Instant::now();
    loop {
        let status = program.0.try_wait().expect("the process can be awaited");
        if let Some(status) = status {
            return status;
        }
        assert!(started.elapsed() < LONGEST_RUN, "the program does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Reads a pipe to its end in another thread.
fn read(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = pipe.read_to_end(&mut all);
        let _ = sender.send(all);
    });
    receiver
}

/// Sends a signal, such as `TERM`, to a process.
///
/// # Panics
///
/// Panics if there is no such process.
pub fn signal(process: u32, name: &str) {
    let sent = output(Command::new("kill").args(["-s", name, &process.to_string()]));
    assert!(sent.status.success(), "{sent:?}");
}

/// A program of which only the standard error is read. Dropping this kills the program.
#[derive(Debug)]
pub struct Logged {
    /// The process.
    pub child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Logged {
    /// Starts a program. Its standard error becomes a pipe, and its standard input and output are closed.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started.
    #[must_use]
    pub fn start(command: Command) -> Self {
        let mut child = tokio::process::Command::from(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Self { child, lines }
    }

    /// Returns the next line, or `None` after the last one.
    ///
    /// # Panics
    ///
    /// Panics if the program does not write a line in time.
    pub async fn line(&mut self) -> Option<String> {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("the program writes a line in time");
        line.expect("the line is UTF-8")
    }

    /// Returns the next line, which is the URL of an HTTP server, and its address.
    ///
    /// # Panics
    ///
    /// Panics if the next line is something else.
    pub async fn address(&mut self) -> SocketAddr {
        let url = self.line().await.expect("the program goes on");
        let host = url.strip_prefix("http://");
        let host = host.and_then(|url| url.split('/').next());
        let address = host.and_then(|host| host.parse().ok());
        address.unwrap_or_else(|| panic!("no address in `{url}`"))
    }

    /// Waits for the process to end.
    ///
    /// # Panics
    ///
    /// Panics if the process does not end in time.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let ended = ended.expect("the process ends in time");
        ended.expect("the process can be awaited")
    }
}

/// Returns an address on which nothing listens, for a program that is told where to listen. No connection gets its port as its own,
/// which the system takes from the range above, and listeners that leave the choice to the system do not get it either.
pub fn free_address() -> SocketAddr {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id().wrapping_mul(97) % 20_000;
    loop {
        let tried = u32::from(TRIED.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + (first + tried) % 20_000;
        let address = SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap_or(10_000)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}
