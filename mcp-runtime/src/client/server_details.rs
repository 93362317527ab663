//! The server's description of itself, which a client receives when it connects.

use serde_json::Value;

#[cfg(feature = "testing")]
use crate::client::message::Failure;
use crate::protocol::Era;
#[cfg(feature = "testing")]
use crate::types::Implementation;

/// The result of `initialize` or `server/discover`.
#[derive(Default)]
pub(crate) struct ServerDetails {
    /// The capabilities that the server declares.
    pub(super) capabilities: Value,
    pub(crate) instructions: Option<String>,
    /// The server's name and version, as sent.
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "only tests read it")
    )]
    implementation: Value,
}

impl ServerDetails {
    pub(super) fn from_result(era: Era, mut result: Value) -> Self {
        let implementation = match era {
            Era::Legacy => result["serverInfo"].take(),
            Era::Modern => result["_meta"]["io.modelcontextprotocol/serverInfo"].take(),
        };
        Self {
            capabilities: result["capabilities"].take(),
            instructions: result["instructions"].as_str().map(str::to_owned),
            implementation,
        }
    }

    /// Returns the server's name and version.
    #[cfg(feature = "testing")]
    pub(crate) fn implementation(&self) -> Result<Implementation, Failure> {
        serde_json::from_value(self.implementation.clone())
            .map_err(|_| Failure::Broken("the server did not send its name and version"))
    }
}
