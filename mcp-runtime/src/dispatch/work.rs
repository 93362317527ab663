//! The work of a call: started at once with borrowed arguments, or later, as the innermost step of the middleware.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::dispatch::Dispatcher;
use crate::dispatch::blocking::{Waits, on_a_thread};
use crate::dispatch::finish::Target;
use crate::dispatch::located::Located;
use crate::handler::call::{CallOutput, CallRefusal, Running};
use crate::handler::definition::Kind;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Call, Handling};
use crate::protocol::encode::CacheHint;
use crate::registry::{
    CallPermit, Completing, Guards, HandlerProgress, PartialPage, PromptEntry, Readable, ToolEntry,
};

/// The work of a call. Calls are moved around and most of them are of tools, so larger variants are boxed.
pub(super) enum Work<'m> {
    Tool {
        entry: Arc<ToolEntry>,
        arguments: &'m str,
    },
    Prompt {
        entry: Arc<PromptEntry>,
        arguments: &'m str,
    },
    Read(Box<Reading<'m>>),
    Complete(Box<CompletionCall>),
    List(Box<PartialPage>, CacheHint),
}

/// A resource to read.
pub(super) struct Reading<'m> {
    pub(super) readable: Readable,
    pub(super) uri: Cow<'m, str>,
}

/// An argument to complete.
pub(super) struct CompletionCall {
    pub(super) completer: Completing,
    /// The prompt or template.
    pub(super) of: String,
    pub(super) argument: String,
    pub(super) partial: String,
    pub(super) earlier: Option<String>,
}

impl<'m> Work<'m> {
    pub(super) fn guards(&self) -> Option<&Guards> {
        match self {
            Self::Tool { entry, .. } => Some(&entry.guards),
            Self::Prompt { entry, .. } => Some(&entry.guards),
            Self::Read(reading) => Some(reading.readable.guards()),
            Self::Complete(completion) => completion.completer.guards(),
            Self::List(..) => None,
        }
    }

    /// Returns the arguments if the called handler may ask the client.
    pub(super) fn arguments(&self) -> Option<&'m str> {
        match self {
            Self::Tool { arguments, .. } | Self::Prompt { arguments, .. } => Some(arguments),
            Self::Read(_) => Some("{}"),
            Self::Complete(_) | Self::List(..) => None,
        }
    }

    pub(super) fn target(&self) -> Target {
        match self {
            Self::Tool { entry, .. } => Target::Tool(Arc::clone(entry)),
            Self::Prompt { entry, .. } => Target::Prompt(Arc::clone(entry)),
            Self::Read(reading) => Target::Resource(Box::new(Located {
                uri: reading.uri.clone().into_owned(),
                mime_type: reading.readable.mime_type().map(str::to_owned),
                cache: reading.readable.cache(CacheHint::default()),
            })),
            Self::Complete(completion) => Target::Completion(completion.partial.as_str().into()),
            Self::List(_, cache) => Target::List(*cache),
        }
    }

    /// Starts the work without any middleware.
    pub(super) fn start(
        self,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match self {
            Self::Tool { entry, arguments } => entry.handler.start(arguments, context),
            Self::Prompt { entry, arguments } => entry.start(arguments, context),
            Self::Read(reading) => reading.readable.start(context),
            Self::Complete(completion) => {
                let earlier = completion.earlier.as_deref();
                let completer = &completion.completer;
                completer.start(&completion.partial, earlier, context)
            }
            Self::List(listing, _) => Ok(HandlerProgress::Running(list(*listing, context()))),
        }
    }

    /// Turns the work into a call for middleware, with the handler innermost. Lists have no middleware and are returned
    /// unchanged.
    pub(super) fn into_call(
        self,
        dispatcher: &Arc<Dispatcher>,
        context: &dyn Fn() -> Context,
        round: u16,
        waits: &Waits,
    ) -> Result<Call, Self> {
        let (kind, name, arguments, callee) = match self {
            Self::Tool { entry, arguments } => {
                let name = Arc::from(entry.tool.name.as_str());
                (Kind::Tool, name, arguments.into(), Callee::Tool(entry))
            }
            Self::Prompt { entry, arguments } => {
                let name = Arc::from(entry.prompt.name.as_str());
                let callee = Callee::Prompt(entry);
                (Kind::Prompt, name, arguments.into(), callee)
            }
            Self::Read(reading) => {
                let Reading { readable, uri } = *reading;
                let arguments = readable.arguments().into();
                (
                    readable.kind(),
                    uri.into(),
                    arguments,
                    Callee::Read(readable),
                )
            }
            Self::Complete(completion) => {
                let arguments = completion.to_arguments().into();
                let name = Arc::from(completion.of.as_str());
                (
                    Kind::Completer,
                    name,
                    arguments,
                    Callee::Complete(completion),
                )
            }
            Self::List(..) => return Err(self),
        };
        let innermost = Innermost {
            dispatcher: Arc::clone(dispatcher),
            callee,
            waits: waits.clone(),
        };
        let call = (kind, name);
        Ok(Call::new(
            call,
            arguments,
            context(),
            round,
            Arc::new(innermost),
        ))
    }
}

impl CompletionCall {
    /// Returns the arguments filled in so far and the one being typed, as one JSON object.
    fn to_arguments(&self) -> String {
        let earlier = self.earlier.as_deref();
        let earlier = earlier.and_then(|earlier| serde_json::from_str(earlier).ok());
        let mut arguments: Map<String, Value> = earlier.unwrap_or_default();
        arguments.insert(self.argument.clone(), Value::from(self.partial.as_str()));
        Value::Object(arguments).to_string()
    }

    /// Starts the completer with arguments in the form of `to_arguments`.
    fn start_with(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        let mut earlier: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let partial = earlier.shift_remove(&self.argument);
        let partial = partial.as_ref().and_then(Value::as_str).unwrap_or_default();
        let earlier = Value::Object(earlier).to_string();
        self.completer.start(partial, Some(&earlier), context)
    }
}

/// The handler, wrapped by all middleware.
struct Innermost {
    dispatcher: Arc<Dispatcher>,
    callee: Callee,
    waits: Waits,
}

/// The handler that a call finally runs.
enum Callee {
    Tool(Arc<ToolEntry>),
    Prompt(Arc<PromptEntry>),
    Read(Readable),
    Complete(Box<CompletionCall>),
}

impl Callee {
    fn guards(&self) -> Option<&Guards> {
        match self {
            Self::Tool(entry) => Some(&entry.guards),
            Self::Prompt(entry) => Some(&entry.guards),
            Self::Read(readable) => Some(readable.guards()),
            Self::Complete(completion) => completion.completer.guards(),
        }
    }

    fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match self {
            Self::Tool(entry) => entry.handler.start(arguments, context),
            Self::Prompt(entry) => entry.start(arguments, context),
            Self::Read(readable) => readable.start_with(arguments, context),
            Self::Complete(completion) => completion.start_with(arguments, context),
        }
    }
}

impl Innermost {
    /// Waits for a permit among the concurrent calls of the handler, if their number is limited.
    async fn place(&self) -> Result<Option<CallPermit>, HandlerError> {
        let places = self
            .callee
            .guards()
            .and_then(|guards| guards.places.as_ref());
        let Some(places) = places else {
            return Ok(None);
        };
        let most = self.dispatcher.limits().calls.max_waiting;
        self.waits
            .place(places, most, "of these calls")
            .await
            .map(Some)
    }
}

impl Handling for Innermost {
    fn run(self: Arc<Self>, arguments: Arc<str>, context: Context) -> Running {
        Box::pin(async move {
            let place = self.place().await?;
            let started = self.callee.start(&arguments, &|| context.clone())?;
            let (dispatcher, waits) = (Arc::clone(&self.dispatcher), self.waits.clone());
            match started {
                HandlerProgress::Done(output) => output,
                HandlerProgress::Running(running) => {
                    let output = running.await;
                    drop(place);
                    output
                }
                HandlerProgress::Blocking(work) => {
                    on_a_thread(dispatcher, work, waits, place).await
                }
            }
        })
    }
}

/// Runs a list function of user code.
fn list(listing: PartialPage, context: Context) -> Running {
    let members = listing.start(context);
    Box::pin(async move { members.await.map(CallOutput::List) })
}
