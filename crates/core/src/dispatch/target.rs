//! A call's target: its callable, and the request details needed for the response.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::{AwaitedValues, Context, States};
use crate::dispatch::sources::{SourcePage, SourcedTarget};
use crate::handler::definition::Kind;
use crate::handler::handler_error::{CallRefusal, HandlerError};
use crate::handler::option::AttachedOption;
use crate::handler::run::{CallOutput, ExtensionResult};
use crate::observe::CalledItem;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::CacheHint;
use crate::registry::{
    Callable, FirstPollPace, HandlerGuards, HandlerProgress, ItemDetails, OutputChecker,
    PartialPage, RequestedCompleter,
};
use crate::types::Tool;

/// A call's target. Kept small because calls are moved frequently.
#[derive(Clone)]
pub(super) enum CallTarget {
    /// A tool or a prompt.
    Named(Arc<Callable>),
    /// A resource or a resource template.
    Read(Arc<ReadTarget>),
    /// An argument to complete.
    Completion(Arc<CompletionTarget>),
    /// A page of resources or tools listed by user code.
    List(Arc<ListTarget>),
    /// A tool of an author's source.
    Sourced(Arc<SourcedTarget>),
    /// A method of an extension.
    Method(Arc<MethodTarget>),
}

/// A method of an extension.
pub(super) struct MethodTarget {
    pub(super) callable: Arc<Callable>,
    /// The result types that the method may return besides `complete`.
    pub(super) result_types: Arc<[String]>,
    /// `true` if the handler may forward questions to the client.
    pub(super) may_ask: bool,
    /// `true` if the method belongs to the framework.
    pub(super) is_built_in: bool,
}

/// A resource or resource template, and the URI to be read.
pub(super) struct ReadTarget {
    pub(super) callable: Arc<Callable>,
    /// The URI in its normal form.
    pub(super) uri: Arc<str>,
    /// The URI as the client wrote it, if it is not in its normal form.
    pub(super) requested: Option<Box<str>>,
}

impl ReadTarget {
    /// Returns the URI as the client wrote it.
    pub(super) fn requested_uri(&self) -> &str {
        self.requested.as_deref().unwrap_or(&self.uri)
    }

    /// Returns the URI for the contents: as the client wrote it, or in its normal form if the client wrote characters that
    /// a URI cannot contain.
    pub(super) fn contents_uri(&self) -> &str {
        let requested = self.requested.as_deref();
        requested.filter(|uri| uri.is_ascii()).unwrap_or(&self.uri)
    }
}

/// An argument to complete.
pub(super) struct CompletionTarget {
    pub(super) completer: RequestedCompleter,
    /// The prompt or template to which the argument belongs.
    pub(super) of: Arc<str>,
    pub(super) argument: String,
    pub(super) partial: String,
}

/// A page listed by user code.
pub(super) struct ListTarget {
    pub(super) page: UnfinishedPage,
    pub(super) cache: CacheHint,
}

/// A page for which user code must run.
pub(super) enum UnfinishedPage {
    Resources(Arc<PartialPage>),
    Tools(Arc<SourcePage>),
}

impl CallTarget {
    /// Returns the callable, or `None` if the call has no options.
    #[inline]
    pub(super) fn callable(&self) -> Option<&Callable> {
        match self {
            Self::Named(callable) => Some(callable),
            Self::Read(read) => Some(&read.callable),
            Self::Completion(completion) => completion.completer.callable(),
            Self::Method(method) => Some(&method.callable),
            Self::List(_) => None,
            Self::Sourced(sourced) => sourced.found().map(|found| &**found),
        }
    }

    /// Returns the name of the author's source that is being asked.
    pub(super) fn asked_source(&self) -> Option<Arc<str>> {
        match self {
            Self::Sourced(sourced) => sourced.asked.name(),
            Self::List(list) => match &list.page {
                UnfinishedPage::Tools(page) => page.asked.name(),
                UnfinishedPage::Resources(_) => None,
            },
            _ => None,
        }
    }

    /// Returns the values that the call waits for before its handler starts, if there are any.
    pub(super) fn awaited(&self, states: &States) -> Option<&AwaitedValues> {
        let awaited = self.callable().map(|callable| &callable.awaited);
        awaited.filter(|awaited| awaited.are_missing(states))
    }

    pub(super) fn guards(&self) -> Option<&HandlerGuards> {
        self.callable().map(|callable| &callable.guards)
    }

    /// Returns the options that add-ons define.
    pub(super) fn options(&self) -> &[AttachedOption] {
        self.callable().map_or(&[], |callable| &callable.options)
    }

    /// Returns the tool that is called.
    #[inline]
    pub(super) fn called_tool(&self) -> Option<&Callable> {
        match self {
            Self::Named(callable) if callable.as_tool().is_some() => Some(callable),
            _ => None,
        }
    }

    pub(super) fn pace(&self) -> Option<&Arc<FirstPollPace>> {
        self.callable().map(|callable| &callable.pace)
    }

    /// If the target is a tool, returns its definition and the details of its structured output.
    #[inline]
    pub(super) fn tool(&self) -> Option<(&Tool, &OutputChecker)> {
        let callable = match self {
            Self::Named(callable) => callable,
            Self::Sourced(sourced) => sourced.found()?,
            _ => return None,
        };
        match &callable.details {
            ItemDetails::Tool { tool, outputs } => Some((tool, outputs)),
            _ => None,
        }
    }

    /// Returns the target's kind and the name in the request, or the URI in its normal form. Returns `None` for a list.
    pub(super) fn kind_and_name(&self) -> Option<(Kind, &Arc<str>)> {
        match self {
            Self::Named(callable) => Some((callable.kind(), &callable.name)),
            Self::Read(read) => Some((read.callable.kind(), &read.uri)),
            Self::Completion(completion) => Some((Kind::Completer, &completion.of)),
            Self::Method(method) => Some((Kind::ExtensionMethod, &method.callable.name)),
            Self::Sourced(sourced) => Some((Kind::Tool, &sourced.name)),
            Self::List(_) => None,
        }
    }

    /// Returns the kind and the name that middleware sees, or `None` for a list and a method of the framework, which
    /// bypass middleware: both are asked for again and again, and neither runs a handler of the author.
    pub(super) fn seen_by_middleware(&self) -> Option<(Kind, &Arc<str>)> {
        match self {
            Self::Method(method) if method.is_built_in => None,
            _ => self.kind_and_name(),
        }
    }

    /// Returns the argument to complete, if there is one.
    pub(super) fn completed_argument(&self) -> Option<&str> {
        match self {
            Self::Completion(completion) => Some(&completion.argument),
            _ => None,
        }
    }

    /// Returns the name to use in the log.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Named(callable) => &callable.name,
            Self::Read(read) => &read.uri,
            Self::Completion(_) => "a completer",
            Self::Method(method) => &method.callable.name,
            Self::List(list) => match list.page {
                UnfinishedPage::Resources(_) => "resources/list",
                UnfinishedPage::Tools(_) => "tools/list",
            },
            Self::Sourced(sourced) => &sourced.name,
        }
    }

    /// Returns the target as observers see it.
    pub(super) fn called_item(&self) -> CalledItem<'_> {
        match self.kind_and_name() {
            // The client may have made the name up.
            Some(_) if matches!(self, Self::Sourced(_)) => CalledItem::Other,
            Some((Kind::Tool, name)) => CalledItem::Tool(name),
            Some((Kind::Prompt, name)) => CalledItem::Prompt(name),
            Some((Kind::Resource | Kind::ResourceTemplate, uri)) => CalledItem::Resource(uri),
            Some((Kind::ExtensionMethod, name)) => CalledItem::Method(name),
            Some((Kind::Completer, _)) | None => CalledItem::Other,
        }
    }

    /// Returns `true` if an extension's result may answer the call, either as a declared result of the extension's own
    /// method or in place of a core method's result.
    pub(super) fn accepts(&self, result: &ExtensionResult, version: ProtocolVersion) -> bool {
        let name = result.type_name();
        match self {
            Self::Method(method) => {
                let mut types = method.result_types.iter();
                name == ExtensionResult::COMPLETE || types.any(|known| known == name)
            }
            Self::Named(_) | Self::Read(_) | Self::Sourced(_) => result.is_admitted(version),
            Self::Completion(_) | Self::List(_) => false,
        }
    }

    /// Returns the part of the arguments to which the call's state is bound, or `None` if the called handler may not
    /// ask the client questions.
    pub(super) fn bound_arguments<'a>(&self, arguments: &'a str) -> Option<&'a str> {
        match self {
            Self::Named(_) | Self::Sourced(_) => Some(arguments),
            // The URI already contains the arguments.
            Self::Read(_) => Some("{}"),
            Self::Method(method) => method.may_ask.then_some("{}"),
            Self::Completion(_) | Self::List(_) => None,
        }
    }

    /// Starts the call without any middleware.
    ///
    /// # Errors
    ///
    /// Fails if the arguments (a JSON object) are invalid or an injected value is unavailable.
    pub(super) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match self {
            Self::Named(callable) => callable.start(arguments, context),
            Self::Read(read) => read.callable.start(arguments, context),
            Self::Completion(completion) => completion.start(arguments, context),
            Self::Method(method) => method.callable.start(arguments, context),
            Self::List(list) => {
                let context = context();
                Ok(HandlerProgress::Running(match &list.page {
                    UnfinishedPage::Resources(page) => {
                        let page = Arc::clone(page).start_composing(context);
                        Box::pin(async move { page.await.map(CallOutput::List) })
                    }
                    UnfinishedPage::Tools(page) => {
                        let page = Arc::clone(page).compose(context);
                        Box::pin(async move { page.await.map(CallOutput::List) })
                    }
                }))
            }
            // `prepared` finds the tool first.
            Self::Sourced(_) => {
                let bug = HandlerError::framework_bug("a tool was called before it was found");
                Err(CallRefusal::Error(bug))
            }
        }
    }
}

impl CompletionTarget {
    /// Combines the arguments already filled in (`earlier`, a JSON object) and the argument being typed into a single
    /// JSON object.
    pub(super) fn arguments(&self, earlier: Option<&str>) -> String {
        let earlier = earlier.and_then(|earlier| serde_json::from_str(earlier).ok());
        let mut arguments: Map<String, Value> = earlier.unwrap_or_default();
        arguments.insert(self.argument.clone(), Value::from(self.partial.as_str()));
        Value::Object(arguments).to_string()
    }

    /// Starts the completer with arguments in the form that [`arguments`](Self::arguments) returns.
    fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        let mut earlier: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let partial = earlier.shift_remove(&self.argument);
        let partial = partial.as_ref().and_then(Value::as_str).unwrap_or_default();
        self.completer.start(partial, &earlier, context)
    }
}
