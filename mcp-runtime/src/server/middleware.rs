//! Settings that affect calls to handlers: the rate limit, middleware, and text sanitizers.

use std::borrow::Cow;
use std::future::Future;

use crate::error::{Error, ErrorKind};
use crate::handler::call::CallOutput;
#[cfg(feature = "tower")]
use crate::handler::definition::Kind;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{self, Call, Next, UnlinkedMiddleware};
use crate::handler::sanitize::Sanitizer;
#[cfg(feature = "tower")]
use crate::handler::tower::{self, CallService, Layer};
use crate::rate::Rate;
use crate::server::Server;

/// A server's rate limit, middleware and sanitizer.
#[derive(Default)]
pub(super) struct WrappingSettings {
    pub(super) rate: Option<Rate>,
    /// Middleware, outermost first.
    pub(super) around: Vec<UnlinkedMiddleware>,
    /// The names of tools that have their own layers.
    pub(super) layered: Vec<String>,
    pub(super) sanitizer: Option<Sanitizer>,
}

impl WrappingSettings {
    /// Checks that every tool with its own layer exists.
    pub(super) fn check_layered_tools(&self, tools: &[String]) -> std::result::Result<(), Error> {
        let missing = self.layered.iter().filter(|name| !tools.contains(name));
        let missing: Vec<_> = missing
            .map(|name| format!("there is no tool `{name}` to apply a layer to"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Configuration, missing.join("\n")))
    }
}

impl Server {
    /// Limits the total rate of calls to all handlers, for example to `100/s`, `10/min burst 20` or `1000/h per
    /// caller`. Unlimited by default. A handler's `rate` option applies in addition to this limit.
    ///
    /// A caller is identified by its credentials ([`Principal`](crate::Principal)) or, if it has none, by its session
    /// or connection. All anonymous HTTP requests that use 2026-07-28 are treated as a single caller.
    ///
    /// Calls that exceed the rate are rejected with an error that states when to retry. Start-up fails if the rate is
    /// invalid.
    pub fn rate(mut self, rate: &str) -> Self {
        match Rate::parse(rate) {
            Ok(rate) => self.wrapping.rate = Some(rate),
            Err(problem) => self.faults.push(problem),
        }
        self
    }

    /// Applies `clean`, after any sanitizers added earlier, to all text that a model reads: tool results and errors,
    /// prompt messages, resource contents, and the names and values in structured content.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// let server = mcp_runtime::new_server!()
    ///     .sanitize(mcp_runtime::text::strip_invisible)
    ///     .sanitize(|text| Cow::Owned(text.replace("hunter2", "***")));
    /// ```
    ///
    /// URIs, `_meta`, images and audio remain unchanged, and numbers in structured content keep all their digits. If
    /// `clean` panics, or gives two members of an object the same name, the call fails with an internal error.
    ///
    /// Source: revision 2026-07-28, server/tools, "Security Considerations".
    pub fn sanitize(
        mut self,
        clean: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        let sanitizer = self.wrapping.sanitizer.get_or_insert_default();
        sanitizer.push(clean);
        self
    }

    /// Adds middleware that wraps every call to a tool, prompt, resource or completer. The middleware added first is
    /// the outermost.
    ///
    /// Middleware may inspect the call, change its arguments, continue with [`Next::run`], inspect and change the
    /// result, or answer the call itself:
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::middleware::Kind;
    ///
    /// let server = new_server!().middleware(async |call, next| {
    ///     if call.kind() == Kind::Tool && call.name() == "delete" && call.principal().is_none() {
    ///         bail!("only authenticated callers may delete");
    ///     }
    ///     next.run(call).await
    /// });
    /// ```
    ///
    /// Get shared values from [`Call::context`], as in `call.context().state::<T>()`, or clone them into a closure that
    /// returns an `async move` block. Middleware runs within the call's time limit, and if it panics, only that call
    /// fails. Calls rejected by a rate limit do not reach middleware. In protocol version 2026-07-28, middleware runs
    /// in each round of a call; see [`Call::round`].
    pub fn middleware<F, A>(mut self, function: F) -> Self
    where
        F: Fn(Call, Next) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CallOutput>> + Send + 'static,
    {
        self.wrapping.around.push(middleware::function(function));
        self
    }
}

#[cfg(feature = "tower")]
impl Server {
    /// Like [`middleware`](Self::middleware), but wraps every call in a tower layer instead of a function. If a server
    /// has both layers and functions, the first to be added is the outermost.
    ///
    /// The layer is applied once, to a [`Next`]. The layer sees a handler's failure as a response rather than an error.
    /// If the layer's own service returns an error, the call fails, and the cause is logged but not sent to the client.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let layer = tower::layer(layer, |_| true);
        self.wrapping.around.push(layer);
        self
    }

    /// Wraps calls to a single tool in a tower layer. Start-up fails if the tool is unknown.
    pub fn layer_tool<L>(mut self, name: impl Into<String>, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let name = name.into();
        self.wrapping.layered.push(name.clone());
        let applies = move |call: &Call| call.kind() == Kind::Tool && call.name() == name;
        let layer = tower::layer(layer, applies);
        self.wrapping.around.push(layer);
        self
    }
}
