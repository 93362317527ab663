//! Runs a server in a separate process and talks to it over its standard input and output.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::client::PATIENCE;
use crate::{Client, Version};

/// A server in a separate process. Dropping this kills the process.
#[derive(Debug)]
pub struct Process {
    /// The process.
    pub child: Child,
    /// A client that is connected to the process.
    pub client: Client,
}

impl Process {
    /// Starts an example or a fixture and completes the handshake.
    pub async fn start(name: &str, arguments: &[&str], version: Version) -> Self {
        let mut process = Self::raw(name, arguments, version);
        process.client = process.client.connect().await;
        process
    }

    /// Starts an example or a fixture.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started.
    #[must_use]
    pub fn raw(name: &str, arguments: &[&str], version: Version) -> Self {
        Self::with_environment(name, arguments, &[], version)
    }

    /// Starts an example or a fixture with these variables in its environment.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started.
    #[must_use]
    pub fn with_environment(
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
        version: Version,
    ) -> Self {
        Self::spawn(&binary(name), arguments, variables, version)
    }

    /// Starts a program with these variables in its environment.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started.
    #[must_use]
    pub fn spawn(
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
        version: Version,
    ) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let (output, input) = (child.stdout.take(), child.stdin.take());
        let client = Client::new(output.expect("a pipe"), input.expect("a pipe"), version);
        Self { child, client }
    }

    /// Waits for the process to end.
    ///
    /// # Panics
    ///
    /// Panics if the process does not end in time.
    pub async fn ended(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait())
            .await
            .expect("the process ends in time")
            .expect("the process can be awaited")
    }
}

/// A program in a separate process, for tests that do not run on tokio. Dropping this kills the process.
#[derive(Debug)]
pub struct Program(pub std::process::Child);

impl Program {
    /// Starts a program.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started.
    #[must_use]
    pub fn start(command: &mut std::process::Command) -> Self {
        Self(command.spawn().expect("the program starts"))
    }

    /// Returns the next line that the program writes to its standard error, which must be a pipe. What it writes later
    /// is read and dropped.
    ///
    /// # Panics
    ///
    /// Panics if the program does not write a line in time.
    #[must_use]
    pub fn line(&mut self) -> String {
        let mut lines = BufReader::new(self.0.stderr.take().expect("a pipe")).lines();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            while let Some(Ok(line)) = lines.next() {
                let _ = sender.send(line);
            }
        });
        let line = receiver.recv_timeout(PATIENCE);
        line.expect("the program writes a line in time")
    }

    /// Waits for the program to end.
    ///
    /// # Panics
    ///
    /// Panics if the program does not end in time.
    pub fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("the process can be awaited") {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path to a program of the workspace, which must have been built.
///
/// Cargo builds the programs of a package before it runs the tests of that package. The tests that start programs are named
/// `programs` in each of these packages, so that all programs are built whenever all of these tests are selected.
///
/// # Panics
///
/// Panics if the program has not been built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its path");
    let deps = own.parent().and_then(Path::parent);
    let directory = deps.expect("a test stands in target/<profile>/deps");
    let program = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{name} is not built: cargo test --workspace --all-features --test programs"
    );
    program
}
