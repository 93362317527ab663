//! Definitions created at run time, for items that are not known when the program is compiled.
//!
//! They are inserted into the same registry as annotated functions, before the server starts or while it runs. Mistakes are
//! reported when a definition is inserted.

mod prompt;
mod resource;
mod tool;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Capability, Context};
use crate::handler::access::Access;
use crate::handler::call::Running;
use crate::handler::definition::GuardOptions;
use crate::handler::handler_error::HandlerError;
use crate::types::CacheScope;

pub use prompt::DynamicPrompt;
pub use resource::{DynamicResource, DynamicTemplate};
pub use tool::DynamicTool;

/// The arguments of a dynamic definition.
///
/// For a tool, they have been validated against its input schema. For a prompt or a template, every value is a string.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Map<String, Value>);

impl Arguments {
    /// Returns the argument with this name.
    ///
    /// # Errors
    ///
    /// If it is absent or has another type; the model reads the reason.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, HandlerError> {
        let Some(value) = self.0.get(name) else {
            return Err(HandlerError::exposed(format_args!(
                "argument `{name}` is missing"
            )));
        };
        T::deserialize(value)
            .map_err(|error| HandlerError::exposed(format_args!("argument `{name}`: {error}")))
    }

    /// Returns the argument with this name, if it is present and a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Deserializes all arguments into one value.
    ///
    /// # Errors
    ///
    /// If they do not fit; the model reads the reason.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, HandlerError> {
        serde_json::from_value(Value::Object(self.0)).map_err(HandlerError::exposed)
    }
}

/// Calls a dynamic handler.
pub(crate) type DynamicRun = Arc<dyn Fn(Arguments, Context) -> Running + Send + Sync>;

/// The handler of a dynamic definition, with the options that lists do not show. The same for all kinds; options that do not
/// apply to a kind keep their defaults.
pub(crate) struct DynamicHandler {
    pub(crate) run: DynamicRun,
    pub(crate) guards: GuardOptions<String>,
    pub(crate) access: Access,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Option<CacheScope>,
    /// The completion candidates, by argument or variable.
    pub(crate) candidates: Vec<(String, Vec<String>)>,
}

impl DynamicHandler {
    fn new(run: impl Fn(Arguments, Context) -> Running + Send + Sync + 'static) -> Self {
        Self {
            run: Arc::new(run),
            guards: GuardOptions::NONE,
            access: Access::default(),
            ttl: None,
            cache: None,
            candidates: Vec::new(),
        }
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

/// Builder methods shared by all kinds; `$wire` is the field with the definition as lists show it.
macro_rules! builder {
    ($name:ident, $wire:ident) => {
        impl $name {
            /// Sets the title, a name for people to read.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.$wire.title = Some(title.into());
                self
            }

            /// Sets the description, for the model to read.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.$wire.description = Some(description.into());
                self
            }

            /// Adds an icon. An icon whose source is not an `https:` or `data:` URI is rejected when the item is inserted.
            #[must_use]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.$wire.icons.push(icon);
                self
            }

            /// Adds an entry to `_meta`. Keys with reserved prefixes are refused on insertion.
            #[must_use]
            pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.$wire
                    .meta
                    .get_or_insert_default()
                    .insert(key.into(), value.into());
                self
            }

            /// Sets the time after which a call is stopped. Default: [`limits.calls.timeout`](crate::Limits).
            #[must_use]
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.handler.guards.timeout = Some(timeout);
                self
            }

            /// Sets the maximum rate of calls: `10/min`, `5/s burst 20`, `100/h per caller`. Default: only the server's
            /// limits apply. An invalid rate is refused on insertion.
            #[must_use]
            pub fn rate(mut self, rate: impl Into<String>) -> Self {
                self.handler.guards.rate = Some(rate.into());
                self
            }

            /// Sets the maximum number of concurrent calls; further calls wait. Default: only the server's limits apply.
            #[must_use]
            pub fn concurrency(mut self, calls: usize) -> Self {
                self.handler.guards.concurrency = Some(calls);
                self
            }

            /// Sets the maximum size of a result, in bytes. Default: [`limits.calls.max_result_bytes`](crate::Limits), which no
            /// result may exceed.
            #[must_use]
            pub fn max_output(mut self, bytes: usize) -> Self {
                self.handler.guards.max_output = Some(bytes);
                self
            }

            /// Requires all of these scopes, in addition to those already required. Default: none. A scope that no credentials
            /// can hold is refused on insertion.
            ///
            /// Callers without them do not see the definition in lists; if they use it, the error names the required scopes.
            /// Scopes do not apply to trusted [`Caller`]s, such as those on standard input and output.
            #[must_use]
            pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
                self.handler.access.require(scopes);
                self
            }

            /// Makes the definition visible only to callers for whom the function returns `true`; for all others it does not
            /// exist. Default: visible to all.
            ///
            /// The function runs for every list and call, before anything else, so it must not block.
            #[must_use]
            pub fn visible_if(
                mut self,
                visible_if: impl Fn(&Caller) -> bool + Send + Sync + 'static,
            ) -> Self {
                self.handler.access.show_if(visible_if);
                self
            }
        }
    };
}

use builder;

/// A dynamic definition of any kind.
#[derive(Debug)]
#[doc(hidden)]
pub enum Item {
    Tool(DynamicTool),
    Prompt(DynamicPrompt),
    Resource(DynamicResource),
    Template(DynamicTemplate),
}

impl Item {
    /// Returns the list that shows it.
    pub(crate) fn list(&self) -> Capability {
        match self {
            Self::Tool(_) => DynamicTool::LIST,
            Self::Prompt(_) => DynamicPrompt::LIST,
            Self::Resource(_) => DynamicResource::LIST,
            Self::Template(_) => DynamicTemplate::LIST,
        }
    }

    /// Returns its name or URI.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool(definition) => &definition.tool.name,
            Self::Prompt(definition) => &definition.prompt.name,
            Self::Resource(definition) => &definition.resource.uri,
            Self::Template(definition) => &definition.template.uri_template,
        }
    }
}

/// A kind of dynamic definition. Sealed: implemented by the four types of this module.
#[doc(hidden)]
pub trait ItemKind: sealed::Sealed {
    const LIST: Capability;
    fn into_item(self) -> Item;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! item {
    ($name:ident, $variant:ident, $list:ident, $wire:ident.$key:ident) => {
        impl sealed::Sealed for $name {}

        impl ItemKind for $name {
            const LIST: Capability = Capability::$list;

            fn into_item(self) -> Item {
                Item::$variant(self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field(stringify!($key), &self.$wire.$key)
                    .finish_non_exhaustive()
            }
        }
    };
}

item!(DynamicTool, Tool, Tools, tool.name);
item!(DynamicPrompt, Prompt, Prompts, prompt.name);
item!(DynamicResource, Resource, Resources, resource.uri);
item!(DynamicTemplate, Template, Templates, template.uri_template);
