//! Settings that wrap handlers: the rate limit, middleware, and sanitizers of text.

use std::borrow::Cow;
use std::future::Future;

use crate::error::{Error, ErrorKind};
use crate::handler::call::CallOutput;
#[cfg(feature = "tower")]
use crate::handler::definition::Kind;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{self, Around, Call, Next};
use crate::handler::rules;
use crate::handler::sanitize::Sanitizer;
#[cfg(feature = "tower")]
use crate::handler::tower::{self, CallService, Layer};
use crate::rate::Rate;
use crate::server::Server;

/// The rate limit, middleware and sanitizer of a server.
#[derive(Default)]
pub(super) struct Surroundings {
    pub(super) rate: Option<Rate>,
    /// Middleware; the first is outermost.
    pub(super) around: Vec<Around>,
    /// The names of tools that have their own layers.
    pub(super) layered: Vec<String>,
    pub(super) sanitizer: Option<Sanitizer>,
}

impl Surroundings {
    /// Checks that every tool with its own layer exists.
    pub(super) fn check(&self, tools: &[String]) -> std::result::Result<(), Error> {
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
    /// Limits the rate of calls to all handlers together: `100/s`, `10/min burst 20`, `1000/h per caller`. Default:
    /// unlimited. The `rate` option of a handler applies in addition.
    ///
    /// A caller is identified by credentials ([`Principal`](crate::Principal)), otherwise by session or connection.
    /// Anonymous requests of 2026-07-28 over HTTP all count as one caller.
    ///
    /// Calls that exceed the rate are refused, with the time after which to retry. An invalid rate is an error at start-up.
    pub fn rate(mut self, rate: &str) -> Self {
        match rules::read_rate(rate) {
            Ok(rate) => self.surroundings.rate = Some(rate),
            Err(problem) => self.faults.push(problem),
        }
        self
    }

    /// Applies `clean` to all text that a model reads, after the sanitizers added before: results and errors of tools,
    /// messages of prompts, contents of resources, names and values of structured content.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// let server = mcp_runtime::new_server!()
    ///     .sanitize(mcp_runtime::text::strip_invisible)
    ///     .sanitize(|text| Cow::Owned(text.replace("hunter2", "***")));
    /// ```
    ///
    /// URIs, `_meta`, images and audio stay as they are, and numbers in structured content keep every digit. If `clean`
    /// panics, or gives two members of an object the same name, the call fails with an internal error.
    ///
    /// Source: revision 2026-07-28, server/tools, "Security Considerations".
    pub fn sanitize(
        mut self,
        clean: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        let sanitizer = self.surroundings.sanitizer.get_or_insert_default();
        sanitizer.push(clean);
        self
    }

    /// Adds middleware that wraps every call of a tool, prompt, resource or completer. The first one is outermost.
    ///
    /// Middleware may inspect the call, change its arguments, continue with [`Next::run`], inspect and change the result, or
    /// answer the call itself:
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
    /// returns an `async move` block. Middleware runs within the time limit of the call; a panic in it fails that call only.
    /// Calls refused by a rate limit do not reach it. In revision 2026-07-28 it runs in each round of a call: see
    /// [`Call::round`].
    pub fn middleware<F, A>(mut self, function: F) -> Self
    where
        F: Fn(Call, Next) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CallOutput>> + Send + 'static,
    {
        self.surroundings
            .around
            .push(middleware::function(function));
        self
    }
}

#[cfg(feature = "tower")]
impl Server {
    /// Wraps every call in a tower layer, as [`middleware`](Self::middleware) does with a function. Layers and functions share one
    /// order.
    ///
    /// The layer is applied once, to a [`Next`]. To the layer, the failure of a handler is a response, not an error; an error
    /// of the layer's own service fails the call, and its cause is only logged.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let layer = tower::layer(layer, |_| true);
        self.surroundings.around.push(layer);
        self
    }

    /// Wraps the calls of one tool in a tower layer. An unknown tool is an error at start-up.
    pub fn layer_tool<L>(mut self, name: impl Into<String>, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let name = name.into();
        self.surroundings.layered.push(name.clone());
        let applies = move |call: &Call| call.kind() == Kind::Tool && call.name() == name;
        let layer = tower::layer(layer, applies);
        self.surroundings.around.push(layer);
        self
    }
}
