//! What stands around handlers: how often they may be called, what sees each call, what is done to their texts.

use std::borrow::Cow;
use std::future::Future;

use crate::error::{Error, ErrorKind};
use crate::handler::call::Answer;
#[cfg(feature = "tower")]
use crate::handler::definition::Kind;
use crate::handler::middleware::{self, Around, Call, Next};
use crate::handler::rules;
use crate::handler::sanitize::Sanitizer;
use crate::handler::tool_error::Result;
#[cfg(feature = "tower")]
use crate::handler::tower::{self, CallService, Layer};
use crate::rate::Rate;
use crate::server::Server;

/// What stands around handlers, as far as the author said.
#[derive(Default)]
pub(super) struct Surroundings {
    pub(super) rate: Option<Rate>,
    /// The first is outermost.
    pub(super) around: Vec<Around>,
    /// The tools that have layers of their own.
    pub(super) layered: Vec<String>,
    pub(super) sanitizer: Option<Sanitizer>,
}

impl Surroundings {
    /// Checks that the tools are there that have layers of their own.
    pub(super) fn check(&self, tools: &[String]) -> std::result::Result<(), Error> {
        let missing = self.layered.iter().filter(|name| !tools.contains(name));
        let missing: Vec<_> = missing
            .map(|name| format!("there is no tool `{name}` to put a layer around"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Configuration, missing.join("\n")))
    }
}

impl Server {
    /// How often handlers may be called, all of them together: `100/s`, `10/min burst 20`, `1000/h per caller`. Default: as
    /// often as anybody likes. Handlers have an option `rate` of their own, which holds as well.
    ///
    /// A caller is whoever is known from credentials ([`Principal`](crate::Principal)), else the session or connection.
    /// Requests of 2026-07-28 over HTTP by nobody known are one caller, all of them.
    ///
    /// A call beyond that is refused and told when to try again. What is not a rate is an error at the start.
    pub fn rate(mut self, rate: &str) -> Self {
        match rules::read_rate(rate) {
            Ok(rate) => self.surroundings.rate = Some(rate),
            Err(problem) => self.faults.push(problem),
        }
        self
    }

    /// Does this to all text that a model reads, besides what is done already: results and errors of tools, messages of
    /// prompts, contents of resources, names and values of structured content.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// let server = mcp_runtime::new_server!()
    ///     .sanitize(mcp_runtime::visible_text)
    ///     .sanitize(|text| Cow::Owned(text.replace("hunter2", "***")));
    /// ```
    ///
    /// Addresses, `_meta`, pictures and sounds stay as they are, and so do numbers in structured content, digit by digit. If it
    /// panics, or two members of one object come to have the same name, the answer is an internal error.
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

    /// Stands around every call of a tool, a prompt, a resource or a completer. The first one is outermost.
    ///
    /// It may look at the call, change its arguments, go on with [`Next::run`], look at the answer and change it, or answer
    /// by itself:
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::Kind;
    ///
    /// let server = new_server!().around(async |call, next| {
    ///     if call.kind() == Kind::Tool && call.name() == "delete" && call.principal().is_none() {
    ///         bail!("only people we know may delete");
    ///     }
    ///     next.run(call).await
    /// });
    /// ```
    ///
    /// What it shares comes from [`Call::context`], as in `call.context().state::<T>()`, or is cloned into a closure that
    /// gives an `async move` block. It runs within the time of the call; a panic in it ends the call alone. Calls that a
    /// rate refuses do not come this far. In revision 2026-07-28 it is entered in each round of a call: see
    /// [`Call::round`].
    pub fn around<F, A>(mut self, function: F) -> Self
    where
        F: Fn(Call, Next) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Answer>> + Send + 'static,
    {
        self.surroundings
            .around
            .push(middleware::function(function));
        self
    }
}

#[cfg(feature = "tower")]
impl Server {
    /// Puts a tower layer around every call, as [`around`](Self::around) does with a function. They keep their order.
    ///
    /// The layer is applied once, to a [`Next`]. Failures of handlers are answers to it; an error of its own service is one
    /// whose cause only the log sees.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let layer = tower::layer(layer, |_| true);
        self.surroundings.around.push(layer);
        self
    }

    /// Puts a tower layer around the calls of one tool. That there is none of this name is an error at the start.
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
