//! The state behind a handler's context, held in a single allocation.

use std::sync::{Arc, Mutex, OnceLock};

use crate::context::{
    CallEnding, CallHandle, NotificationSender, QuestionTransport, RequestContext, RequestInfo,
    RequestSource,
};
use crate::dispatch::Dispatcher;
use crate::dispatch::ask::{ClientQuestions, QuestionDelivery};
use crate::dispatch::request::{Request, RequestSender};
use crate::dispatch::rounds::{CallMemory, Round};
use crate::dispatch::stream::{CallLogBudget, CallMessages, CallStream, LogBudget, LogLevel, Sink};
use crate::jsonrpc::Member;

/// The call state shared by the handler and the dispatcher. `M` sends the call's messages: to the client with
/// [`CallStream`], or wherever the messages of a call go that runs apart from its request.
pub(super) struct CallContext<M: CallMessages = CallStream> {
    pub(super) request: RequestContext,
    pub(super) messages: M,
    pub(super) asks: ClientQuestions,
    pub(super) ending: CallEnding,
}

impl CallContext {
    /// Creates the state when the handler's context is first requested. `asking` is `Some` if the call may ask the
    /// client questions.
    pub(super) fn new(
        dispatcher: &Arc<Dispatcher>,
        (request, source): (&Request<'_>, &RequestSource),
        logs: Option<Arc<LogBudget>>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
        asking: Option<(&str, Option<Box<CallMemory>>)>,
    ) -> Self {
        let sink = sink();
        let capabilities = request.sender.capabilities();
        let way = match (asking, &request.sender) {
            (None, _) => QuestionDelivery::None,
            (Some(_), RequestSender::Legacy(client)) => QuestionDelivery::Requests {
                pending: Arc::clone(&client.pending),
                sink: Arc::clone(&sink),
                waiting: Mutex::default(),
            },
            (Some((arguments, memory)), RequestSender::Modern(_)) => {
                QuestionDelivery::Rounds(Round::new(memory, arguments))
            }
        };
        let version = request.version;
        let own_logs = || CallLogBudget::Own(OnceLock::new());
        Self {
            ending: CallEnding::default(),
            asks: ClientQuestions::new(dispatcher, version, Arc::clone(&capabilities), way),
            messages: CallStream {
                sink,
                version,
                token: request.progress_token().map(Into::into),
                level: if dispatcher.settings.logging {
                    request.sender.log_level()
                } else {
                    LogLevel::Off
                },
                longest: dispatcher.limits().log.max_message_bytes,
                logs: logs.map_or_else(own_logs, CallLogBudget::Session),
                log_rate: dispatcher.limits().log.max_per_second,
                rate: dispatcher.limits().calls.max_progress_per_second,
                state: Mutex::default(),
            },
            request: RequestContext {
                client: request.sender.client(),
                info: RequestInfo::new(version, dispatcher.request_source(request, source)),
                caller: request.caller.clone(),
                selection: request.selection.clone(),
                version,
                capabilities,
                meta: request.params.get(Member::Meta).map(Into::into),
                cancelled: OnceLock::new(),
                states: Arc::clone(&dispatcher.settings.states),
                server: dispatcher.handle(),
            },
        }
    }
}

impl<M: CallMessages> CallContext<M> {
    /// Closes the call: sends held-back notifications and drops all later notifications.
    pub(super) fn close(&self) {
        self.messages.close();
        self.asks.close();
    }

    /// Marks the call as cancelled and stops its messages, so code that still holds a clone of the context cannot send
    /// any.
    pub(super) fn abandon(&self) {
        self.cancel();
        self.messages.abandon();
    }

    /// Marks the call as cancelled, which is visible through all clones of the context.
    pub(super) fn cancel(&self) {
        self.request.cancel();
    }
}

impl<M: CallMessages> CallHandle for CallContext<M> {
    fn request(&self) -> &RequestContext {
        &self.request
    }

    fn outbound(&self) -> &dyn NotificationSender {
        &self.messages
    }

    fn asking(&self) -> &dyn QuestionTransport {
        &self.asks
    }

    fn ending(&self) -> &CallEnding {
        &self.ending
    }
}
