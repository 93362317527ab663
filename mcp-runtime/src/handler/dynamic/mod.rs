//! Definitions created at run time, for items that are not known when the program is compiled.
//!
//! Such definitions are inserted into the same registry as annotated functions, either before the server starts or
//! while it is running. Mistakes in a definition are reported when it is inserted.

mod item;
mod prompt;
mod resource;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::access::Access;
use crate::handler::call::Running;
use crate::handler::definition::GuardOptions;
use crate::handler::handler_error::HandlerError;
use crate::types::CacheScope;

pub(crate) use item::{DynamicItem, ItemKind};
pub use prompt::DynamicPrompt;
pub use resource::{DynamicResource, DynamicTemplate};
pub use tool::DynamicTool;

/// The arguments passed to a dynamic handler.
///
/// For a tool, the arguments have already been validated against the input schema. For a prompt or template, every
/// value is a string.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Map<String, Value>);

impl Arguments {
    /// Returns the argument with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if the argument is absent or has a different type. The model is shown the reason.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, HandlerError> {
        let Some(value) = self.0.get(name) else {
            return Err(HandlerError::exposed(format_args!(
                "argument `{name}` is missing"
            )));
        };
        T::deserialize(value)
            .map_err(|error| HandlerError::exposed(format_args!("argument `{name}`: {error}")))
    }

    /// Returns the argument with this name if it is present and is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Deserializes all arguments into a single value.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments do not match the type. The model is shown the reason.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, HandlerError> {
        serde_json::from_value(Value::Object(self.0)).map_err(HandlerError::exposed)
    }
}

/// A function that calls a dynamic handler.
pub(crate) type DynamicRun = Arc<dyn Fn(Arguments, Context) -> Running + Send + Sync>;

/// The handler of a dynamic definition and the options that do not appear in lists. All kinds use this type; options
/// that do not apply to a kind keep their defaults.
pub(crate) struct DynamicHandler {
    pub(crate) run: DynamicRun,
    pub(crate) guards: GuardOptions<String>,
    pub(crate) access: Access,
    pub(crate) tags: Vec<Box<str>>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Option<CacheScope>,
    /// `true` if calls wait for all of the server's state.
    pub(crate) needs_state: bool,
    /// The completion candidates for each argument or variable.
    pub(crate) candidates: Vec<(String, Vec<String>)>,
}

impl DynamicHandler {
    pub(crate) fn new(run: impl Fn(Arguments, Context) -> Running + Send + Sync + 'static) -> Self {
        Self {
            run: Arc::new(run),
            guards: GuardOptions::NONE,
            access: Access::default(),
            tags: Vec::new(),
            ttl: None,
            cache: None,
            needs_state: true,
            candidates: Vec::new(),
        }
    }

    /// Makes calls start without the server's state. For handlers of the framework, which never take any, so that they
    /// also work in commands, where settings may be missing.
    pub(crate) fn without_state(mut self) -> Self {
        self.needs_state = false;
        self
    }

    fn add_candidates(
        &mut self,
        argument: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) {
        let candidates = candidates.into_iter().map(Into::into).collect();
        self.candidates.push((argument.into(), candidates));
    }
}

/// Builder methods for the limits and the access rules of a handler, which is in the `$handler` field.
macro_rules! guarded {
    ($name:ident, $handler:ident) => {
        impl $name {
            /// Sets the maximum duration of a call. Defaults to [`limits.calls.timeout`](crate::Limits).
            #[must_use]
            pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
                self.$handler.guards.timeout = Some(timeout);
                self
            }

            /// Sets the maximum rate of calls: `10/min`, `5/s burst 20`, `100/h per caller`. By default, only the
            /// server's limits apply. Insertion or start-up fails if the rate is invalid.
            #[must_use]
            pub fn rate(mut self, rate: impl Into<String>) -> Self {
                self.$handler.guards.rate = Some(rate.into());
                self
            }

            /// Sets the maximum number of concurrent calls. Further calls wait. By default, only the server's limits
            /// apply.
            #[must_use]
            pub fn concurrency(mut self, calls: usize) -> Self {
                self.$handler.guards.concurrency = Some(calls);
                self
            }

            /// Sets the maximum size of a result in bytes. Defaults to
            /// [`limits.calls.max_result_bytes`](crate::Limits), which is also the upper limit.
            #[must_use]
            pub fn max_output(mut self, bytes: usize) -> Self {
                self.$handler.guards.max_output = Some(bytes);
                self
            }

            /// Requires callers to have all of these scopes, in addition to those already required. By default, no
            /// scopes are required. Insertion or start-up fails if any of the scopes can never occur in credentials.
            ///
            /// Callers without these scopes do not see the definition in lists. If they try to use it, the error names
            /// the required scopes. Scopes do not apply to trusted [`Caller`](crate::Caller)s, such as callers
            /// connected through standard input and output.
            #[must_use]
            pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
                self.$handler.access.require(scopes);
                self
            }

            /// Makes the definition visible only to callers for whom the function returns `true`. For all other
            /// callers, it does not appear to exist. By default, the definition is visible to all callers.
            ///
            /// The function runs at the start of every list request and call, so it must not block.
            #[must_use]
            pub fn visible_if(
                mut self,
                visible_if: impl Fn(&crate::context::Caller) -> bool + Send + Sync + 'static,
            ) -> Self {
                self.$handler.access.show_if(visible_if);
                self
            }
        }
    };
}

pub(crate) use guarded;

/// Builder methods shared by all kinds. `$wire` is the field that holds the definition as it appears in lists.
macro_rules! builder {
    ($name:ident, $wire:ident) => {
        impl $name {
            /// Sets the title, a human-readable name.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.$wire.title = Some(title.into());
                self
            }

            /// Sets the description that the model reads.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.$wire.description = Some(description.into());
                self
            }

            /// Adds an icon. Its source must be an `https:` or `data:` URI; otherwise, inserting the item fails.
            #[must_use]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.$wire.icons.push(icon);
                self
            }

            /// Adds an entry to `_meta`. Inserting the item fails if the key has a reserved prefix.
            #[must_use]
            pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.$wire
                    .meta
                    .get_or_insert_default()
                    .insert(key.into(), value.into());
                self
            }

            /// Adds tags. Hosts can select definitions by tag ([`Server::select_tags`](crate::Server::select_tags)),
            /// and a tag can require scopes ([`Server::require_scopes`](crate::Server::require_scopes)). Inserting the
            /// item fails if a tag is empty, begins with `-`, or contains a comma or whitespace.
            #[must_use]
            pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
                let tags = tags.into_iter().map(|tag| tag.into().into_boxed_str());
                self.handler.tags.extend(tags);
                self
            }
        }

        crate::handler::dynamic::guarded!($name, handler);
    };
}

use builder;
