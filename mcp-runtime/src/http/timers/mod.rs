//! Times at which something is due: the shutdown of the server, the expiry of credentials, the end of a silence.
//!
//! A timer says that it is due; the stream or connection that polls it decides the consequences.

pub(super) mod alarm;
pub(super) mod expiry;
pub(super) mod silence_timeout;
pub(super) mod stopping;
