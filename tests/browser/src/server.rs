//! An MCP server in a process of its own, over standard input and output.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

const PREFIX: &str = "io.modelcontextprotocol";

pub struct McpServer {
    era: Era,
    connection: Mutex<Connection>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Era {
    Legacy,
    Modern,
}

struct Connection {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

impl McpServer {
    pub async fn start(program: &str, era: Era) -> Result<Self> {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context(program.to_owned())?;
        let input = child.stdin.take().context("the server reads")?;
        let output = child.stdout.take().context("the server writes")?;
        let connection = Connection {
            _child: child,
            input,
            output: BufReader::new(output).lines(),
            last_id: 0,
        };
        let server = Self {
            era,
            connection: Mutex::new(connection),
        };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": "2024-11-05",
                "capabilities": capabilities(),
                "clientInfo": {"name": "host", "version": "1"},
            });
            let result = server
                .ask(json!({"method": "initialize", "params": params}))
                .await?;
            let declared = &result["result"]["capabilities"]["extensions"];
            anyhow::ensure!(declared[format!("{PREFIX}/ui")].is_object(), "{result}");
            let mut connection = server.connection.lock().await;
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            connection.write(&initialized).await?;
        }
        Ok(server)
    }

    /// Sends a request, and returns the response to it.
    pub async fn ask(&self, mut request: Value) -> Result<Value> {
        let mut connection = self.connection.lock().await;
        connection.last_id += 1;
        request["jsonrpc"] = "2.0".into();
        request["id"] = connection.last_id.into();
        if self.era == Era::Modern {
            request["params"]["_meta"] = json!({
                format!("{PREFIX}/protocolVersion"): "2026-07-28",
                format!("{PREFIX}/clientCapabilities"): capabilities(),
            });
        }
        connection.write(&request).await?;
        loop {
            let line = connection.output.next_line().await?;
            let message: Value = serde_json::from_str(&line.context("the server is gone")?)?;
            if message["id"] == request["id"] {
                return Ok(message);
            }
        }
    }
}

impl Connection {
    async fn write(&mut self, message: &Value) -> Result<()> {
        let line = format!("{message}\n");
        Ok(self.input.write_all(line.as_bytes()).await?)
    }
}

fn capabilities() -> Value {
    let settings = json!({"mimeTypes": ["text/html;profile=mcp-app"]});
    json!({"extensions": {format!("{PREFIX}/ui"): settings}})
}
