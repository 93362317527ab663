//! Messages other than responses that a server sends, and the reasons why a request can fail.

use std::fmt;

use serde_json::Value;

use crate::context::{Capability, Progress};
#[cfg(feature = "cli")]
use crate::extension::tasks;
use crate::jsonrpc::ErrorObject;
use crate::types::LoggingLevel;

/// A question from the server, exactly as sent on the wire.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters, or an empty object for `roots/list`.
    pub params: Value,
}

impl Question {
    /// Returns the text to show to the user, or an empty string if the question is not meant for a user.
    #[must_use]
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }
}

/// A notification from the server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notification {
    /// A progress report from a call.
    Progress(Progress),
    /// A log message.
    #[non_exhaustive]
    Log {
        /// The severity.
        level: LoggingLevel,
        /// The name of the logger, if it has one.
        logger: Option<String>,
        /// The message.
        data: Value,
    },
    /// A list changed. The protocol does not distinguish resources from resource templates.
    ListChanged(Capability),
    /// The resource with this URI changed.
    ResourceUpdated(String),
}

impl Notification {
    /// Parses a notification. Returns `None` if this type cannot represent it.
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
            "notifications/tools/list_changed" => Self::ListChanged(Capability::Tools),
            "notifications/prompts/list_changed" => Self::ListChanged(Capability::Prompts),
            "notifications/resources/list_changed" => Self::ListChanged(Capability::Resources),
            "notifications/resources/updated" => Self::ResourceUpdated(text("uri")?),
            _ => return None,
        })
    }
}

/// A client's user, who answers questions and receives notifications.
pub(crate) trait ClientHost: Send + Sync + 'static {
    /// Returns the result that answers a question. If this returns an error, the call fails; the error states why the
    /// question was not answered.
    fn answer_question(&self, question: &Question) -> Result<Value, String>;

    fn handle_notification(&self, notification: Notification);

    /// Called when a call has returned questions, before they are answered. Not called in legacy protocol versions.
    fn begin_round(&self) {}

    /// Returns `true` if [`answer`](Self::answer) may block for a long time because it waits for a person.
    fn blocks(&self) -> bool {
        false
    }
}

/// The reason why a request failed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server answered with an error.
    Refused(ErrorObject),
    /// A question was not answered, for the given reason.
    Unanswered(String),
    /// The server closed the connection or sent invalid data.
    Broken(&'static str),
}

#[cfg(feature = "cli")]
impl Failure {
    /// Returns `true` if the server refused the call because its tool runs only as a task.
    pub(crate) fn requires_task(&self) -> bool {
        let Self::Refused(error) = self else {
            return false;
        };
        error.data.as_ref().is_some_and(|data| {
            data["taskSupport"] == "required"
                || data["requiredCapabilities"]["extensions"][tasks::ID].is_object()
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => {
                write!(f, "{} ({}", error.message, error.code)?;
                // The log has the cause of an internal error under this reference.
                let data = error.data.as_ref();
                if let Some(reference) = data.and_then(|data| data["reference"].as_str()) {
                    write!(f, ", reference {reference}")?;
                }
                f.write_str(")")
            }
            Self::Unanswered(reason) => f.write_str(reason),
            Self::Broken(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_displayed_with_its_reference() {
        let error = ErrorObject::internal("internal error");
        assert_eq!(
            Failure::Refused(error.clone()).to_string(),
            "internal error (-32603)"
        );
        let error = error.with_data(serde_json::json!({"reference": "00ff"}));
        assert_eq!(
            Failure::Refused(error).to_string(),
            "internal error (-32603, reference 00ff)"
        );
    }
}
