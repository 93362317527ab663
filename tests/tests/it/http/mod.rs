//! Tests over HTTP: servers on free ports, and clients that send bytes.

mod elicitation;
mod eras;
mod guards;
mod head;
mod headers;
mod health;
pub(crate) mod legacy_sse;
mod limits;
pub(crate) mod listener;
mod modern;
mod mounted;
mod process;
mod routes;
mod session;
mod smuggling;
pub(crate) mod stores;
mod stream;
pub(crate) mod support;
mod timeout;
mod unread_bodies;
mod upcoming;
