//! Errors for the program that embeds a server.

use std::fmt;
use std::sync::Arc;

/// The error of code that the framework is given: a store, a check, a function that makes a value.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a server could not start or stopped early.
///
/// Its `Debug` output is the same as its `Display` output, because a `main` function that returns an error prints its
/// `Debug` output.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The definitions or settings are invalid. The message lists all problems.
    Configuration,
    /// Reading or writing failed.
    Io,
    /// A definition with that name or URI already exists.
    Duplicate,
    /// A value for `Server::state_with` cannot be created.
    State,
    /// A function of `Server::on_serve` failed.
    Serve,
}

impl Error {
    #[doc(hidden)]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Returns the error with its cause.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.with_shared_source(source.into().into())
    }

    /// Sets a source that is shared with other errors.
    pub(crate) fn with_shared_source(
        mut self,
        source: Arc<dyn std::error::Error + Send + Sync>,
    ) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, error.to_string()).with_source(error)
    }
}

/// Displays an error and its causes on one line. Causes that an error's message already ends with are not repeated.
pub struct Causes<'a>(pub &'a (dyn std::error::Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.0.to_string();
        f.write_str(&message)?;
        let causes = self.0.source().map(|source| Causes(source).to_string());
        match causes {
            Some(causes) if !message.ends_with(&causes) => write!(f, ": {causes}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_displayed_once() {
        let cause = || Error::new(ErrorKind::Io, "no route").with_source("unplugged");
        let plain = Error::new(ErrorKind::State, "no database").with_source(cause());
        assert_eq!(
            Causes(&plain).to_string(),
            "no database: no route: unplugged"
        );
        let message = format!("no database: {}", Causes(&cause()));
        let whole = Error::new(ErrorKind::State, message).with_source(cause());
        assert_eq!(
            Causes(&whole).to_string(),
            "no database: no route: unplugged"
        );
        let io = Error::from(std::io::Error::other("unplugged"));
        assert_eq!(Causes(&io).to_string(), "unplugged");
    }
}
