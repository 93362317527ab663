//! What comes from a server besides answers, and how a request can fail.

use std::fmt;

use serde_json::Value;

use crate::context::{List, Progress};
use crate::jsonrpc::ErrorObject;
use crate::types::LoggingLevel;

/// A question of the server, as it was on the wire.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its parameters; an empty object for `roots/list`.
    pub params: Value,
}

impl Question {
    /// What the person reads; empty if it is not for a person.
    #[must_use]
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }
}

/// Something the server said that nobody asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// How far a call has come.
    Progress(Progress),
    /// A log message.
    #[non_exhaustive]
    Log {
        /// How severe it is.
        level: LoggingLevel,
        /// Who says so, if that has a name.
        logger: Option<String>,
        /// What is said.
        data: Value,
    },
    /// A list changed. Of resources and templates, either: the protocol does not tell them apart.
    ListChanged(List),
    /// The resource at this address changed.
    ResourceUpdated(String),
}

impl Notice {
    /// Reads a notification; nothing if it is of another kind.
    pub(super) fn read(method: &str, params: &Value) -> Option<Self> {
        let text = |name: &str| params[name].as_str().map(str::to_owned);
        Some(match method {
            "notifications/progress" => Self::Progress(Progress {
                progress: params["progress"].as_f64()?,
                total: params["total"].as_f64(),
                message: text("message"),
            }),
            "notifications/message" => Self::Log {
                level: LoggingLevel::from_wire(params["level"].as_str()?)?,
                logger: text("logger"),
                data: params["data"].clone(),
            },
            "notifications/tools/list_changed" => Self::ListChanged(List::Tools),
            "notifications/prompts/list_changed" => Self::ListChanged(List::Prompts),
            "notifications/resources/list_changed" => Self::ListChanged(List::Resources),
            "notifications/resources/updated" => Self::ResourceUpdated(text("uri")?),
            _ => return None,
        })
    }
}

/// Whoever uses the client.
pub(crate) trait Host: Send + Sync + 'static {
    /// The result to answer a question with. An error says why there is none, and fails the call.
    fn answer(&self, question: &Question) -> Result<Value, String>;

    fn notice(&self, notice: Notice);

    /// A call ended with questions, and goes on with their answers. Modern era only.
    fn round(&self) {}
}

/// Why a request came to nothing.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server says so.
    Refused(ErrorObject),
    /// A question was not answered, for this reason.
    Unanswered(String),
    /// The server has gone, or says what no server says.
    Broken(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "{} ({})", error.message, error.code),
            Self::Unanswered(reason) => f.write_str(reason),
            Self::Broken(what) => f.write_str(what),
        }
    }
}
