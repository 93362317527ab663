//! Definitions created at run time, for items that are not known when the program is compiled.
//!
//! Such definitions are inserted into the same registry as annotated functions, either before the server starts or
//! while it is running. Mistakes in a definition are reported when it is inserted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Capability, Context};
use crate::handler::handler_error::HandlerError;
use crate::handler::item_option;
use crate::handler::item_option::{
    ItemOption, completed, guarded, hinted, listed, readable, sized,
};
use crate::handler::listing::{Lister, Page};
use crate::handler::option::{AttachedOption, ToolOption};
use crate::handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult};
use crate::handler::run::{Running, prompt, resource, running, tool};
use crate::types::{PromptArgument, Resource};

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

/// The handler and the options of a dynamic definition. All kinds use this type.
pub struct DynamicHandler {
    /// The item's options.
    pub options: Vec<ItemOption>,
    pub(crate) run: DynamicRun,
    /// `true` if calls wait for all of the server's state.
    pub(crate) needs_state: bool,
}

impl DynamicHandler {
    pub(crate) fn new(run: impl Fn(Arguments, Context) -> Running + Send + Sync + 'static) -> Self {
        Self {
            options: Vec::new(),
            run: Arc::new(run),
            needs_state: true,
        }
    }

    /// Makes calls start without the server's state. For handlers of the framework, which never take any, so that they
    /// also work in commands, where settings may be missing.
    #[must_use]
    pub fn without_state(mut self) -> Self {
        self.needs_state = false;
        self
    }
}

/// A tool defined at run time.
///
/// ```
/// # use mcp_runtime::dynamic::{Arguments, DynamicTool};
/// # use mcp_runtime::{Context, Error};
/// # use mcp_runtime::server::ServerHandle;
/// # use mcp_runtime::serde_json::json;
/// fn add_weather(server: &ServerHandle) -> Result<(), Error> {
///     let schema = json!({
///         "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
///     });
///     let weather = async |arguments: Arguments, _: Context| -> mcp_runtime::Result<String> {
///         let city: String = arguments.get("city")?;
///         Ok(format!("{city}: sunny"))
///     };
///     let weather = DynamicTool::new("weather", schema, weather);
///     server.tools().insert(weather.description("The weather in a city").read_only(true))
/// }
/// ```
pub struct DynamicTool {
    pub(crate) name: String,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    #[doc(hidden)]
    pub handler: DynamicHandler,
}

guarded!(DynamicTool);
listed!(DynamicTool);
hinted!(DynamicTool);

impl DynamicTool {
    /// Creates a tool. The name must consist of 1 to 128 characters from `A-Z a-z 0-9 _ - .`, and the input schema must
    /// be an object schema.
    ///
    /// The schema is served unchanged and enforced before the handler runs. In protocol version 2026-07-28, a string,
    /// boolean or integer whose schema contains `x-mcp-header` is mirrored over HTTP in the header named by this
    /// keyword. It must be possible to reach the value through `properties` alone.
    pub fn new<F, R>(
        name: impl Into<String>,
        input_schema: Value,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        Self {
            name: name.into(),
            input_schema,
            output_schema: None,
            handler: DynamicHandler::new(move |arguments, context| {
                let future = handler(arguments, context);
                running(async move { tool::reply(future.await) })
            }),
        }
    }

    /// Sets the schema of the structured output.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Attaches an option that an add-on defines, in place of one of the same type.
    #[doc(hidden)]
    pub fn attach(&mut self, option: impl ToolOption) {
        let option = AttachedOption::Inserted(Arc::new(option));
        self.handler.options.push(ItemOption::Attached(option));
    }
}

/// A prompt defined at run time.
pub struct DynamicPrompt {
    pub(crate) name: String,
    pub(crate) arguments: Vec<PromptArgument>,
    pub(crate) handler: DynamicHandler,
}

guarded!(DynamicPrompt);
listed!(DynamicPrompt);
completed!(DynamicPrompt);

impl DynamicPrompt {
    /// Creates a prompt with this name.
    pub fn new<F, R>(
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoPromptResult,
    {
        Self {
            name: name.into(),
            arguments: Vec::new(),
            handler: DynamicHandler::new(move |arguments, context| {
                let future = handler(arguments, context);
                running(async move { prompt::reply(future.await) })
            }),
        }
    }

    /// Adds a required argument.
    #[must_use]
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(argument(name.into(), description.into(), true))
    }

    /// Adds an optional argument.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(argument(name.into(), description.into(), false))
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }
}

fn argument(name: String, description: String, required: bool) -> PromptArgument {
    let mut argument = PromptArgument::default();
    argument.name = name;
    argument.description = Some(description);
    argument.required = Some(required);
    argument
}

/// A resource with a fixed URI, defined at run time.
pub struct DynamicResource {
    pub(crate) uri: String,
    pub(crate) name: String,
    #[doc(hidden)]
    pub handler: DynamicHandler,
}

guarded!(DynamicResource);
listed!(DynamicResource);
readable!(DynamicResource);
sized!(DynamicResource);

impl DynamicResource {
    /// Creates a resource with this URI and name.
    pub fn new<F, R>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResourceResult,
    {
        Self {
            uri: uri.into(),
            name: name.into(),
            handler: DynamicHandler::new(move |_, context| {
                let future = handler(context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }
}

/// A resource template defined at run time.
pub struct DynamicTemplate {
    pub(crate) uri_template: String,
    pub(crate) name: String,
    pub(crate) any_path: Vec<String>,
    pub(crate) lister: Option<Arc<dyn Lister>>,
    #[doc(hidden)]
    pub handler: DynamicHandler,
}

guarded!(DynamicTemplate);
listed!(DynamicTemplate);
readable!(DynamicTemplate);
completed!(DynamicTemplate);

impl DynamicTemplate {
    /// Creates a resource template with this URI template (RFC 6570) and name. The handler receives the values of the
    /// template's variables.
    ///
    /// A URI does not match if a variable's value contains NUL, has a `..` segment, or begins with `/`, `\` or a drive
    /// letter, unless the variable accepts [any path](Self::any_path).
    pub fn new<F, R>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResourceResult,
    {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            any_path: Vec::new(),
            lister: None,
            handler: DynamicHandler::new(move |arguments, context| {
                let future = handler(arguments, context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }

    /// Lets a variable accept values that can lead out of a directory: `..`, absolute paths, drive letters and NUL. The
    /// handler must validate such values before using them as paths.
    #[must_use]
    pub fn any_path(mut self, variable: impl Into<String>) -> Self {
        self.any_path.push(variable.into());
        self
    }

    /// Sets a function that lists the template's resources page by page. The function receives a cursor, which is
    /// `None` for the first page, and returns resources and the cursor for the next page.
    ///
    /// The client sends the cursor back and may have modified it, so validate it like any other input.
    #[must_use]
    pub fn list<F>(
        mut self,
        list: impl Fn(Context, Option<String>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Page<Resource>, HandlerError>> + Send + 'static,
    {
        self.lister = Some(Arc::new(DynamicLister(move |context, cursor| {
            let listed: ListingFuture = Box::pin(list(context, cursor));
            listed
        })));
        self
    }
}

type ListingFuture = Pin<Box<dyn Future<Output = Result<Page<Resource>, HandlerError>> + Send>>;

/// Implements [`Lister`] for a closure.
struct DynamicLister<F>(F);

impl<F: Fn(Context, Option<String>) -> ListingFuture + Send + Sync> Lister for DynamicLister<F> {
    fn list(&self, context: Context, cursor: Option<String>) -> ListingFuture {
        (self.0)(context, cursor)
    }
}

impl<F> fmt::Debug for DynamicLister<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynamicLister")
    }
}

/// A dynamic definition of any kind.
#[derive(Debug)]
#[doc(hidden)]
pub enum DynamicItem {
    Tool(DynamicTool),
    Prompt(DynamicPrompt),
    Resource(DynamicResource),
    Template(DynamicTemplate),
}

impl DynamicItem {
    /// Returns the list in which the definition appears.
    pub(crate) fn list(&self) -> Capability {
        match self {
            Self::Tool(_) => DynamicTool::LIST,
            Self::Prompt(_) => DynamicPrompt::LIST,
            Self::Resource(_) => DynamicResource::LIST,
            Self::Template(_) => DynamicTemplate::LIST,
        }
    }

    /// Returns the tags of the definition.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        let handler = match self {
            Self::Tool(definition) => &definition.handler,
            Self::Prompt(definition) => &definition.handler,
            Self::Resource(definition) => &definition.handler,
            Self::Template(definition) => &definition.handler,
        };
        item_option::tags(&handler.options)
    }

    /// Returns the name or URI of the definition.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool(definition) => &definition.name,
            Self::Prompt(definition) => &definition.name,
            Self::Resource(definition) => &definition.uri,
            Self::Template(definition) => &definition.uri_template,
        }
    }
}

/// A kind of dynamic definition. This trait is sealed and implemented by the four types of definitions.
#[doc(hidden)]
pub trait ItemKind: sealed::Sealed {
    const LIST: Capability;
    fn into_item(self) -> DynamicItem;
    /// Returns the name or URI.
    fn key(&self) -> &str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! item {
    ($name:ident, $variant:ident, $list:ident, $key:ident) => {
        impl sealed::Sealed for $name {}

        impl ItemKind for $name {
            const LIST: Capability = Capability::$list;

            fn into_item(self) -> DynamicItem {
                DynamicItem::$variant(self)
            }

            fn key(&self) -> &str {
                &self.$key
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
