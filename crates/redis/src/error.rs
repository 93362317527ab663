//! Errors from the store, worded for the operator. The errors never contain credentials.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{ErrorKind, ServerErrorKind};

/// An error from the store. The message says what to do and, for a connection error, contains the server's address
/// without credentials.
#[derive(Clone)]
pub struct RedisError {
    text: Arc<str>,
    /// The kind of error, for metrics.
    pub(crate) kind: &'static str,
    /// `true` if the operation may have been carried out, or may yet be.
    pub(crate) is_outcome_unknown: bool,
}

impl RedisError {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::new("invalid", text)
    }

    fn new(kind: &'static str, text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            kind,
            is_outcome_unknown: false,
        }
    }

    pub(crate) fn with_unknown_outcome(self, is_outcome_unknown: bool) -> Self {
        Self {
            is_outcome_unknown,
            ..self
        }
    }

    pub(crate) fn unexpected() -> Self {
        Self::text(
            "a script returned an unexpected result; another build may be using the same name",
        )
    }

    pub(crate) fn no_answer(address: &str, limit: Duration) -> Self {
        let text = format!("Redis at {address} did not answer within {limit:?}");
        Self::new("timeout", text)
    }

    pub(crate) fn of(address: &str, cause: &redis::RedisError) -> Self {
        let (kind, advice) = match cause.kind() {
            ErrorKind::Io if cause.is_timeout() => ("timeout", "did not answer"),
            ErrorKind::Io => ("unreachable", "cannot be reached"),
            ErrorKind::AuthenticationFailed => ("denied", "rejects the user name or password"),
            ErrorKind::RESP3NotSupported => ("too_old", "is too old: 6.2 or later is required"),
            ErrorKind::Server(ServerErrorKind::ReadOnly) => (
                "read_only",
                "is read-only: it is a replica, or another instance is replacing it",
            ),
            ErrorKind::Server(ServerErrorKind::NoPerm) => {
                let advice = "denies its user permission; the user needs the commands for scripts, hashes, sorted sets, streams and channels";
                ("denied", advice)
            }
            ErrorKind::Server(ServerErrorKind::BusyLoading) => {
                ("loading", "is still loading its data")
            }
            _ => match cause.code() {
                Some("OOM") => ("full", "is full: it has reached `maxmemory`"),
                Some("MISCONF") => (
                    "no_writes",
                    "accepts no writes, because it cannot save to its disk",
                ),
                Some("WRONGPASS" | "NOAUTH") => ("denied", "rejects the user name or password"),
                _ => ("error", "failed"),
            },
        };
        // The library's messages for these errors can contain the address exactly as it was given.
        let said = match cause.kind() {
            ErrorKind::InvalidClientConfig | ErrorKind::AuthenticationFailed => String::new(),
            _ => format!(" ({cause})"),
        };
        Self::new(kind, format!("Redis at {address} {advice}{said}"))
    }
}

impl fmt::Display for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Like `Display`, because this is how a `main` function reports the error that it returns.
impl fmt::Debug for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for RedisError {}

/// For a `main` function that connects to Redis and runs a server.
impl From<RedisError> for mcp_core::error::Error {
    fn from(error: RedisError) -> Self {
        std::io::Error::other(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_main_returns_reads_like_a_sentence() {
        let error = RedisError::no_answer("redis://127.0.0.1", Duration::from_secs(2));
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
