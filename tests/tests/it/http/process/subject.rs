//! Starts the server under test in a separate process.

use std::net::SocketAddr;
use std::process::{Command, ExitStatus};

use tests::run::Logged;

/// A server in a separate process, which is killed when this value is dropped.
pub(crate) struct Subject {
    pub(crate) address: SocketAddr,
    process: Logged,
}

impl Subject {
    /// Starts the server on a free port.
    pub(crate) async fn start() -> Self {
        Self::start_with(&["--http", "127.0.0.1:0"], &[]).await
    }

    /// Starts the server with these arguments and with these variables in its environment.
    pub(crate) async fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_subject"));
        command.args(arguments).envs(variables.iter().copied());
        let mut process = Logged::start(command);
        let address = process.address().await;
        Self { address, process }
    }

    /// Waits until the process writes this to standard error.
    pub(crate) async fn says(&mut self, text: &str) {
        while self.process.line().await.expect("it still runs") != text {}
    }

    /// Sends a signal to the process.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        tests::run::signal(self.process.child.id().expect("it runs"), name);
    }

    /// Returns `true` if the process has not exited yet.
    pub(crate) fn is_running(&mut self) -> bool {
        self.process.child.try_wait().unwrap().is_none()
    }

    /// Waits for the process to exit.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        self.process.ended().await
    }

    /// Returns the number of bytes that the process has in memory.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident(&self) -> usize {
        let path = format!("/proc/{}/status", self.process.child.id().expect("it runs"));
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kibibytes.unwrap().trim().parse::<usize>().unwrap() << 10
    }
}
