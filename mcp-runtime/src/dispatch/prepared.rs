//! A call on its way into user code: its context is made, its arguments are decoded, its handler is started.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use crate::context::{Asking, Context, Outbound, RequestContext};
use crate::dispatch::Dispatcher;
use crate::dispatch::ask::{Asks, Way};
use crate::dispatch::blocking::on_a_thread;
use crate::dispatch::call::{RunningCall, Scope, Started, run};
use crate::dispatch::finish::{Finish, Located, Outcome, Target};
use crate::dispatch::journal::{Journal, Responses};
use crate::dispatch::request::{Request, Sender};
use crate::dispatch::rounds::Round;
use crate::dispatch::seal::{self, Refused};
use crate::dispatch::session::CompletionBudget;
use crate::dispatch::stream::{CallStream, LogBudget, Reports, Sink};
use crate::handler::call::{Refusal, Success};
use crate::handler::tool_error::ToolError;
use crate::jsonrpc::{ErrorObject, Member};
use crate::protocol::encode::CacheHint;
use crate::protocol::{Era, errors};
use crate::registry::{self, Completing, Listing, Pace, PromptEntry, Readable, ToolEntry};

/// A call that may be made: everything about the request is in order, except perhaps its arguments.
pub(crate) struct Prepared<'m> {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) request: Request<'m>,
    /// What the session may still log, if it is more than this call.
    pub(super) logs: Option<Arc<LogBudget>>,
    pub(super) work: Work<'m>,
}

/// What is to be run. A call is moved about, and most are of tools: what is larger is in a box.
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
    Complete(Box<Completion>),
    List(Box<Listing>, CacheHint),
}

/// What is to be read.
pub(super) struct Reading<'m> {
    pub(super) readable: Readable,
    pub(super) uri: Cow<'m, str>,
}

/// What is to be completed.
pub(super) struct Completion {
    pub(super) completer: Completing,
    pub(super) partial: String,
    pub(super) earlier: Option<String>,
    /// Charged when the call starts: a request that waited is decided on more than once.
    pub(super) budget: Option<Arc<CompletionBudget>>,
}

impl Prepared<'_> {
    /// The request that is answered in the end.
    #[cfg(feature = "http")]
    pub(crate) fn id(&self) -> &crate::jsonrpc::RequestId {
        &self.request.id
    }

    /// Whether the first poll should not be made by whoever leads a connection, because earlier ones took long.
    pub(crate) fn pace(&self) -> Option<&Arc<Pace>> {
        match &self.work {
            Work::Tool { entry, .. } => Some(&entry.pace),
            Work::Prompt { entry, .. } => Some(&entry.pace),
            Work::Read(reading) => Some(reading.readable.pace()),
            Work::Complete(_) | Work::List(..) => None,
        }
    }

    /// Starts the call: decodes its arguments, and runs a synchronous handler to its end.
    ///
    /// `sink` makes the stream for what the call sends before its answer; it is asked for only if that may happen.
    pub(crate) fn start(self, sink: &dyn Fn() -> Arc<dyn Sink>) -> Started {
        let Self {
            dispatcher,
            request,
            logs,
            work,
        } = self;
        let limit = work.timeout().unwrap_or(dispatcher.limits().tool_time);
        let finish = Finish {
            dispatcher: Arc::clone(&dispatcher),
            id: request.id.clone(),
            version: request.version,
            target: work.target(),
            caller: request.caller.clone(),
        };
        let arguments = work.arguments();
        let resumed = match resume(&finish, &request, arguments) {
            Ok(resumed) => Cell::new(resumed),
            Err(error) => {
                let refusal = Refusal::Error(ToolError::protocol(error));
                return Started::Done(finish.with(Outcome::Refused(refusal)));
            }
        };
        let made = OnceCell::new();
        let context = || {
            made.get_or_init(|| {
                let asking =
                    arguments.map(|arguments| (arguments, resumed.take().unwrap_or_default()));
                make_context(&dispatcher, &request, logs.clone(), sink, asking)
            })
            .context
            .clone()
        };
        if crate::context::current::is_forwarding() {
            context();
        }
        let stream = made.get().map(|made: &Made| &made.stream);
        let started = run(stream, || work.start(&context));
        let mut scope = made.into_inner().map_or_else(Scope::default, |made| Scope {
            context: Some(made.context),
            stream: Some(made.stream),
            asks: Some(made.asks),
        });
        let outcome = match started {
            Ok(Ok(registry::Started::Running(future))) => {
                return Started::Running(RunningCall::new(future, finish, scope, limit));
            }
            Ok(Ok(registry::Started::Blocking(work))) => match on_a_thread(&dispatcher, work) {
                Ok((future, placed)) => {
                    let call = RunningCall::new(future, finish, scope, limit);
                    return Started::Running(call.counting_from(placed));
                }
                Err(error) => Outcome::Refused(error.into()),
            },
            Ok(Ok(registry::Started::Done(output))) => Outcome::Output(output),
            Ok(Err(refusal)) => Outcome::Refused(refusal),
            Err(panic) => Outcome::Panicked(panic),
        };
        scope.close();
        Started::Done(finish.with(outcome))
    }
}

impl<'m> Work<'m> {
    fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Tool { entry, .. } => entry.timeout,
            Self::Prompt { entry, .. } => entry.timeout,
            Self::Read(reading) => reading.readable.timeout(),
            Self::Complete(_) | Self::List(..) => None,
        }
    }

    /// The arguments, if what is called may ask the client.
    fn arguments(&self) -> Option<&'m str> {
        match self {
            Self::Tool { arguments, .. } | Self::Prompt { arguments, .. } => Some(arguments),
            Self::Read(_) => Some("{}"),
            Self::Complete(_) | Self::List(..) => None,
        }
    }

    fn target(&self) -> Target {
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

    fn start(self, context: &dyn Fn() -> Context) -> Result<registry::Started, Refusal> {
        match self {
            Self::Tool { entry, arguments } => entry.handler.start(arguments, context),
            Self::Prompt { entry, arguments } => entry.start(arguments, context),
            Self::Read(reading) => reading.readable.start(context),
            Self::Complete(completion) => {
                let Completion {
                    completer,
                    partial,
                    earlier,
                    budget,
                } = *completion;
                if budget.is_some_and(|budget| !budget.take()) {
                    let error = errors::too_many("completions", Duration::from_millis(100));
                    return Err(ToolError::protocol(error).into());
                }
                completer.start(&partial, earlier.as_deref(), context)
            }
            Self::List(listing, _) => {
                let members = listing.start(context());
                Ok(registry::Started::Running(Box::pin(async move {
                    members.await.map(Success::List)
                })))
            }
        }
    }
}

/// What came with a request that goes on with an earlier one: what the call remembers, and answers to nothing it remembers.
type Resumed = (Journal, Responses);

/// Reads the state and the answers of a modern request. A state that is there must be ours, whether or not it is needed.
///
/// `None` if it goes on with nothing, as nearly every call does.
fn resume(
    finish: &Finish,
    request: &Request<'_>,
    arguments: Option<&str>,
) -> Result<Option<Resumed>, ErrorObject> {
    let Some(arguments) = arguments.filter(|_| request.version.era() == Era::Modern) else {
        return Ok(None);
    };
    let has = |member| request.params.get(member).is_some();
    if !has(Member::InputResponses) && !has(Member::RequestState) {
        return Ok(None);
    }
    let (mut journal, mut responses) = Resumed::default();
    if let Some(json) = request.params.get(Member::InputResponses) {
        let given = Some(json).filter(|json| json.starts_with('{'));
        let given = given.and_then(|json| serde_json::from_str(json).ok());
        let name = Member::InputResponses.as_str();
        responses = given.ok_or_else(|| errors::invalid_member(name, "an object"))?;
    }
    if request.params.get(Member::RequestState).is_some() {
        let limits = finish.dispatcher.limits();
        let state = request.string(Member::RequestState, limits.request_state)?;
        let binding = finish.binding(arguments).digest();
        let sealed = finish
            .dispatcher
            .settings
            .seal
            .open(&binding, &state, seal::now());
        let sealed = sealed.map_err(|refused| {
            tracing::warn!(
                ?refused,
                called = finish.name(),
                "a `requestState` was refused"
            );
            refused.into_error()
        })?;
        journal = Journal::read(&sealed).ok_or_else(|| Refused::Malformed.into_error())?;
        journal.enter(&mut responses);
        // Only what was asked is answered.
        responses.clear();
    }
    Ok(Some((journal, responses)))
}

/// What is made for a handler that takes a context.
struct Made {
    context: Context,
    stream: Arc<CallStream>,
    asks: Arc<Asks>,
}

/// Makes the context of a call, when its handler first asks for one. `asking` is there if the call may ask the client.
fn make_context(
    dispatcher: &Arc<Dispatcher>,
    request: &Request<'_>,
    logs: Option<Arc<LogBudget>>,
    sink: &dyn Fn() -> Arc<dyn Sink>,
    asking: Option<(&str, Resumed)>,
) -> Made {
    let sink = sink();
    // A handler that needs a capability asks for it with `requires`, which reports what cannot be read.
    let capabilities = request.sender.capabilities().unwrap_or_default();
    let way = match (asking, &request.sender) {
        (None, _) => Way::None,
        (Some(_), Sender::Legacy(client)) => Way::Requests {
            pending: Arc::clone(&client.pending),
            sink: Arc::clone(&sink),
            waiting: Mutex::default(),
        },
        (Some((arguments, (journal, responses))), Sender::Modern(_)) => {
            Way::Rounds(Round::new(journal, responses, arguments))
        }
    };
    let asks = Arc::new(Asks::new(
        dispatcher,
        request.version,
        Arc::clone(&capabilities),
        way,
    ));
    let stream = Arc::new(CallStream {
        sink,
        version: request.version,
        token: request.progress_token().map(Into::into),
        level: if dispatcher.settings.logging {
            request.sender.log_level()
        } else {
            super::session::LogLevel::Off
        },
        logs: logs.unwrap_or_else(|| Arc::new(LogBudget::new(dispatcher.limits().logs))),
        state: Mutex::new(Reports::new(dispatcher.limits().progress)),
    });
    let context = Context::new(RequestContext {
        client: request.sender.client(),
        caller: request.caller.clone(),
        capabilities,
        meta: request.params.get(Member::Meta).map(Into::into),
        outbound: Arc::clone(&stream) as Arc<dyn Outbound>,
        asking: Arc::clone(&asks) as Arc<dyn Asking>,
        cancelled: OnceLock::new(),
        states: Arc::clone(&dispatcher.settings.states),
        server: dispatcher.handle(),
    });
    Made {
        context,
        stream,
        asks,
    }
}
