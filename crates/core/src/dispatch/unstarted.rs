//! A server before it starts, as those see it who start it on its author's behalf.

use std::fmt;
use std::sync::Arc;

use crate::context::OnceStore;
use crate::dispatch::built::BuiltServer;
use crate::error::Error;
use crate::handler::option::StoresByType;
use crate::limits::Limits;
use crate::observe::Observers;
use crate::seal::SealingKey;
use crate::types::Implementation;

/// A server that has not started: what the client for tests is given. `Server` is one.
pub trait UnstartedServer: fmt::Debug + Send + 'static {
    /// The name and version that clients are told.
    #[doc(hidden)]
    fn identity(&self) -> &Implementation;

    /// The limits, which may still be changed.
    #[doc(hidden)]
    fn limits_mut(&mut self) -> &mut Limits;

    /// Those that are told of requests and failures.
    #[doc(hidden)]
    fn observers_mut(&mut self) -> &mut Observers;

    /// Lets the server start without values for its settings, for work that needs only its definitions.
    #[doc(hidden)]
    fn ignore_missing_settings(&mut self);

    /// Serves only the definitions that this text selects, such as `issues,-admin`.
    #[doc(hidden)]
    fn select(&mut self, selection: &str);

    /// Adds these headers to the requests of all callers. Variables stand in for other headers only if the flag says so.
    #[doc(hidden)]
    fn set_headers(&mut self, headers: Vec<(String, String)>, with_variables: bool);

    /// The stores that were set for add-ons.
    #[doc(hidden)]
    fn stores_mut(&mut self) -> &mut StoresByType;

    /// Replaces the store for steps and, unless there are keys, sets this one. A later server with the same stores and
    /// the same key then continues what this one has begun.
    #[doc(hidden)]
    fn survive_in(&mut self, once: Arc<dyn OnceStore>, key: SealingKey);

    /// Checks definitions and settings. All mistakes are reported.
    #[doc(hidden)]
    fn start(self: Box<Self>) -> Result<BuiltServer, Error>;
}
