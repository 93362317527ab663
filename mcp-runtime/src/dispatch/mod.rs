//! Decides how to handle each message, runs calls, and produces change notifications, all without doing any I/O.
//!
//! [`Dispatcher::decide`] never runs user code: it answers a request immediately if it can, and otherwise returns a
//! [`PreparedCall`]. The driver of a channel starts calls, polls them, and writes their responses. User code runs only
//! inside [`PreparedCall::start`] and when a [`RunningCall`] is polled. Both catch panics in user code.

mod admission;
mod ask;
mod blocking;
mod call;
mod call_context;
mod channel;
mod decide;
mod dispatcher;
mod extension;
mod failure;
mod finish;
mod journal;
mod legacy;
mod listen;
mod located;
mod methods;
mod modern;
mod notifications;
mod origin;
mod pending;
mod prepared;
mod rates;
mod request;
#[cfg(feature = "http")]
mod resumed;
mod rounds;
pub(crate) mod seal;
mod stream;
mod target;
mod wrapped;

pub(crate) use admission::Admission;
pub(crate) use call::{CallProgress, FinishedCall, RunningCall};
pub(crate) use channel::ChannelMemory;
pub(crate) use decide::Decision;
#[cfg(feature = "http")]
pub(crate) use decide::RequestOutcome;
pub(crate) use dispatcher::{CacheHints, Dispatcher, ServerShared, Settings};
#[cfg(feature = "http")]
pub(crate) use extension::MirroredName;
#[cfg(feature = "http")]
pub(crate) use listen::ListenRequest;
#[cfg(feature = "http")]
pub(crate) use notifications::ListVersion;
pub(crate) use notifications::Wake;
#[cfg(feature = "http")]
pub(crate) use origin::{ChannelId, RequestOrigin};
pub(crate) use prepared::PreparedCall;
#[cfg(feature = "http")]
pub(crate) use resumed::{HandshakeOutcome, SessionMemory};
pub(crate) use stream::Sink;
