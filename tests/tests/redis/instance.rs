//! A group of processes that share a Redis and a folder.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, Response, send};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::support::RedisServer;

pub(crate) const LEGACY: Version = Version::V2025_11_25;
/// The build of an instance, unless a test is about the next one.
const PROGRAM: &str = env!("CARGO_BIN_EXE_instance");
const ON_A_FREE_PORT: &[&str] = &["--http", "127.0.0.1:0"];

/// A Redis, and the folder in which instances leave marks.
pub(crate) struct Group {
    pub(crate) redis: RedisServer,
}

impl Group {
    pub(crate) fn start() -> Self {
        Self {
            redis: RedisServer::start(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.redis.folder()
    }

    /// Starts an instance.
    pub(crate) async fn instance(&self) -> Instance {
        self.instance_with(&[]).await
    }

    /// Starts an instance of the next build.
    pub(crate) async fn next_instance(&self) -> Instance {
        let program = env!("CARGO_BIN_EXE_next_instance");
        Self::started(self.spawn(program, ON_A_FREE_PORT, &[])).await
    }

    /// Starts an instance with these variables in its environment.
    pub(crate) async fn instance_with(&self, variables: &[(&str, &str)]) -> Instance {
        self.instance_as(ON_A_FREE_PORT, variables).await
    }

    /// Starts an instance with these arguments, and with these variables in its environment.
    pub(crate) async fn instance_as(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Instance {
        Self::started(self.spawn(PROGRAM, arguments, variables)).await
    }

    async fn started(mut child: Child) -> Instance {
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = timeout(PATIENCE, lines.next_line()).await;
        let url = url.expect("it starts in time").unwrap().unwrap();
        let address = url.strip_prefix("http://").and_then(|url| {
            let (address, _) = url.split_once('/')?;
            address.parse().ok()
        });
        let address = address.unwrap_or_else(|| panic!("no address in `{url}`"));
        // Its later output must not find a closed pipe.
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                written.lock().unwrap().push_str(&line);
            }
        });
        Instance {
            address,
            child,
            log,
        }
    }

    /// Starts an instance that must not come up. Returns what it says.
    pub(crate) async fn refused(&self, variables: &[(&str, &str)]) -> String {
        let ended = timeout(
            PATIENCE,
            self.spawn(PROGRAM, ON_A_FREE_PORT, variables)
                .wait_with_output(),
        )
        .await;
        let ended = ended.expect("it ends in time").unwrap();
        assert!(!ended.status.success());
        String::from_utf8(ended.stderr).unwrap()
    }

    fn spawn(&self, program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
        Command::new(program)
            .args(arguments)
            .env("REDIS_URL", self.redis.url())
            .env("FOLDER", self.folder())
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the instance starts")
    }

    /// Lets the tools go on that wait.
    pub(crate) fn go_on(&self) {
        fs::write(self.folder().join("go"), "").unwrap();
    }

    /// Returns what the tools have done, in order.
    pub(crate) fn done(&self) -> Vec<String> {
        let done = fs::read_to_string(self.folder().join("done"));
        done.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// A process. It is killed when this is dropped.
pub(crate) struct Instance {
    address: SocketAddr,
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Instance {
    /// Kills it with a signal that it cannot handle.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().unwrap().try_into().unwrap());
        kill_process(id.unwrap(), signal).unwrap();
    }

    /// Returns `true` if the log contains this text.
    pub(crate) fn has_logged(&self, text: &str) -> bool {
        self.log.lock().unwrap().contains(text)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn send(&self, request: &Request) -> Response {
        send(self.address, request).await
    }

    /// Sends a request whose answer is one message.
    pub(crate) async fn message(&self, request: &Request) -> (u16, Value) {
        let mut response = self.send(request).await;
        (response.status, response.message().await)
    }

    /// Completes the handshake and returns the id of the session.
    pub(crate) async fn session(&self) -> String {
        self.session_of_client(&json!({})).await
    }

    /// Completes the handshake of a client with these capabilities, and returns the id of the session.
    pub(crate) async fn session_of_client(&self, capabilities: &Value) -> String {
        let params = json!({
            "protocolVersion": LEGACY.date(),
            "capabilities": capabilities,
            "clientInfo": {"name": "tests", "version": "1"},
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut response = self.send(&Request::bare(&hello, LEGACY)).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        response.message().await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut response = self.send(&Request::legacy(&session, &ready, LEGACY)).await;
        assert_eq!((response.status, &*response.text().await), (202, ""));
        session
    }
}

/// Creates a request in a session.
pub(crate) fn request(session: &str, method: &str, params: &Value) -> Request {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Request::legacy(session, &message, LEGACY)
}

/// Creates a request without a body in a session.
pub(crate) fn bare(verb: &'static str, session: &str) -> Request {
    Request::new(verb, LEGACY).header("Mcp-Session-Id", session)
}

/// Creates a call of the tool that says the text again.
pub(crate) fn echo(session: &str) -> Request {
    let params = json!({"name": "echo", "arguments": {"text": "still here"}});
    request(session, "tools/call", &params)
}

pub(crate) fn modern_echo() -> Request {
    Request::tool("echo", json!({"text": "still here"}))
}

/// Returns the text of a tool's result.
pub(crate) fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {message}"))
}
