//! Starts the server under test in a separate process.

use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};

use tests::client::PATIENCE;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// A server in a separate process, which is killed when this value is dropped.
pub(crate) struct Subject {
    pub(crate) address: SocketAddr,
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Subject {
    /// Starts the server on a free port.
    pub(crate) async fn start() -> Self {
        Self::start_with(&["--http", "127.0.0.1:0"], &[]).await
    }

    /// Starts the server with these arguments and with these variables in its environment.
    pub(crate) async fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_subject"))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let stderr = child.stderr.take().expect("a pipe");
        let mut lines = BufReader::new(stderr).lines();
        let url = next(&mut lines).await;
        let address = url.strip_prefix("http://").and_then(|url| {
            let (address, _) = url.split_once('/')?;
            address.parse().ok()
        });
        let address = address.unwrap_or_else(|| panic!("no address in `{url}`"));
        Self {
            address,
            child,
            lines,
        }
    }

    /// Waits until the process writes this to standard error.
    pub(crate) async fn says(&mut self, text: &str) {
        while next(&mut self.lines).await != text {}
    }

    /// Sends a signal to the process.
    #[cfg(unix)]
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().await;
        assert!(sent.unwrap().success());
    }

    /// Returns `true` if the process has not exited yet.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the process to exit.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        ended.expect("the process ends in time").unwrap()
    }

    /// Returns the number of bytes that the process has in memory.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident(&self) -> usize {
        let path = format!("/proc/{}/status", self.child.id().expect("it runs"));
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kibibytes.unwrap().trim().parse::<usize>().unwrap() << 10
    }
}

async fn next(lines: &mut Lines<BufReader<ChildStderr>>) -> String {
    let line = timeout(PATIENCE, lines.next_line()).await;
    line.expect("it says something in time")
        .unwrap()
        .expect("it still runs")
}
