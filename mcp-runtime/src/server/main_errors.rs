//! The error of a program's `main`, printed as people read it.

use std::error::Error;
use std::io;
use std::io::Write as _;

/// What `main` returned.
///
/// Three traits have a method of the same name. The compiler takes the one whose type needs the fewest steps of
/// dereferencing and fits, so errors that can be read are printed in that form, and `main` itself returns all others.
pub struct MainOutcome<'a, T>(pub(crate) &'a T);

/// For errors.
pub trait MainError {
    /// Exits if `main` returned an error.
    fn exit_on_error(&self);
}

/// For boxed errors and strings.
pub trait MainBoxedError {
    /// Exits if `main` returned an error.
    fn exit_on_error(&self);
}

/// For everything else.
pub trait MainOther {
    /// Does nothing.
    fn exit_on_error(&self);
}

impl<T, E: Error + 'static> MainError for &&MainOutcome<'_, Result<T, E>> {
    fn exit_on_error(&self) {
        exit_on(self.0.as_ref().err().map(|error| with_causes(error)));
    }
}

impl<T> MainBoxedError for &MainOutcome<'_, Result<T, Box<dyn Error>>> {
    fn exit_on_error(&self) {
        exit_on(self.0.as_ref().err().map(|error| with_causes(&**error)));
    }
}

impl<T> MainBoxedError for &MainOutcome<'_, Result<T, Box<dyn Error + Send + Sync>>> {
    fn exit_on_error(&self) {
        exit_on(self.0.as_ref().err().map(|error| with_causes(&**error)));
    }
}

impl<T> MainBoxedError for &MainOutcome<'_, Result<T, String>> {
    fn exit_on_error(&self) {
        exit_on(self.0.as_ref().err().cloned());
    }
}

impl<T> MainBoxedError for &MainOutcome<'_, Result<T, &str>> {
    fn exit_on_error(&self) {
        exit_on(self.0.as_ref().err().map(|text| (*text).to_owned()));
    }
}

impl<T> MainOther for MainOutcome<'_, T> {
    fn exit_on_error(&self) {}
}

/// Prints the error, if there is one, and exits with status 1.
fn exit_on(error: Option<String>) {
    if let Some(text) = error {
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "Error: {text}");
        std::process::exit(1);
    }
}

/// Returns the message of an error, with those of its causes. Causes that a message already ends with are left out.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !text.ends_with(&message) {
            text.push_str(": caused by ");
            text.push_str(&message);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorKind;

    use super::*;

    #[test]
    fn causes_follow_the_message_once() {
        let error = |message: &str| crate::Error::new(ErrorKind::Io, message);
        let plain = error("cannot listen").with_source(error("port 80").with_source("denied"));
        assert_eq!(
            with_causes(&plain),
            "cannot listen: caused by port 80: caused by denied"
        );
        let whole = error("cannot listen: denied").with_source("denied");
        assert_eq!(with_causes(&whole), "cannot listen: denied");
    }
}
