//! A tool, prompt, resource, resource template, completer or extension method that is ready to be called: its data and
//! a type-erased handler.
//!
//! `declared` creates callables from annotated functions, and `dynamic` creates them from definitions created at run
//! time. From then on, all callables are treated in the same way.

use std::any::TypeId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_schema::explain::{Fault, missing_name_message};
use mcp_schema::template::UriTemplate;
use serde_json::{Map, Value, json};

use crate::context::{AwaitedValues, Context};
use crate::handler::access::Access;
use crate::handler::call::CallOutput;
use crate::handler::completion::Candidates;
use crate::handler::decode::strings;
use crate::handler::definition::{ClientFeature, Kind};
use crate::handler::handler_error::{CallRefusal, HandlerError};
use crate::handler::listing::{Lister, Page};
use crate::handler::middleware::Next;
use crate::handler::option::{AttachedOption, ToolUse};
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::CacheHint;
use crate::registry::complete::ArgumentCompleters;
use crate::registry::guards::HandlerLimits;
use crate::registry::handler::{Handler, HandlerProgress};
use crate::registry::items::append_item;
use crate::registry::outputs::OutputChecker;
use crate::types::{Prompt, Resource, ResourceTemplate, Tool};

/// A callable of any kind.
#[derive(Debug)]
pub(crate) struct Callable {
    /// The key by which requests look up the callable: a name, a URI or a URI template.
    pub(crate) name: Arc<str>,
    pub(crate) details: ItemDetails,
    pub(crate) handler: Handler,
    pub(crate) guards: HandlerLimits,
    /// The options that add-ons define.
    pub(crate) options: Box<[AttachedOption]>,
    /// What is put around calls, once one of them has needed it.
    pub(crate) around: OnceLock<Next>,
    pub(crate) access: Access,
    pub(crate) tags: Box<[Box<str>]>,
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
pub(crate) struct TemplateLister {
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
pub(crate) enum ItemDetails {
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
    pub(crate) fn tool_use(&self) -> ToolUse<'_> {
        let meta = self.as_tool().and_then(|tool| tool.meta.as_ref());
        meta.map(ToolUse::of_meta).unwrap_or_default()
    }

    /// Returns `true` if arguments are decoded strictly, so that a string containing a JSON object is not accepted as
    /// the object.
    pub(crate) fn is_strict(&self) -> bool {
        let decoder = self.handler.decoder();
        decoder.is_some_and(|decoder| !decoder.is_lenient())
    }

    /// Returns `true` if HTTP clients repeat arguments in headers, as requested by the definition in the list.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        !self.handler.headers().is_empty()
    }

    /// Returns the definition of a tool.
    pub(crate) fn as_tool(&self) -> Option<&Tool> {
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
pub(super) fn finished_completion(values: Vec<String>) -> HandlerProgress {
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
pub(crate) struct FirstPollPace(AtomicU32);

impl FirstPollPace {
    /// A handler is slow if its first poll takes longer than this.
    const SLOW: Duration = Duration::from_micros(200);
    /// Number of calls that are spawned, rather than polled in place, after a slow first poll.
    const CALLS: u32 = 32;

    /// Returns `true` if the next call should be spawned before its first poll, and counts that call.
    pub(crate) fn spawn_first(&self) -> bool {
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
    pub(crate) fn record_first_poll(&self, first_poll: Duration) {
        if first_poll > Self::SLOW {
            self.0.store(Self::CALLS, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod pace_tests {
    use super::*;

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
