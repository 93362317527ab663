//! Decides how to handle each message, runs calls, and produces change notifications, all without doing any I/O.
//!
//! [`Dispatcher::decide`] never runs user code: it answers a request immediately if possible, and otherwise returns a
//! [`PreparedCall`]. The owner of a call, which is a channel, a session or a response, runs it with the functions in
//! `engine` and keeps it in a [`CallTable`]. User code runs only inside [`PreparedCall::run`] and
//! [`RunningCall::poll_response`], which append the response to the owner's buffer and catch all panics.

mod admission;
mod ask;
mod background;
mod batch;
mod blocking;
mod call;
mod call_context;
mod call_table;
mod catching_up;
mod channel;
mod decide;
mod described;
mod dispatcher;
mod engine;
mod extension;
mod failure;
mod finish;
mod handler_run;
mod instructions;
mod journal;
mod legacy;
mod legacy_client;
mod listen;
mod methods;
mod middleware;
mod modern;
mod notifications;
mod origin;
mod owned_work;
mod pending;
mod prepared;
mod rates;
mod request;
mod request_outcome;
mod resumed;
mod rounds;
pub(crate) mod seal;
mod selection;
mod server_shared;
mod sourced;
mod sources;
mod state_failures;
mod stream;
mod target;
mod tools;
mod wrapped;

pub(crate) use admission::Admission;
pub(crate) use batch::read_batch;
pub(crate) use call::{CallProgress, RunningCall};
pub(crate) use call_table::{CallTable, RemovedCall};
pub(crate) use catching_up::SeenChanges;
pub(crate) use channel::ChannelMemory;
pub(crate) use decide::Decision;
pub(crate) use decide::cancelled_request;
pub(crate) use dispatcher::{CacheHints, Dispatcher, Settings};
pub(crate) use extension::MirroredName;
pub(crate) use finish::{SharedText, WrittenResponse};
pub(crate) use listen::ListenRequest;
pub(crate) use middleware::LinkedMiddleware;
pub(crate) use notifications::Wake;
pub(crate) use notifications::{ListVersion, Subscriptions};
pub(crate) use origin::{ChannelId, RequestOrigin};
pub(crate) use prepared::PreparedCall;
pub(crate) use request_outcome::RequestOutcome;
pub(crate) use resumed::{HandshakeOutcome, SessionMemory};
pub(crate) use server_shared::ServerShared;
pub(crate) use sources::{CoveringSource, ServerSources};
pub(crate) use stream::Sink;
