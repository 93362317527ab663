//! Timers for server shutdown, the expiry of credentials, silent calls, and operations of stores.
//!
//! A timer only reports that it is due; the stream or connection that polls it decides how to react.

pub(super) mod alarm;
pub(super) mod expiry;
pub(super) mod running_timeout;
pub(super) mod shutdown;
pub(super) mod silence_timeout;
