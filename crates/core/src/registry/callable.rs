//! A tool, prompt, resource, resource template, completer or extension method that is ready to be called: its data and
//! a type-erased handler.
//!
//! `declared` creates callables from annotated functions, and `dynamic` creates them from definitions created at run
//! time, both through a `draft`. From then on, all callables are treated in the same way.

use std::any::{Any, TypeId};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_schema::check::Validator;
use mcp_schema::explain::{Fault, describe_faults, missing_name_message};
use mcp_schema::template::UriTemplate;
use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::context::{AwaitedValues, Context};
use crate::handler::access::Access;
use crate::handler::completion::Candidates;
use crate::handler::decode::{Decoder, HeaderArgument, strings, to_map};
use crate::handler::definition::{ClientFeature, Kind};
use crate::handler::dynamic::{Arguments, DynamicRun};
use crate::handler::handler_error::{CallRefusal, HandlerError};
use crate::handler::listing::{Lister, Page};
use crate::handler::middleware::Next;
use crate::handler::option::{AttachedOption, ToolUse};
use crate::handler::run::{Blocking, CallOutput, HandlerCall, Output, Run, Running};
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::{CacheHint, one_line};
use crate::protocol::shape::ShapeForVersion;
use crate::protocol::shape::structured::OutputRoot;
use crate::rate::{RateLimiter, SharedQuota};
use crate::types::{CacheScope, CallToolResult, Prompt, Resource, ResourceTemplate, Tool};

/// A callable of any kind.
#[derive(Debug)]
pub struct Callable {
    /// The key by which requests look up the callable: a name, a URI or a URI template.
    pub name: Arc<str>,
    pub(crate) details: ItemDetails,
    pub handler: Handler,
    pub(crate) guards: HandlerGuards,
    /// The options that add-ons define.
    pub(crate) options: Box<[AttachedOption]>,
    /// What is put around calls, once one of them has needed it.
    pub(crate) around: OnceLock<Next>,
    pub(crate) access: Access,
    pub tags: Box<[Box<str>]>,
    /// The client capabilities that calls require.
    pub(crate) requires: Box<[ClientFeature]>,
    /// The completers for the arguments.
    pub(crate) completions: ArgumentCompleters,
    /// The cache hint for resource contents.
    pub(crate) cache: CacheHint,
    pub(crate) pace: Arc<FirstPollPace>,
    /// The values that calls wait for before the handler starts.
    pub(crate) awaited: AwaitedValues,
}

/// The function that lists a template's resources, and the state for which it waits.
#[derive(Clone, Debug)]
pub struct TemplateLister {
    lister: Arc<dyn Lister>,
    awaited: Arc<AwaitedValues>,
}

impl TemplateLister {
    pub(super) fn new(lister: impl Into<Arc<dyn Lister>>, awaited: AwaitedValues) -> Self {
        Self {
            lister: lister.into(),
            awaited: Arc::new(awaited),
        }
    }

    /// Returns the page at a cursor.
    pub(super) async fn list(
        &self,
        context: Context,
        cursor: Option<String>,
    ) -> Result<Page<Resource>, HandlerError> {
        let context = self.awaited.prepare(context).await?;
        self.lister.list(context, cursor).await
    }
}

/// The definition as it appears in lists, and the data specific to its kind.
#[derive(Debug)]
pub enum ItemDetails {
    Tool {
        tool: Tool,
        outputs: OutputChecker,
    },
    Prompt(Prompt),
    Resource(Resource),
    Template {
        template: ResourceTemplate,
        pattern: UriTemplate,
        lister: Option<TemplateLister>,
    },
    /// A completer, which does not appear in any list.
    Completer,
    /// A method of an extension, which does not appear in any list.
    Method,
}

impl Callable {
    /// Returns `true` if the callable has an option of this type.
    pub(crate) fn has_option(&self, option: TypeId) -> bool {
        self.options.iter().any(|it| it.is(option))
    }

    /// Returns `true` if an option puts something around calls.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.options.iter().any(|option| option.wraps_calls())
    }

    /// Decodes the arguments, a JSON object, and starts the call. This may run user code and may even complete the
    /// call.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are invalid or an injected value is unavailable.
    pub(crate) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        if let ItemDetails::Prompt(prompt) = &self.details {
            let arguments = self.prompt_arguments(prompt, arguments);
            let arguments = arguments.map_err(CallRefusal::Arguments)?;
            return self.handler.start(&arguments, context);
        }
        self.handler.start(arguments, context)
    }

    /// Converts the arguments of a prompt, all of which are strings, into the form that its handler expects.
    fn prompt_arguments(&self, prompt: &Prompt, arguments: &str) -> Result<String, Vec<Fault>> {
        if let Some(decoder) = self.handler.decoder() {
            return decoder.from_strings(arguments);
        }
        let given = strings(arguments)?;
        let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
        let required = prompt.arguments.iter();
        let text = json!({"type": "string"});
        let faults: Vec<Fault> = required
            .filter(|argument| argument.required == Some(true) && !is_given(&argument.name))
            .map(|argument| {
                Fault::new(
                    "",
                    missing_name_message("argument", &argument.name, Some(&text)),
                )
            })
            .collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let given = given.iter().map(|(name, text)| (&**name, &**text));
        Ok(object_of_strings(given))
    }

    /// Returns the variables of a URI as arguments for the resource template that it matches.
    pub(crate) fn arguments<'v>(
        &self,
        variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> String {
        match self.handler.decoder() {
            Some(decoder) => decoder.from_pairs(variables),
            None => object_of_strings(variables),
        }
    }

    /// Returns the arguments in a URI in its normal form, if it has the form of this resource template.
    pub(crate) fn arguments_at(&self, uri: &str) -> Option<String> {
        let ItemDetails::Template { pattern, .. } = &self.details else {
            return None;
        };
        let variables = pattern.matches(uri)?;
        let variables = variables.iter().map(|(name, value)| (*name, &**value));
        Some(self.arguments(variables))
    }

    /// Starts a completer with the partial text and the arguments filled in earlier.
    ///
    /// Earlier arguments that cannot be converted to the parameters' types are omitted. If the completer requires one
    /// of them, or if the partial text itself cannot be converted, there are no candidates.
    ///
    /// # Errors
    ///
    /// Returns an error if an injected value is unavailable.
    pub(crate) fn complete<'e>(
        &self,
        partial: &'e str,
        earlier: impl IntoIterator<Item = (&'e str, &'e str)>,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        // The partial text is passed under the empty name, which is not a valid argument name.
        let earlier = earlier.into_iter().filter(|(name, _)| !name.is_empty());
        let pairs = std::iter::once(("", partial)).chain(earlier);
        let decoder = self.handler.decoder();
        let Some(arguments) = decoder.and_then(|decoder| decoder.from_decodable_pairs(pairs))
        else {
            return Ok(finished_completion(Vec::new()));
        };
        match self.handler.start(&arguments, context) {
            Err(CallRefusal::Arguments(_)) => Ok(finished_completion(Vec::new())),
            started => started,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.details {
            ItemDetails::Tool { .. } => Kind::Tool,
            ItemDetails::Prompt(_) => Kind::Prompt,
            ItemDetails::Resource(_) => Kind::Resource,
            ItemDetails::Template { .. } => Kind::ResourceTemplate,
            ItemDetails::Completer => Kind::Completer,
            ItemDetails::Method => Kind::ExtensionMethod,
        }
    }

    /// Returns what add-ons read from the `_meta` of a tool.
    pub fn tool_use(&self) -> ToolUse<'_> {
        let meta = self.as_tool().and_then(|tool| tool.meta.as_ref());
        meta.map(ToolUse::of_meta).unwrap_or_default()
    }

    /// Returns `true` if arguments are decoded strictly, so that a string containing a JSON object is not accepted as
    /// the object.
    pub fn is_strict(&self) -> bool {
        let decoder = self.handler.decoder();
        decoder.is_some_and(|decoder| !decoder.is_lenient())
    }

    /// Returns `true` if HTTP clients repeat arguments in headers, as requested by the definition in the list.
    pub fn mirrors_arguments(&self) -> bool {
        !self.handler.headers().is_empty()
    }

    /// Returns the definition of a tool.
    pub fn as_tool(&self) -> Option<&Tool> {
        match &self.details {
            ItemDetails::Tool { tool, .. } => Some(tool),
            _ => None,
        }
    }

    /// Returns the media type of the contents, if the definition specifies one.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        match &self.details {
            ItemDetails::Resource(resource) => resource.mime_type.as_deref(),
            ItemDetails::Template { template, .. } => template.mime_type.as_deref(),
            ItemDetails::Tool { .. }
            | ItemDetails::Prompt(_)
            | ItemDetails::Completer
            | ItemDetails::Method => None,
        }
    }

    /// Appends the definition to a list under construction, in the form that `version` requires.
    pub(crate) fn append_list_item(&self, text: &mut String, version: ProtocolVersion) {
        match &self.details {
            ItemDetails::Tool { tool, .. } => append_item(text, tool.clone(), version),
            ItemDetails::Prompt(prompt) => append_item(text, prompt.clone(), version),
            ItemDetails::Resource(resource) => append_item(text, resource.clone(), version),
            ItemDetails::Template { template, .. } => append_item(text, template.clone(), version),
            ItemDetails::Completer | ItemDetails::Method => {}
        }
    }
}

/// Returns a finished completion with these candidates.
fn finished_completion(values: Vec<String>) -> HandlerProgress {
    HandlerProgress::Done(Ok(CallOutput::Completion(Candidates {
        values,
        ranked: false,
        total: None,
    })))
}

/// Returns a JSON object of strings.
fn object_of_strings<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let members = members.into_iter();
    let members: Map<String, Value> = members
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect();
    Value::Object(members).to_string()
}

/// Remembers whether a handler blocks its thread for a long time before its first await point.
///
/// The task that serves a connection must not poll such a handler, because further messages would have to wait.
#[derive(Debug, Default)]
pub struct FirstPollPace(AtomicU32);

impl FirstPollPace {
    /// A handler is slow if its first poll takes longer than this. Spawning costs a few microseconds, which would be much for the
    /// usual handler, and little compared with what the messages behind a slow one would wait.
    const SLOW: Duration = Duration::from_micros(200);
    /// Number of calls that are spawned, rather than polled in place, after a slow first poll. The next one is a trial, so a
    /// handler that was slow only once is soon polled in place again, and one that is always slow keeps its channel from
    /// other work for one poll in 33.
    const CALLS: u32 = 32;

    /// Returns `true` if the next call should be spawned before its first poll, and counts that call.
    pub fn spawn_first(&self) -> bool {
        // The usual case needs only one load.
        self.0.load(Ordering::Relaxed) != 0
            && self
                .0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
                    calls.checked_sub(1)
                })
                .is_ok()
    }

    /// Records the duration of a first poll.
    pub fn record_first_poll(&self, first_poll: Duration) {
        if first_poll > Self::SLOW {
            self.0.store(Self::CALLS, Ordering::Relaxed);
        }
    }
}

/// The state of a call after its arguments have been accepted.
pub enum HandlerProgress {
    /// The call has finished.
    Done(Output),
    /// The call is still running.
    Running(Running),
    /// The call must run on a thread that may block.
    Blocking(Blocking),
}

/// A handler that can be called.
pub enum Handler {
    /// An annotated function.
    Function {
        run: Run,
        decoder: Decoder,
        receiver: Option<Arc<dyn Any + Send + Sync>>,
    },
    /// A closure and the rules for its arguments.
    Closure {
        run: DynamicRun,
        input: Option<ArgumentRules>,
    },
}

/// The rules for a closure's arguments.
pub struct ArgumentRules {
    pub(crate) validator: Validator,
    /// The arguments that are mirrored in headers.
    pub(crate) headers: Vec<HeaderArgument>,
}

impl Handler {
    /// Decodes the arguments, a JSON object, and starts the call. This may run user code and may even complete the
    /// call.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are invalid or an injected value is unavailable.
    pub(crate) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match self {
            Self::Function {
                run,
                decoder,
                receiver,
            } => {
                let mut call = HandlerCall::new(decoder, arguments, receiver.as_ref(), context);
                match run {
                    Run::Sync(run) => run(&mut call).map(HandlerProgress::Done),
                    Run::Async(run) => run(&mut call).map(HandlerProgress::Running),
                    Run::Blocking(run) => run(&mut call).map(HandlerProgress::Blocking),
                }
            }
            Self::Closure { run, input } => {
                let arguments = to_map(arguments).map_err(CallRefusal::Arguments)?;
                let arguments = match input {
                    None => arguments,
                    Some(input) => {
                        let arguments = Value::Object(arguments);
                        let faults = input.validator.check(&arguments);
                        if !faults.is_empty() {
                            return Err(CallRefusal::Arguments(faults));
                        }
                        match arguments {
                            Value::Object(arguments) => arguments,
                            _ => Map::new(),
                        }
                    }
                };
                Ok(HandlerProgress::Running(run(
                    Arguments(arguments),
                    context(),
                )))
            }
        }
    }

    /// Returns the arguments that are mirrored in headers.
    pub fn headers(&self) -> &[HeaderArgument] {
        match self {
            Self::Function { decoder, .. } => decoder.headers(),
            Self::Closure { input, .. } => input.as_ref().map_or(&[], |input| &input.headers),
        }
    }

    /// Returns the decoder of the arguments, or `None` for a closure.
    pub(crate) fn decoder(&self) -> Option<&Decoder> {
        match self {
            Self::Function { decoder, .. } => Some(decoder),
            Self::Closure { .. } => None,
        }
    }
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Function { .. } => "Function",
            Self::Closure { .. } => "Closure",
        })
    }
}

/// The log target for findings about definitions. Only their author causes them, so the default log leaves out none.
pub const FINDINGS: &str = "mcp_runtime::definitions";

/// Data about a tool's structured output, except for the text of the output schema.
#[derive(Debug)]
pub struct OutputChecker {
    /// The value that the output schema describes.
    pub(crate) root: OutputRoot,
    /// `true` if every value of the tool's return type matches the schema, which is derived from that type.
    conforms: bool,
    /// `true` if the schema contains numbers that may have a fractional part.
    has_numbers: bool,
    /// The validator, created on first use. `None` if the schema cannot be used.
    validator: OnceLock<Option<Box<Validator>>>,
}

impl OutputChecker {
    /// Creates the value for a function, whose schema is derived from its return type.
    pub(crate) fn for_derived_schema(schema: Option<&RawValue>, conforms: bool) -> Self {
        let finds = |schema: &RawValue| memmem::find(schema.get().as_bytes(), b"\"number\"");
        Self {
            root: OutputRoot::from_schema(schema),
            conforms,
            has_numbers: schema.and_then(finds).is_some(),
            validator: OnceLock::new(),
        }
    }

    /// Creates the value for a closure, whose schema was written by its author.
    pub(crate) fn for_written_schema(
        schema: Option<&RawValue>,
        validator: Option<Validator>,
    ) -> Self {
        Self {
            validator: OnceLock::from(validator.map(Box::new)),
            ..Self::for_derived_schema(schema, false)
        }
    }

    /// If a result does not match the schema, returns the reason. `was_touched` is `true` if other code may have
    /// modified the result.
    pub(crate) fn output_problem(
        &self,
        tool: &Tool,
        result: &CallToolResult,
        was_touched: bool,
    ) -> Option<String> {
        let schema = tool.output_schema.as_deref()?;
        if result.is_error {
            return None;
        }
        let Some(structured) = &result.structured_content else {
            return Some(
                "the tool has an output schema, but the result has no structured content"
                    .to_owned(),
            );
        };
        let text = structured.get();
        let fits = self.conforms && !was_touched;
        if fits && !(self.has_numbers && has_null(text)) {
            return None;
        }
        self.check_json(tool, schema, text)
    }

    #[cold]
    fn check_json(&self, tool: &Tool, schema: &RawValue, text: &str) -> Option<String> {
        let made = self.validator.get_or_init(|| {
            let made = serde_json::from_str(schema.get()).map_err(|error| error.to_string());
            let made = made.and_then(Validator::new).inspect_err(|problem| {
                let tool = &tool.name;
                tracing::warn!(
                    target: FINDINGS,
                    tool,
                    problem,
                    "results are not validated against the output schema"
                );
            });
            made.ok().map(Box::new)
        });
        let validator = made.as_deref()?;
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return Some(format!("the structured content cannot be read: {error}")),
        };
        let faults = validator.check_output(&value, text.len());
        if faults.is_empty() {
            return None;
        }
        let mut problem = describe_faults(&faults);
        if self.has_numbers && has_null(text) {
            problem += "\nNaN and infinity, which JSON cannot represent, are written as null";
        }
        Some(problem)
    }
}

fn has_null(json: &str) -> bool {
    memmem::find(json.as_bytes(), b"null").is_some()
}

/// The limits for a single handler. The server's limits apply as well.
#[derive(Debug, Default)]
pub struct HandlerGuards {
    pub(crate) timeout: Option<Duration>,
    pub(crate) rate: Option<RateLimiter>,
    /// The rates that the definition shares with others.
    pub(crate) quotas: Box<[Arc<SharedQuota>]>,
    pub(crate) permits: Option<CallPermits>,
    /// Maximum size of a result, in bytes.
    pub(crate) max_output: Option<usize>,
    /// `true` if a result that is larger is replaced before its response, with the request's id, is written.
    pub(crate) fits_output: bool,
}

/// Returns the cache hint for resource contents. If access is restricted, the contents may be cached only for the
/// caller.
pub(super) fn cache_hint(
    ttl: Option<Duration>,
    scope: Option<CacheScope>,
    access: &Access,
) -> CacheHint {
    CacheHint {
        ttl: ttl.unwrap_or_default(),
        scope: match scope {
            Some(scope) if !access.is_restricted() => scope,
            _ => CacheScope::Private,
        },
    }
}

/// Permits for concurrent calls, granted in order of arrival.
#[derive(Debug)]
pub struct CallPermits {
    free: Arc<Semaphore>,
    max: usize,
    waiting: AtomicUsize,
}

/// A permit, released when dropped.
pub type CallPermit = OwnedSemaphorePermit;

impl CallPermits {
    pub(crate) fn new(max: usize) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(max)),
            max,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Returns `true` if any permit is in use.
    pub(crate) fn in_use(&self) -> bool {
        self.free.available_permits() < self.max
    }

    /// Returns a permit if one is available.
    pub(crate) fn try_acquire(&self) -> Option<CallPermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Waits for a permit, however long it takes. Calls that wait here do not count toward the limit of
    /// [`acquire`](Self::acquire).
    pub(crate) async fn wait(&self) -> Option<CallPermit> {
        // The semaphore is never closed.
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// Waits for a permit. Returns `None` if `max_waiting` calls are already waiting. Dropping the future cancels the
    /// wait.
    pub(crate) async fn acquire(&self, max_waiting: usize) -> Option<CallPermit> {
        if let Some(permit) = self.try_acquire() {
            return Some(permit);
        }
        let _waiting = WaitingForPermit::enter(&self.waiting, max_waiting)?;
        self.wait().await
    }
}

/// A call that is waiting for a permit.
struct WaitingForPermit<'a>(&'a AtomicUsize);

impl<'a> WaitingForPermit<'a> {
    fn enter(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        let entered = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < max).then_some(entered)
    }
}

impl Drop for WaitingForPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Appends an item to a JSON array under construction, in the form that `version` requires.
pub(crate) fn append_item<T: ShapeForVersion + serde::Serialize>(
    text: &mut String,
    mut item: T,
    version: ProtocolVersion,
) {
    item.shape(version);
    match serde_json::to_string(&item) {
        Ok(item) => push_item(text, &one_line(&item)),
        // Serialization cannot fail for a type whose keys are all strings. If it did, dropping one item would be better
        // than losing the whole list.
        Err(error) => tracing::error!(%error, "a definition cannot be serialized as JSON"),
    }
}

/// Appends an item that is already JSON.
pub(super) fn push_item(text: &mut String, item: &str) {
    if !text.is_empty() && !item.is_empty() {
        text.push(',');
    }
    text.push_str(item);
}

// --- Completion candidates for the arguments of prompts and templates: a fixed set, a completer's result, or none.
//
// `handler::completion` ranks the candidates.

/// The source of an argument's candidates. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Completer {
    /// No candidates.
    Nothing,
    /// A fixed set of candidates.
    Fixed(Arc<[String]>),
    /// The candidates returned by this completer.
    Function(Arc<Callable>),
}

/// The completer for the requested argument, along with the values of other arguments in the request's URI.
#[derive(Clone, Debug)]
pub struct RequestedCompleter {
    pub(super) completer: Completer,
    /// The URI's variables, if the client referred to a template by a matching URI.
    pub(super) known: Vec<(String, String)>,
}

impl RequestedCompleter {
    /// Requests candidates for the partial text. Ignores `earlier` arguments that are not strings. If no arguments
    /// remain, the URI's variables are used instead.
    ///
    /// # Errors
    ///
    /// Returns an error if an injected value is unavailable.
    pub(crate) fn start(
        &self,
        partial: &str,
        earlier: &Map<String, Value>,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match &self.completer {
            Completer::Nothing => Ok(finished_completion(Vec::new())),
            Completer::Fixed(values) => Ok(finished_completion(values.to_vec())),
            Completer::Function(callable) => {
                let mut earlier: Vec<(&str, &str)> = earlier
                    .iter()
                    .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
                    .collect();
                if earlier.is_empty() {
                    earlier.extend(self.known.iter().map(|(name, value)| (&**name, &**value)));
                }
                callable.complete(partial, earlier, context)
            }
        }
    }

    /// Returns the completer if it is a function.
    pub(crate) fn callable(&self) -> Option<&Callable> {
        match &self.completer {
            Completer::Function(callable) => Some(callable),
            Completer::Nothing | Completer::Fixed(_) => None,
        }
    }
}

/// The completers for the arguments of a single prompt or template.
#[derive(Debug, Default)]
pub(crate) struct ArgumentCompleters(Vec<(Box<str>, Completer)>);

impl ArgumentCompleters {
    pub(crate) fn push(&mut self, argument: &str, completer: Completer) {
        self.0.push((argument.into(), completer));
    }

    /// Returns the completer for an argument, or `None` if there is no such argument.
    pub(crate) fn find(&self, argument: &str) -> Option<&Completer> {
        self.0
            .iter()
            .find(|(name, _)| **name == *argument)
            .map(|(_, completer)| completer)
    }

    /// Replaces the completer for an argument. Returns `false` if there is no such argument.
    pub(crate) fn set(&mut self, argument: &str, completer: Completer) -> bool {
        self.0
            .iter_mut()
            .find(|(name, _)| **name == *argument)
            .map(|(_, held)| *held = completer)
            .is_some()
    }

    /// Returns the names of the arguments.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Returns `true` if any argument has a completer.
    pub(crate) fn has_any(&self) -> bool {
        self.0
            .iter()
            .any(|(_, completer)| !matches!(completer, Completer::Nothing))
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::callable::*;

    #[test]
    fn contents_of_restricted_resources_are_cached_by_their_caller_only() {
        let open = Access::default();
        let closed = Access::requiring(&["read"]);
        let hint = |ttl, scope, access: &Access| {
            let hint = cache_hint(ttl, scope, access);
            (hint.ttl, hint.scope)
        };
        let public = Some(CacheScope::Public);
        let second = Duration::from_secs(1);
        assert_eq!(
            hint(None, None, &open),
            (Duration::ZERO, CacheScope::Private)
        );
        assert_eq!(
            hint(Some(second), public, &open),
            (second, CacheScope::Public)
        );
        assert_eq!(
            hint(Some(second), public, &closed),
            (second, CacheScope::Private)
        );
    }
}

#[cfg(test)]
mod pace_tests {
    use crate::registry::callable::*;

    #[test]
    fn after_a_slow_first_poll_32_calls_are_spawned_first() {
        let pace = FirstPollPace::default();
        assert!(!pace.spawn_first());
        pace.record_first_poll(Duration::from_micros(200));
        assert!(!pace.spawn_first());
        pace.record_first_poll(Duration::from_micros(201));
        for _ in 0..32 {
            assert!(pace.spawn_first());
        }
        assert!(!pace.spawn_first());
    }
}
