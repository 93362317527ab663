//! A server that has been built: it answers single messages for hosts that have a loop of their own.
//!
//! A message comes without a channel. Nothing is remembered for a later message, and nothing but the response can be sent.
//! Transports do not use this: they keep a channel or a session, and stream.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context as TaskContext, Poll};

use crate::context::Caller;
use crate::context::outbound::Sink;
use crate::dispatch::call::{CallProgress, RunningCall};
use crate::dispatch::channel::{ChannelMemory, HandshakeOutcome, SeenChanges};
use crate::dispatch::decide::{BatchElement, Decision, RequestDecision, read_batch};
use crate::dispatch::dispatcher::{Dispatcher, ServerShared};
use crate::dispatch::finish::WrittenResponse;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::{ChannelId, RequestOrigin};
use crate::jsonrpc;
use crate::jsonrpc::{ErrorObject, Incoming, Message, RequestId};
use crate::observe::{RefusalKind, record_refusal};
use crate::protocol::encode::ListenFilter;
use crate::protocol::negotiation::{KnownClientInfo, VersionClaim, claim};
use crate::protocol::{Era, Method, ProtocolVersion, errors};
use crate::sync::{CancellationToken, Wake};
use crate::types::ClientCapabilities;

/// A server whose definitions and settings have been checked, for programs that receive messages in a way of their own: a
/// serverless function, a WebAssembly module, a message queue.
///
/// Clones are the same server.
#[derive(Clone)]
pub struct BuiltServer {
    dispatcher: Arc<Dispatcher>,
    shared: Arc<ServerShared>,
    known: Arc<KnownClientInfo>,
}

/// Who has sent a message, and what the program that received it knows besides its bytes.
#[derive(Clone, Debug)]
pub struct MessageSender {
    caller: Caller,
    version: ProtocolVersion,
}

impl MessageSender {
    /// Creates the sender that this caller is: a [`Principal`](crate::context::Principal) whose credentials the program has
    /// checked, or [`Caller::anonymous`].
    pub fn new(caller: impl Into<Caller>) -> Self {
        Self {
            caller: caller.into(),
            version: ProtocolVersion::WITHOUT_HEADER,
        }
    }

    /// Sets the protocol version in which legacy requests are answered: the one that this client has agreed on when it
    /// initialized, which HTTP has in the header `MCP-Protocol-Version`.
    ///
    /// Default: 2025-03-26, because the specification has servers assume it. It has no effect on modern requests, which name their
    /// own. A modern version here refuses requests that do not.
    // Source: 2025-06-18, basic/transports, "Protocol Version Header".
    #[must_use]
    pub const fn with_protocol_version(mut self, version: ProtocolVersion) -> Self {
        self.version = version;
        self
    }
}

impl Default for MessageSender {
    fn default() -> Self {
        Self::new(Caller::anonymous())
    }
}

impl BuiltServer {
    #[doc(hidden)]
    #[must_use]
    pub fn new(dispatcher: Arc<Dispatcher>, shared: Arc<ServerShared>) -> Self {
        Self {
            dispatcher,
            shared,
            known: Arc::default(),
        }
    }

    /// Returns what decides about messages, for transports.
    #[doc(hidden)]
    #[must_use]
    pub fn dispatcher(&self) -> &Arc<Dispatcher> {
        &self.dispatcher
    }

    /// Returns what is cancelled when the server is asked to stop.
    #[doc(hidden)]
    #[must_use]
    pub fn shutdown(&self) -> &CancellationToken {
        self.shared.shutdown()
    }

    /// Answers one message of an anonymous caller. See [`handle_from`](Self::handle_from).
    pub fn handle<'a>(
        &'a self,
        message: &'a [u8],
    ) -> impl Future<Output = Option<Vec<u8>>> + Send + use<'a> {
        self.answer(message, MessageSender::default())
    }

    /// Answers one message: a request, a notification, or a batch of them, as the bytes of its JSON text.
    ///
    /// Returns the response as one JSON text without a line break at its end; `None` if nothing is to be sent, which is so for
    /// notifications and responses. Whatever the bytes are, this does not fail: bytes that are not a message get the
    /// JSON-RPC error for it.
    ///
    /// The future works in any executor, with or without tokio around. Nothing runs before it is first polled. Dropping it cancels the
    /// handler, like a client that cancels its request. Polls of one server's messages may be mixed in any order.
    ///
    /// **Eras.** A modern request (2026-07-28) is self-contained, and complete here: a handler that asks the client a question returns
    /// it as an input-required result, whose answer comes with the next request. Set sealing keys if another process may get
    /// that one. A legacy request is served without a session, as a stateless HTTP server does: `initialize` is answered and not
    /// remembered, requests before it are served too, and handlers cannot ask questions.
    ///
    /// **What needs a channel is not there.** Progress and log messages are dropped; `subscriptions/listen`, `resources/subscribe`
    /// and `logging/setLevel` are refused with -32601, and the server does not declare their capabilities. A
    /// `notifications/cancelled` has no effect: drop the future instead.
    ///
    /// **Limits** are those of `Server::limits`: the size (`message.max_line_bytes`, -32600 when exceeded) and shape
    /// of a message, the time of a call, rates, results. How many messages are handled at once is up to the program, except
    /// for handlers with a limit of their own.
    ///
    /// A panic in a handler becomes an internal error for its request, except on targets that abort on panic, such as WebAssembly.
    pub fn handle_from<'a>(
        &'a self,
        message: &'a [u8],
        sender: MessageSender,
    ) -> impl Future<Output = Option<Vec<u8>>> + Send + use<'a> {
        self.answer(message, sender)
    }

    /// Returns a future whose code occurs only once in the program.
    fn answer<'a>(
        &'a self,
        message: &'a [u8],
        sender: MessageSender,
    ) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + 'a>> {
        Box::pin(async move {
            let mut answers = self.start(message, &sender);
            poll_fn(|task| answers.poll(task)).await
        })
    }

    /// Starts to answer a message.
    fn start(&self, bytes: &[u8], sender: &MessageSender) -> MessageAnswers {
        self.dispatcher.begin_work();
        let limits = &self.dispatcher.limits().message;
        if bytes.len() > limits.max_line_bytes {
            record_refusal(RefusalKind::TooLarge, None);
            let text = format!("a message is longer than {} bytes", limits.max_line_bytes);
            return MessageAnswers::of_error(None, ErrorObject::invalid_request(text));
        }
        let limits = limits.parse_limits();
        let malformed = |id: Option<&RequestId>, error| {
            record_refusal(RefusalKind::Malformed, None);
            MessageAnswers::of_error(id, error)
        };
        // Messages are matched by reference because they are large.
        match &jsonrpc::parse(bytes, &limits) {
            Err((id, error)) => malformed(id.as_ref(), error.clone()),
            Ok(Incoming::Message(message)) => MessageAnswers {
                answers: self.start_message(message, sender).into_iter().collect(),
                is_batch: false,
            },
            Ok(Incoming::Batch(elements)) => {
                let elements = match read_batch(elements, Some(sender.version), &limits) {
                    Ok(elements) => elements,
                    Err(error) => return malformed(None, error),
                };
                let answer = |element: &BatchElement<'_>| match element {
                    Ok(message) if is_handshake(message) => {
                        let text = "`initialize` must not be part of a batch";
                        let error = ErrorObject::invalid_request(text);
                        Some(Answer::of_error(message.id.valid(), error))
                    }
                    Ok(message) => self.start_message(message, sender),
                    Err((id, error)) => Some(Answer::of_error(id.as_ref(), error.clone())),
                };
                MessageAnswers {
                    answers: elements.iter().filter_map(answer).collect(),
                    is_batch: true,
                }
            }
        }
    }

    /// Starts to answer a request. Returns `None` for a message that gets no answer.
    fn start_message(&self, message: &Message<'_>, sender: &MessageSender) -> Option<Answer> {
        let method = message.method.as_deref()?;
        let id = message.id.valid()?;
        let mut out = Vec::new();
        if self.shared.shutdown().is_cancelled() {
            return Some(Answer::of_error(Some(id), errors::shutting_down()));
        }
        let caller = sender.caller.clone();
        let origin = self.dispatcher.stateless_origin(caller, None, None);
        if !message.params.is_object() {
            let error = errors::invalid_member("params", "an object");
            return Some(Answer::of_error(Some(id), error));
        }
        let modern = match claim(&message.params, &self.known) {
            VersionClaim::Valid(modern) => modern,
            VersionClaim::Absent => return self.start_legacy(message, id, sender, &origin),
            VersionClaim::Malformed(error) | VersionClaim::Unsupported(error) => {
                return Some(Answer::of_error(Some(id), error));
            }
        };
        let request = (method, id, &message.params);
        Some(
            match self
                .dispatcher
                .decide_alone(request, modern, &origin, &mut out)
            {
                Ok(RequestDecision::Call(call)) => Answer::of_call(call),
                Ok(RequestDecision::Answered(written)) => Answer::of_written(out, written),
                Err(error) => Answer::of_error(Some(id), error),
            },
        )
    }

    /// Starts to answer a request that does not claim a version.
    fn start_legacy(
        &self,
        message: &Message<'_>,
        id: &RequestId,
        sender: &MessageSender,
        origin: &RequestOrigin,
    ) -> Option<Answer> {
        let dispatcher = &self.dispatcher;
        let method = message.method.as_deref().and_then(Method::named);
        let mut out = Vec::new();
        if is_handshake(message) {
            let timer = dispatcher.request_timer();
            let shaken = dispatcher.shake_hands(id, &message.params, (origin, false), &mut out);
            let agreed = shaken.as_ref().map(|(params, _)| params.version);
            dispatcher.note_handshake(timer, (id, &message.params), agreed);
            return Some(match shaken {
                Ok(_) => Answer::Written(out),
                Err(error) => Answer::of_error(Some(id), error),
            });
        }
        if sender.version.is_modern() || method.is_some_and(|method| !method.is_in(Era::Legacy)) {
            return Some(Answer::of_error(Some(id), errors::missing_claim()));
        }
        let mut channel = self.channel_for(sender, origin);
        match dispatcher.decide(message, &mut channel, &mut out) {
            Decision::Request(RequestDecision::Call(call)) => Some(Answer::of_call(call)),
            Decision::Request(RequestDecision::Answered(written)) => {
                Some(Answer::of_written(out, written))
            }
            Decision::Silent | Decision::Cancel(_) => None,
        }
    }

    /// Returns the memory of a channel that exists for one request of a client that nothing is known about.
    fn channel_for(&self, sender: &MessageSender, origin: &RequestOrigin) -> ChannelMemory {
        static NO_WAKE: LazyLock<Wake> = LazyLock::new(|| Arc::new(|| {}));
        let client = HandshakeOutcome {
            version: sender.version,
            capabilities: ClientCapabilities::default(),
            info: None,
            offered: ListenFilter::default(),
            seen: SeenChanges::default(),
        };
        let memory = (None, origin.holder());
        let mut channel = ChannelMemory::resume(&self.dispatcher, NO_WAKE.clone(), client, memory);
        channel.set_caller(sender.caller.clone());
        channel.set_rate_limit_channel(ChannelId::SHARED);
        channel
    }
}

impl fmt::Debug for BuiltServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltServer")
            .field("identity", self.dispatcher.identity())
            .finish_non_exhaustive()
    }
}

fn is_handshake(message: &Message<'_>) -> bool {
    message.method.as_deref().and_then(Method::named) == Some(Method::Initialize)
}

/// The answers to a message, or to all messages of a batch.
struct MessageAnswers {
    answers: Vec<Answer>,
    is_batch: bool,
}

/// The answer to a request.
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for most messages; boxing would cost an allocation per call"
)]
enum Answer {
    Written(Vec<u8>),
    Running(RunningCall, Vec<u8>),
}

impl MessageAnswers {
    fn of_error(id: Option<&RequestId>, error: ErrorObject) -> Self {
        Self {
            answers: vec![Answer::of_error(id, error)],
            is_batch: false,
        }
    }

    /// Polls all calls. Ready once all have ended.
    fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<Option<Vec<u8>>> {
        let mut is_pending = false;
        for answer in &mut self.answers {
            is_pending |= answer.poll(task).is_pending();
        }
        if is_pending {
            return Poll::Pending;
        }
        let mut texts = self.answers.drain(..).map(Answer::into_text);
        if !self.is_batch {
            return Poll::Ready(texts.next());
        }
        let texts: Vec<_> = texts.collect();
        if texts.is_empty() {
            return Poll::Ready(None);
        }
        let mut all = vec![b'['];
        all.extend_from_slice(&texts.join(&b','));
        all.push(b']');
        Poll::Ready(Some(all))
    }
}

impl Answer {
    fn of_error(id: Option<&RequestId>, error: ErrorObject) -> Self {
        let mut out = Vec::new();
        let written = WrittenResponse::of_error(&mut out, id, error);
        Self::of_written(out, written)
    }

    fn of_written(mut out: Vec<u8>, mut written: WrittenResponse) -> Self {
        written.complete(&mut out);
        Self::Written(out)
    }

    /// Starts a call.
    fn of_call(call: PreparedCall<'_>) -> Self {
        let sink = || Arc::new(NoStream) as Arc<dyn Sink>;
        let mut out = Vec::with_capacity(256);
        match call.run(&sink, &mut out) {
            CallProgress::Answered(written) => Self::of_written(out, written),
            CallProgress::Running(running) => Self::Running(running, out),
        }
    }

    fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        if let Self::Running(call, out) = self {
            let Poll::Ready(written) = call.poll_response(task, out) else {
                return Poll::Pending;
            };
            let out = std::mem::take(out);
            *self = Self::of_written(out, written);
        }
        Poll::Ready(())
    }

    fn into_text(self) -> Vec<u8> {
        match self {
            Self::Written(text) | Self::Running(_, text) => text,
        }
    }
}

/// The stream of a call that can send nothing but its response.
struct NoStream;

impl Sink for NoStream {
    fn send(&self, _: &[u8]) -> bool {
        false
    }
}
