//! Definitions made at run time, for what is not known when the program is compiled.
//!
//! They go into the same registry as annotated functions, before the server starts or while it runs. What is wrong with
//! one is said when it is inserted.

mod prompt;
mod resource;
mod tool;

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Context, List};
use crate::handler::call::Running;
use crate::handler::tool_error::ToolError;

pub use prompt::DynamicPrompt;
pub use resource::{DynamicResource, DynamicTemplate};
pub use tool::DynamicTool;

/// The arguments of a dynamic definition.
///
/// For a tool they have passed its input schema. For a prompt and a template every value is a string.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Map<String, Value>);

impl Arguments {
    /// The argument of this name.
    ///
    /// # Errors
    ///
    /// If it is absent or of another type; the model reads why.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, ToolError> {
        let Some(value) = self.0.get(name) else {
            return Err(ToolError::shown(format_args!(
                "argument `{name}` is missing"
            )));
        };
        T::deserialize(value)
            .map_err(|error| ToolError::shown(format_args!("argument `{name}`: {error}")))
    }

    /// The text of the argument of this name, if it is there and text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// All of them, as one value.
    ///
    /// # Errors
    ///
    /// If they do not fit; the model reads why.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, ToolError> {
        serde_json::from_value(Value::Object(self.0)).map_err(ToolError::shown)
    }
}

/// Calls a dynamic handler.
pub(crate) type DynamicRun = Arc<dyn Fn(Arguments, Context) -> Running + Send + Sync>;

/// Builder steps that all kinds share.
macro_rules! builder {
    ($name:ident) => {
        impl $name {
            /// With a name for people.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.title = Some(title.into());
                self
            }

            /// With a description, for the model to read.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.description = Some(description.into());
                self
            }

            /// With one more picture. One that is not an `https:` or `data:` URI is refused when it is inserted.
            #[must_use]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.icons.push(icon);
                self
            }

            /// With one more entry of `_meta`. Keys under reserved prefixes are refused when it is inserted.
            #[must_use]
            pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.meta
                    .get_or_insert_default()
                    .insert(key.into(), value.into());
                self
            }

            /// Stopped after this long. Default: [`Limits::tool_time`](crate::Limits::tool_time).
            #[must_use]
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.guards.timeout = Some(timeout);
                self
            }

            /// Called at most this often: `10/min`, `5/s burst 20`, `100/h per caller`. Default: as often as the server
            /// allows. What is not a rate is refused when it is inserted.
            #[must_use]
            pub fn rate(mut self, rate: impl Into<String>) -> Self {
                self.guards.rate = Some(rate.into());
                self
            }

            /// Running at most this many times at once; further calls wait. Default: no bound of its own.
            #[must_use]
            pub fn concurrency(mut self, calls: usize) -> Self {
                self.guards.concurrency = Some(calls);
                self
            }

            /// Answering with at most this many bytes. Default: [`Limits::result`](crate::Limits::result), which no answer
            /// may exceed.
            #[must_use]
            pub fn max_output(mut self, bytes: usize) -> Self {
                self.guards.max_output = Some(bytes);
                self
            }

            /// Needs all of these scopes, besides those before. Default: none. One that no credentials can hold is refused when
            /// it is inserted.
            ///
            /// Callers without them do not see it in lists, and are told which they need when they use it. Scopes do not apply
            /// to trusted [`Caller`]s, as on standard input and output.
            #[must_use]
            pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
                self.access.require(scopes);
                self
            }

            /// There only for callers of whom this holds; the others are answered as if it did not exist. Default: for all.
            ///
            /// Asked with every list and call, before anything else: it must not block.
            #[must_use]
            pub fn visible_if(
                mut self,
                visible_if: impl Fn(&Caller) -> bool + Send + Sync + 'static,
            ) -> Self {
                self.access.show_if(visible_if);
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

/// A kind of dynamic definition. Sealed: implemented by the four types of this module.
#[doc(hidden)]
pub trait ItemKind: sealed::Sealed {
    const LIST: List;
    fn into_item(self) -> Item;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! item {
    ($name:ident, $variant:ident, $list:ident, $key:ident) => {
        impl sealed::Sealed for $name {}

        impl ItemKind for $name {
            const LIST: List = List::$list;

            fn into_item(self) -> Item {
                Item::$variant(self)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field(stringify!($key), &self.$key)
                    .finish_non_exhaustive()
            }
        }
    };
}

item!(DynamicTool, Tool, Tools, name);
item!(DynamicPrompt, Prompt, Prompts, name);
item!(DynamicResource, Resource, Resources, uri);
item!(DynamicTemplate, Template, Templates, uri_template);
