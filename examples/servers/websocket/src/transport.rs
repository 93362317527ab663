//! The transport: sockets as connections. A text frame is a line, which ends where the frame ends.

use std::io;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::{SinkExt as _, StreamExt as _};
use mcp_runtime::transport::{Connection, Transport};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{interval, timeout};

/// The number of concurrent clients.
pub const MAX_CLIENTS: usize = 1_000;
/// The size of a message in bytes.
pub const MAX_MESSAGE: usize = 4 << 20;
/// The size in bytes of what is on its way between a socket and the server, in each direction.
const BUFFER: usize = 64 << 10;
/// The time between pings, and the time without any frame after which a client counts as gone.
const PING: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(90);

/// The clients whose handshake is done.
pub struct Sockets(Receiver<DuplexStream>);

/// Hands sockets over to the transport.
#[derive(Clone)]
pub struct Handover(Sender<DuplexStream>);

pub fn sockets() -> (Sockets, Handover) {
    let (sender, receiver) = channel(16);
    (Sockets(receiver), Handover(sender))
}

impl Transport for Sockets {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let client = self.0.recv().await?;
        Some(Ok(Connection::from_stream(client)))
    }

    fn max_connections(&self) -> usize {
        MAX_CLIENTS
    }
}

impl Handover {
    /// Serves a client until it leaves or the server stops.
    pub async fn serve(self, socket: WebSocket) {
        let (client, server) = tokio::io::duplex(BUFFER);
        let (mut sink, mut stream) = socket.split();
        let code = if self.0.send(server).await.is_err() {
            close_code::AWAY // the server has stopped
        } else {
            let (lines, mut input) = tokio::io::split(client);
            // Both directions go on at the same time: a server whose results are not read reads no more requests.
            let incoming = async {
                loop {
                    match timeout(SILENCE, stream.next()).await {
                        Ok(Some(Ok(Message::Text(text)))) => {
                            // Outside of strings a line break is white space, and within them JSON has none.
                            let line = text.replace(['\n', '\r'], " ") + "\n";
                            if input.write_all(line.as_bytes()).await.is_err() {
                                return close_code::AWAY;
                            }
                        }
                        Ok(Some(Ok(Message::Binary(_)))) => return close_code::UNSUPPORTED,
                        Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                        Ok(Some(Ok(Message::Close(_))) | None) | Err(_) => {
                            return close_code::NORMAL;
                        }
                        Ok(Some(Err(_))) => return close_code::SIZE, // or the client is gone
                    }
                }
            };
            let outgoing = async {
                let mut lines = BufReader::new(lines).lines();
                let mut pings = interval(PING);
                loop {
                    let message = tokio::select! {
                        line = lines.next_line() => match line {
                            Ok(Some(line)) => Message::Text(line.into()),
                            _ => return close_code::AWAY,
                        },
                        _ = pings.tick() => Message::Ping(Vec::new().into()),
                    };
                    if sink.send(message).await.is_err() {
                        return close_code::NORMAL;
                    }
                }
            };
            tokio::select! {
                code = incoming => code,
                code = outgoing => code,
            }
        };
        let close = CloseFrame {
            code,
            reason: "".into(),
        };
        // A client that has left already does not get it, and one that does not read is not waited for.
        let closing = async {
            let _ = sink.send(Message::Close(Some(close))).await;
            while let Some(Ok(_)) = stream.next().await {}
        };
        let _ = timeout(Duration::from_secs(2), closing).await;
    }
}
