//! Definitions made at run time, for what is not known when the program is compiled.
//!
//! They go into the same registry as annotated functions, before the server starts or while it runs. What is wrong with
//! one is said when it is inserted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Context, List};
use crate::handler::call::{Running, prompt, resource, tool};
use crate::handler::listing::{Lister, Page};
use crate::handler::output::IntoToolResult;
use crate::handler::prompt::IntoPrompt;
use crate::handler::resource::IntoResource;
use crate::handler::tool_error::ToolError;
use crate::types::{
    Annotations, CacheScope, Icon, Meta, Prompt, PromptArgument, Resource, ResourceTemplate,
    ToolAnnotations,
};

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

            /// With one more picture.
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
                self.timeout = Some(timeout);
                self
            }
        }
    };
}

/// A tool known only at run time.
///
/// ```
/// # use mcp_runtime::{Arguments, Context, DynamicTool, Error, ServerHandle};
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
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) annotations: Option<ToolAnnotations>,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicTool);

impl DynamicTool {
    /// A tool of this name, 1 to 128 of `A-Z a-z 0-9 _ - .`, whose arguments fit `input_schema`, an object schema.
    ///
    /// The schema is served as it stands and enforced before the handler runs.
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
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            annotations: None,
            input_schema,
            output_schema: None,
            timeout: None,
            run: Arc::new(move |arguments, context| {
                tool::boxed::<R, _>(handler(arguments, context))
            }),
        }
    }

    /// With the schema of its structured output.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// With all hints about its behaviour at once.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn read_only(mut self, hint: bool) -> Self {
        self.annotations.get_or_insert_default().read_only_hint = Some(hint);
        self
    }

    /// Whether it may delete or overwrite.
    #[must_use]
    pub fn destructive(mut self, hint: bool) -> Self {
        self.annotations.get_or_insert_default().destructive_hint = Some(hint);
        self
    }

    /// Whether calling it again with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self, hint: bool) -> Self {
        self.annotations.get_or_insert_default().idempotent_hint = Some(hint);
        self
    }

    /// Whether it reaches things outside the server.
    #[must_use]
    pub fn open_world(mut self, hint: bool) -> Self {
        self.annotations.get_or_insert_default().open_world_hint = Some(hint);
        self
    }
}

/// A prompt known only at run time.
pub struct DynamicPrompt {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) arguments: Vec<PromptArgument>,
    pub(crate) candidates: Vec<(String, Vec<String>)>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicPrompt);

impl DynamicPrompt {
    /// A prompt of this name.
    pub fn new<F, R>(
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoPrompt,
    {
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            timeout: None,
            arguments: Vec::new(),
            candidates: Vec::new(),
            run: Arc::new(move |arguments, context| {
                prompt::boxed::<R, _>(handler(arguments, context))
            }),
        }
    }

    /// With one more argument it cannot do without.
    #[must_use]
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            required: Some(true),
        })
    }

    /// With one more argument that may be left out.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            required: Some(false),
        })
    }

    /// With one more argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// With what an argument may be completed to.
    #[must_use]
    pub fn candidates(
        mut self,
        argument: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.candidates.push((
            argument.into(),
            candidates.into_iter().map(Into::into).collect(),
        ));
        self
    }
}

/// A resource with an address of its own, known only at run time.
pub struct DynamicResource {
    pub(crate) uri: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) mime_type: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Option<CacheScope>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicResource);

impl DynamicResource {
    /// A resource at `uri` under this name.
    pub fn new<F, R>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResource,
    {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            mime_type: None,
            size: None,
            annotations: None,
            timeout: None,
            ttl: None,
            cache: None,
            run: Arc::new(move |_, context| resource::boxed::<R, _>(handler(context))),
        }
    }

    /// With its size in bytes, before any encoding.
    #[must_use]
    pub fn size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }
}

/// A family of resources known only at run time.
pub struct DynamicTemplate {
    pub(crate) uri_template: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) mime_type: Option<String>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Option<CacheScope>,
    pub(crate) candidates: Vec<(String, Vec<String>)>,
    pub(crate) lister: Option<Arc<dyn Lister>>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicTemplate);

impl DynamicTemplate {
    /// The resources of an RFC 6570 template, under this name. The handler receives the template's variables.
    pub fn new<F, R>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResource,
    {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            mime_type: None,
            annotations: None,
            timeout: None,
            ttl: None,
            cache: None,
            candidates: Vec::new(),
            lister: None,
            run: Arc::new(move |arguments, context| {
                resource::boxed::<R, _>(handler(arguments, context))
            }),
        }
    }

    /// With what a variable may be completed to.
    #[must_use]
    pub fn candidates(
        mut self,
        variable: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.candidates.push((
            variable.into(),
            candidates.into_iter().map(Into::into).collect(),
        ));
        self
    }

    /// With a function that lists its resources a page at a time: given where to go on, the resources and where to go
    /// on after them.
    ///
    /// Where to go on comes back through the client, which may have changed it: check it like any input.
    #[must_use]
    pub fn list<F>(
        mut self,
        list: impl Fn(Context, Option<String>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Page<Resource>, ToolError>> + Send + 'static,
    {
        self.lister = Some(Arc::new(DynamicLister(move |context, cursor| {
            let listed: Listed = Box::pin(list(context, cursor));
            listed
        })));
        self
    }
}

/// What resources and templates share.
macro_rules! readable {
    ($name:ident) => {
        impl $name {
            /// With its media type.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.mime_type = Some(mime_type.into());
                self
            }

            /// With whom it is for, and how much it matters.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.annotations = Some(annotations);
                self
            }

            /// With how long a client may reuse what it read. Default: that of the server.
            #[must_use]
            pub fn ttl(mut self, ttl: Duration) -> Self {
                self.ttl = Some(ttl);
                self
            }

            /// With who may share what was read. Default: that of the server.
            #[must_use]
            pub fn cache(mut self, scope: CacheScope) -> Self {
                self.cache = Some(scope);
                self
            }
        }
    };
}

readable!(DynamicResource);
readable!(DynamicTemplate);

type Listed = Pin<Box<dyn Future<Output = Result<Page<Resource>, ToolError>> + Send>>;

/// A closure as a [`Lister`].
struct DynamicLister<F>(F);

impl<F: Fn(Context, Option<String>) -> Listed + Send + Sync> Lister for DynamicLister<F> {
    fn list(&self, context: Context, cursor: Option<String>) -> Listed {
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

impl DynamicPrompt {
    pub(crate) fn definition(&self) -> Prompt {
        Prompt {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            arguments: self.arguments.clone(),
            icons: self.icons.clone(),
            meta: self.meta.clone(),
        }
    }
}

impl DynamicResource {
    pub(crate) fn definition(&self) -> Resource {
        Resource {
            uri: self.uri.clone(),
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            mime_type: self.mime_type.clone(),
            size: self.size,
            annotations: self.annotations.clone(),
            icons: self.icons.clone(),
            meta: self.meta.clone(),
        }
    }
}

impl DynamicTemplate {
    pub(crate) fn definition(&self) -> ResourceTemplate {
        ResourceTemplate {
            uri_template: self.uri_template.clone(),
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            mime_type: self.mime_type.clone(),
            annotations: self.annotations.clone(),
            icons: self.icons.clone(),
            meta: self.meta.clone(),
        }
    }
}
