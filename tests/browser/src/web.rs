//! The web server of the host: its pages, and a way to the MCP servers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::server::McpServer;

const HOST: &str = include_str!("host.html");
const SANDBOX: &str = include_str!("sandbox.html");

/// State that all requests share.
#[derive(Default)]
pub struct Web {
    /// The MCP servers by name.
    pub servers: HashMap<String, McpServer>,
    /// Number of requests for `/reached`.
    pub reached: AtomicUsize,
    /// Mistakes of this program, which end the tests.
    pub mistakes: Mutex<Vec<String>>,
}

/// Answers requests at both addresses of this machine until the program ends.
pub async fn serve(listener: TcpListener, web: Arc<Web>) {
    while let Ok((stream, _)) = listener.accept().await {
        let web = Arc::clone(&web);
        tokio::spawn(async move {
            if let Err(error) = answer(stream, &web).await {
                web.mistakes.lock().unwrap().push(format!("{error:#}"));
            }
        });
    }
}

async fn answer(stream: TcpStream, web: &Web) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(());
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse()?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let path = first.split(' ').nth(1).context("a request has a path")?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (kind, header, text) = match path {
        "/host" => ("text/html", String::new(), HOST.to_owned()),
        "/sandbox" => {
            let policy = decoded(query.strip_prefix("csp=").unwrap_or_default());
            let header = format!("Content-Security-Policy: {policy}\r\n");
            ("text/html", header, SANDBOX.to_owned())
        }
        "/reached" => {
            web.reached.fetch_add(1, Ordering::Relaxed);
            let header = "Access-Control-Allow-Origin: *\r\n".to_owned();
            ("text/plain", header, "reached".to_owned())
        }
        _ => match path
            .strip_prefix("/mcp/")
            .and_then(|name| web.servers.get(name))
        {
            Some(server) => {
                let request = serde_json::from_slice(&body)?;
                (
                    "application/json",
                    String::new(),
                    server.ask(request).await?.to_string(),
                )
            }
            None => ("text/plain", String::new(), String::new()),
        },
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{header}Content-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await.ok();
    Ok(())
}

/// Decodes a value of a query.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
