//! A `redis-server` for a test, with a socket in its own folder.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_runtime_redis::{Redis, RedisOptions};
use rustix::process::{Pid, Signal, kill_process};

/// Maximum time to wait for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server that is killed, and whose folder is removed, when this value is dropped.
pub(crate) struct RedisServer {
    folder: PathBuf,
    options: Vec<String>,
    process: Option<Child>,
}

impl RedisServer {
    /// Starts a server that writes each change to its log, so that it can be killed and started again.
    pub(crate) fn start() -> Self {
        Self::with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    pub(crate) fn with(options: &[&str]) -> Self {
        Self::with_settings(options, &[])
    }

    /// Starts a Sentinel on this port, with these lines in its configuration file.
    pub(crate) fn sentinel(port: u16, settings: &[String]) -> Self {
        let port = port.to_string();
        Self::with_settings(&["--sentinel", "--port", &port], settings)
    }

    fn with_settings(options: &[&str], settings: &[String]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        // A Sentinel writes what it learns to the file.
        fs::write(folder.join("redis.conf"), settings.join("\n")).unwrap();
        let mut server = Self {
            folder,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            process: None,
        };
        server.start_again();
        server
    }

    pub(crate) fn start_again(&mut self) {
        let mut command = Command::new("redis-server");
        command.arg(self.folder.join("redis.conf"));
        command.arg("--dir").arg(&self.folder);
        command
            .args(["--port", "0", "--unixsocket"])
            .arg(self.socket());
        if !self.options.iter().any(|option| option == "--sentinel") {
            command.args(["--save", ""]);
        }
        command.args(&self.options).stdout(Stdio::null());
        let process = command.spawn();
        self.process = Some(process.expect(
            "`redis-server` has to be installed; on Debian: apt-get install redis-server. The tests are run by tests/redis/run",
        ));
        let started = Instant::now();
        while !self.answers() {
            assert!(started.elapsed() < PATIENCE, "redis-server does not start");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns `true` if the server answers and is no longer loading its data.
    fn answers(&self) -> bool {
        self.try_tell(&["PING"])
            .is_some_and(|said| said.trim() == "PONG")
    }

    fn try_tell(&self, words: &[&str]) -> Option<String> {
        // A Redis that is stopped, or that a script keeps busy, answers nobody.
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", &PATIENCE.as_secs().to_string()])
            .args(["redis-cli", "-s"])
            .arg(self.socket())
            .args(words)
            .stderr(Stdio::null());
        if let Some(at) = self
            .options
            .iter()
            .position(|option| option == "--requirepass")
        {
            command.env("REDISCLI_AUTH", &self.options[at + 1]);
        }
        let done = command.output().expect("coreutils are installed");
        assert_ne!(done.status.code(), Some(127), "`redis-cli` is installed");
        done.status
            .success()
            .then(|| String::from_utf8(done.stdout).unwrap())
    }

    /// Sends a command, and returns its reply.
    pub(crate) fn tell(&self, words: &[&str]) -> String {
        self.try_tell(words).expect("redis-server answers")
    }

    /// Waits until Redis's clock has advanced by a millisecond.
    pub(crate) fn until_next_millisecond(&self) {
        let clock = || {
            self.tell(&[
                "EVAL",
                "local t = redis.call('TIME'); return t[1] .. math.floor(t[2] / 1000)",
                "0",
            ])
        };
        let (now, started) = (clock(), Instant::now());
        while clock() == now {
            assert!(started.elapsed() < PATIENCE, "its clock stands still");
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        let _ = fs::remove_file(self.socket());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.process.as_ref().unwrap().id();
        let id = Pid::from_raw(id.try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// Returns the server's folder, which is removed with the server.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    pub(crate) async fn connect(&self) -> Redis {
        self.connect_with(RedisOptions::new()).await
    }

    pub(crate) async fn connect_with(&self, options: RedisOptions) -> Redis {
        options.connect(&self.url()).await.unwrap()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
