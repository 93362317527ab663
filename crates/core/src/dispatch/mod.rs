//! Decides how to handle each message, runs calls, and produces change notifications, all without doing any I/O.
//!
//! [`Dispatcher::decide`] never runs user code: it answers a request immediately if possible, and otherwise returns a
//! [`PreparedCall`]. The owner of a call, which is a channel, a session or a response, runs it with
//! [`PreparedCall::run`] and keeps it in a [`CallTable`]. User code runs only inside [`PreparedCall::run`] and
//! [`RunningCall::poll_response`], which append the response to the owner's buffer and catch all panics.

mod admission;
mod background;
mod built;
mod call;
mod channel;
mod decide;
mod dispatcher;
mod finish;
mod methods;
mod notifications;
mod prepared;
mod request;
mod serve_hooks;
mod sources;
mod target;
mod unstarted;

pub use admission::Admission;
pub use built::{BuiltServer, MessageSender};
pub use call::{CallProgress, CallTable, RemovedCall, RunningCall};
pub use channel::{ChannelMemory, HandshakeOutcome, ListenRequest, SeenChanges, SessionMemory};
pub use decide::{Decision, RequestDecision, cancelled_request, read_batch};
pub use dispatcher::{CacheHints, Dispatcher, LinkedMiddleware, ServerShared, Settings};
pub use finish::{SharedText, WrittenResponse};
pub use methods::MirroredName;
pub use notifications::{ListVersion, Subscriptions};
pub use prepared::PreparedCall;
pub use request::{ChannelId, RequestOrigin};
pub use serve_hooks::ServeHooks;
pub use sources::{
    CoveringSource, CreateCover, DescribeGroups, RequestInstructions, ServerAddOn, ServerParts,
    ServerSources,
};
pub use unstarted::UnstartedServer;

pub use crate::context::outbound::Sink;
