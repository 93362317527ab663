//! A server behind the gateway: its connection, which is made again with growing pauses, and its lists.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::connect::{Client, Connector, Listener};
use crate::definitions::{Definition, Registry};

/// The pause after a connection that did not come about, or ended. It doubles up to the maximum.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// A connection that lasted this long begins with the first pause again.
const STABLE: Duration = Duration::from_secs(10);
/// Time limits for the handshake, for reading the lists, and for the end of a program.
const HANDSHAKE: Duration = Duration::from_secs(30);
const LISTING: Duration = Duration::from_mins(1);
const ENDING: Duration = Duration::from_secs(5);

pub struct Upstream {
    pub prefix: String,
    connector: Connector,
    registry: Arc<Registry>,
    /// The connection, or the reason why there is none.
    connection: Mutex<Result<Peer<RoleClient>, String>>,
    changed: Arc<Notify>,
    lost: Notify,
}

impl Upstream {
    pub fn new(prefix: String, connector: Connector, registry: Arc<Registry>) -> Self {
        Self {
            prefix,
            connector,
            registry,
            connection: Mutex::new(Err("it has not been reached yet".to_owned())),
            changed: Arc::default(),
            lost: Notify::new(),
        }
    }

    /// Returns the connection, or the reason why there is none.
    pub fn peer(&self) -> Result<Peer<RoleClient>, String> {
        self.connection().clone()
    }

    /// Reports that a request could not be sent, so that the connection is made again.
    pub fn report_lost(&self) {
        self.lost.notify_one();
    }

    fn connection(&self) -> MutexGuard<'_, Result<Peer<RoleClient>, String>> {
        let connection = self.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects, and adds the server's definitions.
    pub async fn start(self: &Arc<Self>) -> Result<Client, String> {
        let listener = Listener(Arc::clone(&self.changed));
        let client = timeout(HANDSHAKE, self.connector.connect(listener)).await;
        let client =
            client.unwrap_or_else(|_| Err("it does not answer the handshake".to_owned()))?;
        *self.connection() = Ok(client.peer().clone());
        self.update(client.peer()).await?;
        Ok(client)
    }

    /// Keeps the connection up until the gateway stops. Definitions stay while there is none: models read why a call fails.
    pub async fn run(self: Arc<Self>, first: Option<Result<Client, String>>) {
        let mut stopping = Box::pin(self.registry.server().stopping());
        let mut pause = FIRST_PAUSE;
        let mut next = first;
        loop {
            let client = if let Some(client) = next.take() {
                client
            } else {
                tokio::select! {
                    () = &mut stopping => return,
                    client = self.start() => client,
                }
            };
            let problem = match client {
                Ok(client) => {
                    let since = Instant::now();
                    let Some(problem) = self.serve(client, stopping.as_mut()).await else {
                        return;
                    };
                    if since.elapsed() >= STABLE {
                        pause = FIRST_PAUSE;
                    }
                    problem
                }
                Err(problem) => problem,
            };
            tracing::warn!(
                server = self.prefix,
                problem,
                ?pause,
                "a server is not connected"
            );
            *self.connection() = Err(problem);
            tokio::select! {
                () = &mut stopping => return,
                () = sleep(pause) => {}
            }
            pause = MAX_PAUSE.min(pause * 2);
        }
    }

    /// Follows the lists until the connection ends. Returns the reason, or `None` if the gateway stops.
    async fn serve(
        self: &Arc<Self>,
        client: Client,
        mut stopping: Pin<&mut impl Future<Output = ()>>,
    ) -> Option<String> {
        let (peer, end) = (client.peer().clone(), client.cancellation_token());
        let mut ended = Box::pin(client.waiting());
        let problem = loop {
            tokio::select! {
                _ = &mut ended => return Some("the connection has ended".to_owned()),
                () = stopping.as_mut() => break None,
                () = self.lost.notified() => break Some("a request could not be sent".to_owned()),
                () = self.changed.notified() => if let Err(problem) = self.update(&peer).await {
                    tracing::warn!(server = self.prefix, problem, "the lists of a server are not up to date");
                },
            }
        };
        end.cancel();
        let _ = timeout(ENDING, ended).await; // a program that goes on is killed
        problem
    }

    /// Reads the lists that the server has.
    async fn update(self: &Arc<Self>, peer: &Peer<RoleClient>) -> Result<(), String> {
        let reading = async {
            let info = peer.peer_info();
            let has = info.as_ref().map(|info| &info.capabilities);
            let mut found = Vec::new();
            if has.is_some_and(|has| has.tools.is_some()) {
                let tools = peer.list_all_tools().await?;
                found.extend(tools.into_iter().map(Definition::Tool));
            }
            if has.is_some_and(|has| has.prompts.is_some()) {
                let prompts = peer.list_all_prompts().await?;
                found.extend(prompts.into_iter().map(Definition::Prompt));
            }
            if has.is_some_and(|has| has.resources.is_some()) {
                let resources = peer.list_all_resources().await?;
                found.extend(resources.into_iter().map(Definition::Resource));
            }
            Ok::<_, ServiceError>(found)
        };
        match timeout(LISTING, reading).await {
            Ok(Ok(found)) => self.registry.update(self, found),
            Ok(Err(error)) => return Err(format!("its lists cannot be read: {error}")),
            Err(_) => return Err("its lists cannot be read in time".to_owned()),
        }
        Ok(())
    }
}
