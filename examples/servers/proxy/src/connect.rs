//! Connections to servers, by the client of the official SDK.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use tokio::process::Command;
use tokio::sync::Notify;

use crate::config::Target;

/// A connection.
pub type Client = RunningService<RoleClient, Listener>;

/// The way in which connections are made.
pub enum Connector {
    Target(Target),
    /// To a server in this process.
    #[cfg(test)]
    Memory(Box<dyn Fn() -> Result<tokio::io::DuplexStream, String> + Send + Sync>),
}

impl Connector {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Returns the reason, for the log and for models.
    pub async fn connect(&self, listener: Listener) -> Result<Client, String> {
        let connected = match self {
            Self::Target(Target::Command {
                program,
                arguments,
                environment,
            }) => {
                let mut command = Command::new(program);
                command.args(arguments).env_clear().envs(environment);
                let transport = TokioChildProcess::new(command)
                    .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
                listener.serve(transport).await
            }
            Self::Target(Target::Url { url, token }) => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                if let Some(token) = token {
                    config = config.auth_header(token.expose_secret());
                }
                let transport = StreamableHttpClientTransport::from_config(config);
                listener.serve(transport).await
            }
            #[cfg(test)]
            Self::Memory(connect) => listener.serve(connect()?).await,
        };
        connected.map_err(|error| error.to_string())
    }
}

/// The gateway as a client: it notes that lists have changed. It has no capabilities, so servers cannot ask it anything.
pub struct Listener(pub Arc<Notify>);

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        // Servers of all protocol versions know the handshake of this one.
        ClientConfig::new(ClientCapabilities::default(), this)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}
