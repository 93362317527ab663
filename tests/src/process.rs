//! A server in a process of its own, over its standard input and output.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::client::PATIENCE;
use crate::{Client, Revision};

/// A server in a process of its own; it is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    /// The process.
    pub child: Child,
    /// Its client.
    pub client: Client,
}

impl Process {
    /// Starts an example and shakes hands.
    pub async fn start(name: &str, arguments: &[&str], revision: Revision) -> Self {
        let mut process = Self::raw(name, arguments, revision);
        process.client = process.client.connect().await;
        process
    }

    /// Starts an example.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn raw(name: &str, arguments: &[&str], revision: Revision) -> Self {
        Self::with_environment(name, arguments, &[], revision)
    }

    /// Starts an example with these variables in its environment.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn with_environment(
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
        revision: Revision,
    ) -> Self {
        Self::spawn(&binary(name), arguments, variables, revision)
    }

    /// Starts a program with these variables in its environment.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn spawn(
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
        revision: Revision,
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
        let client = Client::new(output.expect("a pipe"), input.expect("a pipe"), revision);
        Self { child, client }
    }

    /// Awaits its end.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub async fn ended(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait())
            .await
            .expect("the process ends in time")
            .expect("the process can be awaited")
    }
}

/// The path of an example program, built if need be.
///
/// # Panics
///
/// If it cannot be built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let status = std::process::Command::new(cargo)
            .args(["build", "--quiet", "--package", "examples", "--bins"])
            .arg("--all-features")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the examples do not build");
        // A test binary stands in `target/<profile>/deps`; the examples are built in `target/debug`.
        let own = std::env::current_exe().expect("a test knows its path");
        let target = own
            .ancestors()
            .nth(3)
            .expect("a test stands in target/<profile>/deps");
        target.join("debug")
    });
    directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
