//! Links between a client and the server that asks questions. The server is the same for all of them.

use std::io;
use std::net::SocketAddr;

use mcp_runtime::Server;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::transport::{Connection, Transport};
use tokio::net::TcpListener;
use tokio::process::Child;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::asking::{SETUP, Setup, server};
use crate::client::PATIENCE;
use crate::{Client, Process, Version, binary, bridge};

/// A link between a client and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// An in-memory stream within this process.
    Memory,
    /// The standard input and output of a separate process.
    Stdio,
    /// HTTP, with sessions in the legacy era and a separate request for each round in the modern era.
    Http,
    /// The HTTP transport of protocol version 2024-11-05, with a single event stream. Legacy era only.
    Sse,
}

impl Link {
    /// All links.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Stdio, Self::Http, Self::Sse];

    /// Returns all pairs of a link and a protocol version that it supports.
    pub fn visits(versions: &[Version]) -> impl Iterator<Item = (Self, Version)> {
        let visits = Self::ALL.into_iter().flat_map(move |link| {
            let versions = versions.iter().copied();
            versions.map(move |version| (link, version))
        });
        visits.filter(|(link, version)| *link != Self::Sse || !version.is_modern())
    }
}

/// The server that asks questions, reachable over a link. Dropping this stops it.
#[derive(Debug)]
pub struct Served {
    setup: Setup,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Memory(Hub),
    Stdio(Vec<Child>),
    Http(SocketAddr, bool, JoinHandle<()>),
}

impl Served {
    /// Starts the server.
    pub async fn start(link: Link, setup: &Setup) -> Self {
        let way = match link {
            Link::Memory => Way::Memory(Hub::serve(server(setup))),
            Link::Stdio => Way::Stdio(Vec::new()),
            Link::Http | Link::Sse => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await;
                let listener = listener.expect("there are free ports");
                let address = listener.local_addr().expect("it is bound");
                let server = server(setup).http(HttpOptions::new().legacy_sse(true));
                let serving = tokio::spawn(async move {
                    server
                        .serve_http_listener(listener)
                        .await
                        .expect("it serves");
                });
                Way::Http(address, link == Link::Sse, serving)
            }
        };
        let setup = setup.clone();
        Self { setup, way }
    }

    /// Creates a client that has not sent any messages yet. Over stdio, each client has a separate server process.
    pub fn client(&mut self, version: Version) -> Client {
        let stream = match &mut self.way {
            Way::Memory(hub) => return hub.client(version),
            Way::Stdio(children) => {
                let program = binary("asking");
                let setup = serde_json::to_string(&self.setup).expect("a setup is JSON");
                let process = Process::spawn(&program, &[], &[(SETUP, &setup)], version);
                children.push(process.child);
                return process.client;
            }
            Way::Http(address, true, _) => bridge::legacy_sse(*address, version),
            Way::Http(address, false, _) => bridge::streamable(*address, version),
        };
        let (reader, writer) = tokio::io::split(stream);
        Client::new(reader, writer, version)
    }

    /// Waits for all server processes to exit. The clients must have been closed.
    pub async fn ended(&mut self) {
        if let Way::Stdio(children) = &mut self.way {
            for child in children {
                let ended = timeout(PATIENCE, child.wait()).await;
                let status = ended.expect("it ends in time").expect("it can be awaited");
                assert!(status.success(), "{status}");
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Way::Http(_, _, serving) = &self.way {
            serving.abort();
        }
    }
}

/// A server in this process that accepts any number of clients.
#[derive(Debug)]
pub struct Hub(UnboundedSender<Connection>);

impl Hub {
    /// Starts serving. The server stops when this and all clients have been dropped.
    #[must_use]
    pub fn serve(server: Server) -> Self {
        let (clients, coming) = unbounded_channel();
        tokio::spawn(async move {
            let outcome = server.serve(Clients(coming)).await;
            outcome.expect("the server starts and ends well");
        });
        Self(clients)
    }

    /// Creates a client that has not sent any messages yet.
    #[must_use]
    pub fn client(&self, version: Version) -> Client {
        self.client_as(version, |connection| connection)
    }

    /// Creates a client that has not sent any messages yet, using `who` to modify the server's side of the connection.
    #[must_use]
    pub fn client_as(
        &self,
        version: Version,
        who: impl FnOnce(Connection) -> Connection,
    ) -> Client {
        let (client, server) = tokio::io::duplex(64 << 10);
        let connection = who(Connection::from_stream(server));
        self.0.send(connection).expect("the server is still there");
        let (reader, writer) = tokio::io::split(client);
        Client::new(reader, writer, version)
    }
}

struct Clients(UnboundedReceiver<Connection>);

impl Transport for Clients {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        self.0.recv().await.map(Ok)
    }
}
