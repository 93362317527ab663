//! Values that handlers share: state, and receivers for the methods in `#[server]` blocks.

use std::sync::Arc;

use crate::registry::MethodReceiver;
use crate::server::Server;

impl Server {
    /// Shares a value with every handler that takes [`State<T>`](crate::State). Only one value of each type is kept; a
    /// second value of the same type replaces the first.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(Arc::new(value));
        self
    }

    /// Shares a value that is already in an [`Arc`]. Otherwise works like [`state`](Self::state).
    pub fn shared_state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.states.insert(value);
        self
    }

    /// Shares a value, such as a pool of database connections, with every handler that takes
    /// [`State<T>`](crate::State). The value is created by `make` when it is first needed.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # struct Pool;
    /// # impl Pool { async fn connect(_: &str) -> std::io::Result<Self> { Ok(Self) } }
    /// let server = new_server!().state_with(async || {
    ///     let url = std::env::var("DATABASE_URL").map_err(|_| "`DATABASE_URL` is not set")?;
    ///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Pool::connect(&url).await?)
    /// });
    /// # drop(server);
    /// ```
    ///
    /// A running server creates the value before it accepts requests and after definitions and settings have been
    /// checked; if that fails, the server does not start. Commands such as `check`, `tools` and `install`, clients in
    /// the same process, and a [mounted service](Self::into_http_service) create the value on the first call to a
    /// handler that takes it. If that fails, the call fails, and the next call tries again. The same failure is logged
    /// only once, and the errors of all these calls refer to that line of the log.
    ///
    /// Otherwise works like [`state`](Self::state).
    pub fn state_with<T, E, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        T: Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.states.insert_later(make);
        self
    }

    /// Serves the methods in the `#[server]` blocks of `T` by calling them on `value`. Start-up fails if the value for
    /// any `#[server]` block is missing, unless the selection is narrowed with [`only`](Self::only) or
    /// [`tags`](Self::tags).
    pub fn handlers<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.shared_handlers(Arc::new(value))
    }

    /// Serves the methods of a value that is already in an [`Arc`], for example because the routes of an axum program
    /// share it. Otherwise works like [`handlers`](Self::handlers).
    pub fn shared_handlers<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.receivers.push(MethodReceiver::new(value));
        self
    }
}
