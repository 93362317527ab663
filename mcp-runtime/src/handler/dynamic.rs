//! Definitions created at run time, for items that are not known when the program is compiled.
//!
//! Such definitions are inserted into the same registry as annotated functions, either before the server starts or
//! while it is running. Mistakes in a definition are reported when it is inserted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::context::{Capability, Context};
use crate::handler::access::Access;
use crate::handler::call::{Running, prompt, resource, running, tool};
use crate::handler::definition::GuardOptions;
use crate::handler::handler_error::HandlerError;
use crate::handler::listing::{Lister, Page};
use crate::handler::option::AttachedOption;
use crate::handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult};
use crate::types::{
    Annotations, CacheScope, Icon, Prompt, PromptArgument, Resource, ResourceTemplate, Tool,
    ToolAnnotations,
};

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

/// A tool defined at run time.
///
/// ```
/// # use mcp_runtime::dynamic::{Arguments, DynamicTool};
/// # use mcp_runtime::{Context, Error, ServerHandle};
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
    /// The definition, whose schemas are set on insertion.
    pub(crate) tool: Tool,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    pub(crate) attached: Vec<AttachedOption>,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicTool, tool);

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
            tool: Tool::new(name, RawValue::NULL.to_owned()),
            input_schema,
            output_schema: None,
            attached: Vec::new(),
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

    /// Sets all hints about the tool's behavior.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    /// Sets the hint that the tool does not modify any data.
    #[must_use]
    pub fn read_only(mut self, hint: bool) -> Self {
        self.hints().read_only_hint = Some(hint);
        self
    }

    /// Sets the hint that the tool may delete or overwrite data.
    #[must_use]
    pub fn destructive(mut self, hint: bool) -> Self {
        self.hints().destructive_hint = Some(hint);
        self
    }

    /// Sets the hint that repeating a call with the same arguments has no additional effect.
    #[must_use]
    pub fn idempotent(mut self, hint: bool) -> Self {
        self.hints().idempotent_hint = Some(hint);
        self
    }

    /// Sets the hint that the tool interacts with systems outside the server.
    #[must_use]
    pub fn open_world(mut self, hint: bool) -> Self {
        self.hints().open_world_hint = Some(hint);
        self
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.tool.annotations.get_or_insert_default()
    }
}

/// A prompt defined at run time.
pub struct DynamicPrompt {
    pub(crate) prompt: Prompt,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicPrompt, prompt);

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
        let mut prompt = Prompt::default();
        prompt.name = name.into();
        Self {
            prompt,
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
        self.prompt.arguments.push(argument);
        self
    }

    /// Sets the completion candidates for an argument.
    #[must_use]
    pub fn candidates(
        mut self,
        argument: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.handler.add_candidates(argument, candidates);
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
    pub(crate) resource: Resource,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicResource, resource);

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
            resource: Resource::new(uri, name),
            handler: DynamicHandler::new(move |_, context| {
                let future = handler(context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }

    /// Sets the size of the contents in bytes, before any encoding.
    #[must_use]
    pub fn size(mut self, size: u64) -> Self {
        self.resource.size = Some(size);
        self
    }
}

/// A resource template defined at run time.
pub struct DynamicTemplate {
    pub(crate) template: ResourceTemplate,
    pub(crate) any_path: Vec<String>,
    pub(crate) lister: Option<Arc<dyn Lister>>,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicTemplate, template);

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
        let mut template = ResourceTemplate::default();
        template.uri_template = uri_template.into();
        template.name = name.into();
        Self {
            template,
            any_path: Vec::new(),
            lister: None,
            handler: DynamicHandler::new(move |arguments, context| {
                let future = handler(arguments, context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }

    /// Sets the completion candidates for a variable.
    #[must_use]
    pub fn candidates(
        mut self,
        variable: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.handler.add_candidates(variable, candidates);
        self
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

/// Builder methods shared by resources and templates.
macro_rules! readable {
    ($name:ident, $wire:ident) => {
        impl $name {
            /// Sets the media type.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.$wire.mime_type = Some(mime_type.into());
                self
            }

            /// Sets the annotations, such as audience and priority.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.$wire.annotations = Some(annotations);
                self
            }

            /// Sets how long clients may cache the contents. Defaults to the server's value.
            #[must_use]
            pub fn ttl(mut self, ttl: Duration) -> Self {
                self.handler.ttl = Some(ttl);
                self
            }

            /// Sets which clients may use the cached contents. Defaults to the server's value.
            #[must_use]
            pub fn cache(mut self, scope: CacheScope) -> Self {
                self.handler.cache = Some(scope);
                self
            }
        }
    };
}

readable!(DynamicResource, resource);

readable!(DynamicTemplate, template);

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
        handler.tags.iter().map(|tag| &**tag)
    }

    /// Returns the name or URI of the definition.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool(definition) => &definition.tool.name,
            Self::Prompt(definition) => &definition.prompt.name,
            Self::Resource(definition) => &definition.resource.uri,
            Self::Template(definition) => &definition.template.uri_template,
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
    ($name:ident, $variant:ident, $list:ident, $wire:ident.$key:ident) => {
        impl sealed::Sealed for $name {}

        impl ItemKind for $name {
            const LIST: Capability = Capability::$list;

            fn into_item(self) -> DynamicItem {
                DynamicItem::$variant(self)
            }

            fn key(&self) -> &str {
                &self.$wire.$key
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
