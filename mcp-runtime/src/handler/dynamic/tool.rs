//! Tools created at run time.

use std::future::Future;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Arguments, DynamicHandler, builder};
use crate::context::Context;
use crate::handler::call::{running, tool};
use crate::handler::option::AttachedOption;
use crate::handler::output::IntoToolResult;
use crate::types::{Icon, Tool, ToolAnnotations};

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
