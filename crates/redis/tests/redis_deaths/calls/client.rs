//! A client that sends a call to a process, over standard input and output.

use std::path::Path;
use std::process::Stdio;

use mcp_runtime::serde_json::{Value, from_str, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::calls::{CALLS, Scenario};
use crate::run::Failure;
use crate::server::{DEATH, SEAMS};
use crate::store;
use crate::support::PATIENCE;

/// The output of a process after a request.
pub(crate) enum Reply {
    /// The process has died before it answered.
    Died,
    /// The call has a question. Contains the state for the next round.
    Asked(Value),
    /// The call has ended with this text.
    Ended { text: String, is_error: bool },
}

/// A process, which is killed when dropped.
pub(crate) struct Server {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Server {
    pub(crate) fn start(folder: &Path, log: &str, death: Option<&String>) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env("FOLDER", folder).env(CALLS, "").env(SEAMS, log);
        command.envs(store::variables()).kill_on_drop(true);
        if let Some(death) = death {
            command.env(DEATH, death);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = child.stdout.take().ok_or("no standard output")?;
        Ok(Self {
            _child: child,
            input,
            output: BufReader::new(output).lines(),
        })
    }

    /// Makes a round of the scenario's call, with the state of the previous round, if any.
    pub(crate) async fn call(
        &mut self,
        scenario: &Scenario,
        state: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let mut params = json!({"name": scenario.tool, "arguments": {}});
        if scenario.has_key {
            params["_meta"]["mcp-runtime/idempotencyKey"] = "order-1".into();
        }
        if scenario.is_modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = client();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities();
            if let Some(state) = state {
                params["requestState"] = state.clone();
                params["inputResponses"] = json!({"sure": accepted()});
            }
        } else {
            let hello = json!({"protocolVersion": "2025-11-25", "clientInfo": client(), "capabilities": capabilities()});
            self.send(&json!({"id": 0, "method": "initialize", "params": hello}))
                .await;
            self.send(&json!({"method": "notifications/initialized"}))
                .await;
        }
        self.send(&json!({"id": 1, "method": "tools/call", "params": params}))
            .await;
        while let Some(message) = self.receive().await? {
            if message["method"] == "elicitation/create" {
                self.send(&json!({"id": message["id"], "result": accepted()}))
                    .await;
            } else if message["id"] == 1 {
                return Ok(reply(&message));
            }
        }
        Ok(Reply::Died)
    }

    /// Sends a message. A process that has died is detected by its output.
    async fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        let _ = self
            .input
            .write_all(format!("{message}\n").as_bytes())
            .await;
    }

    async fn receive(&mut self) -> Result<Option<Value>, Failure> {
        let line = timeout(PATIENCE, self.output.next_line()).await;
        let line = line.map_err(|_| "the process neither answers nor dies")??;
        Ok(line.map(|line| from_str(&line)).transpose()?)
    }
}

fn reply(message: &Value) -> Reply {
    let result = &message["result"];
    if result["resultType"] == "input_required" {
        return Reply::Asked(result["requestState"].clone());
    }
    // A call that is refused has an error instead of a result.
    let text = result["content"][0]["text"].as_str();
    let text = text.map_or_else(|| message["error"].to_string(), str::to_owned);
    let is_error = result.is_null() || result["isError"] == true;
    Reply::Ended { text, is_error }
}

fn client() -> Value {
    json!({"name": "driver", "version": "1"})
}

fn capabilities() -> Value {
    json!({"elicitation": {}})
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"sure": true}})
}
