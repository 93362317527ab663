//! The origins of messages, as far as they are known to the transport.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::host::Instant;
use crate::jsonrpc::{each_member, unquote};
use crate::observe::is_metered;
use crate::observe::meter::REFUSALS;
use crate::sync::lock;

/// The origin of one or more messages.
#[allow(dead_code, reason = "read by observers, which come with features")]
#[derive(Clone, Debug, Default)]
pub struct Origin {
    peer: Option<SocketAddr>,
    /// `network.transport`
    pub transport: Option<&'static str>,
    /// What is known only of HTTP requests, if this process has a meter.
    pub http: Option<Box<HttpOrigin>>,
}

/// What is known of an HTTP request.
#[allow(dead_code, reason = "read by observers, which come with features")]
#[derive(Clone, Debug, Default)]
pub struct HttpOrigin {
    /// `mcp.session.id`: a digest that is far shorter than the id, because anyone who knows the id can use the session.
    pub session: Option<u64>,
    /// The caller's trace context from the headers. A trace context in the message takes precedence.
    pub trace: Option<TraceContext>,
}

impl HttpOrigin {
    #[allow(dead_code, reason = "used by HTTP")]
    #[must_use]
    pub fn new(session: Option<&str>, trace: Option<TraceContext>) -> Self {
        let digest = |id: &str| {
            let mut hasher = DefaultHasher::new();
            id.hash(&mut hasher);
            hasher.finish()
        };
        Self {
            session: session.map(digest),
            trace,
        }
    }
}

thread_local! {
    /// The origin of the message that this thread is processing.
    static CURRENT: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

impl Origin {
    /// Standard input.
    #[must_use]
    pub fn pipe() -> Self {
        Self::over_transport("pipe", None)
    }

    /// A TCP connection.
    #[must_use]
    pub fn tcp(peer: Option<SocketAddr>) -> Self {
        Self::over_transport("tcp", peer)
    }

    /// A local socket.
    #[cfg(unix)]
    #[must_use]
    pub fn unix() -> Self {
        Self::over_transport("unix", None)
    }

    fn over_transport(transport: &'static str, peer: Option<SocketAddr>) -> Self {
        Self {
            peer,
            transport: Some(transport),
            http: None,
        }
    }

    /// An HTTP request; `seen` returns what is known of it.
    #[allow(dead_code, reason = "used by HTTP")]
    pub fn http(peer: Option<SocketAddr>, seen: impl FnOnce() -> HttpOrigin) -> Self {
        Self {
            http: is_metered().then(|| Box::new(seen())),
            ..Self::tcp(peer)
        }
    }

    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Counts and logs a refusal of a message or connection from this origin.
    pub fn record_refusal(&self, kind: RefusalKind) {
        record_refusal(kind, self.peer);
    }

    /// Runs `work` with this origin as the current one, so that requests started by `work` have this origin.
    #[inline]
    pub fn run_as_current<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restore = is_metered().then(|| CurrentOriginGuard::begin(self));
        work()
    }
}

/// Restores the previous origin when dropped.
struct CurrentOriginGuard(Option<Origin>);

impl CurrentOriginGuard {
    fn begin(origin: &Origin) -> Self {
        Self(CURRENT.with(|current| current.replace(Some(origin.clone()))))
    }
}

impl Drop for CurrentOriginGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        // If the thread is exiting, there is nothing to restore.
        let _ = CURRENT.try_with(|current| current.replace(before));
    }
}

/// Calls `look` with the origin of the message that this thread is processing, which is known only if the process has
/// a meter.
pub fn with_current_origin<T>(look: impl FnOnce(&Origin) -> T) -> T {
    let unknown = Origin::default();
    CURRENT.with(|current| match &*current.borrow() {
        Some(origin) => look(origin),
        None => look(&unknown),
    })
}

// --- Counts refusals and logs at most ten of each kind per second, with the peer's address but never the payload.

/// Maximum number of refusals of each kind that are logged per second.
const MAX_LOGGED_PER_SECOND: u32 = 10;

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The input was not a message, or not a valid message in the current state.
    Malformed,
    TooLarge,
    /// The message was received too slowly.
    TooSlow,
    /// A limit on concurrent work was reached.
    TooMany,
    /// The caller is not authenticated.
    Unauthorized,
    /// The caller lacks permission.
    Forbidden,
    /// The request was addressed to a host that is not allowed.
    Host,
    /// The request came from a web page that is not allowed to use the server.
    Origin,
    /// The limit on connections was reached.
    Connection,
    /// The server was temporarily unable to serve the request.
    Unavailable,
}

impl RefusalKind {
    const ALL: usize = Self::Unavailable as usize + 1;

    const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::TooMany => "too_many",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Connection => "connection",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns the kind for an HTTP response status, or `None` if the request was not refused.
    #[must_use]
    pub fn of_status(status: u16) -> Option<Self> {
        Some(match status {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            408 => Self::TooSlow,
            413 | 431 => Self::TooLarge,
            // Clients deliberately check whether a session still exists and whether a stream is available. Status 429
            // is reported by the code that detects the exceeded limit.
            404 | 405 | 429 => return None,
            400..500 => Self::Malformed,
            503 => Self::Unavailable,
            _ => return None,
        })
    }
}

/// Counts a refusal, and logs it unless too many of its kind were logged within the last second.
pub fn record_refusal(kind: RefusalKind, peer: Option<SocketAddr>) {
    static WINDOWS: [Mutex<RefusalLogWindow>; RefusalKind::ALL] =
        [const { Mutex::new(RefusalLogWindow::new()) }; RefusalKind::ALL];
    REFUSALS.count(&[("kind", kind.as_str())]);
    let peer = peer.or_else(|| with_current_origin(Origin::peer));
    let window = WINDOWS.get(kind as usize);
    let admitted = window.and_then(|window| {
        let mut window = lock(window);
        window.admit_log_line(Instant::now())
    });
    let Some(left_out) = admitted else { return };
    let (kind, peer) = (kind.as_str(), peer.map(tracing::field::display));
    if left_out == 0 {
        tracing::warn!(kind, peer, "refused");
    } else {
        tracing::warn!(kind, peer, left_out, "refused, with others left out");
    }
}

/// Log entries for one kind of refusal in the current second.
struct RefusalLogWindow {
    began: Option<Instant>,
    logged: u32,
    left_out: u64,
}

impl RefusalLogWindow {
    const fn new() -> Self {
        Self {
            began: None,
            logged: 0,
            left_out: 0,
        }
    }

    /// Returns `None` if the refusal must not be logged; otherwise, returns the number of refusals omitted since the
    /// last entry.
    fn admit_log_line(&mut self, now: Instant) -> Option<u64> {
        let is_over = |began| now.saturating_duration_since(began) >= Duration::from_secs(1);
        if self.began.is_none_or(is_over) {
            self.began = Some(now);
            self.logged = 0;
        }
        if self.logged >= MAX_LOGGED_PER_SECOND {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.logged = self.logged.saturating_add(1);
        Some(std::mem::take(&mut self.left_out))
    }
}

// --- A request's trace context.
//
// Specification: W3C Trace Context, "Traceparent Header" and "Tracestate Header". Position in a message:
// OpenTelemetry, semantic-conventions-genai, docs/gen-ai/mcp.md, "Context propagation".

/// Maximum length of a `tracestate`, in bytes, and its maximum number of members.
const MAX_TRACESTATE_BYTES: usize = 512;

const STATE_MEMBERS: usize = 32;

/// A request's position in a distributed trace, given by the parent span that its caller specifies.
///
/// The position is read from `traceparent` and `tracestate` in `params._meta` or, if they are missing, from the headers
/// of the same names. Like all data from clients, it is untrusted. The `Display` implementation writes the
/// `traceparent` to pass on to services that the request's handler calls. A program that exports spans should pass on
/// the context of its current span instead.
///
/// ```
/// use mcp_runtime::handler::TraceContext;
///
/// let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace = TraceContext::parse(sent, Some("vendor=value")).unwrap();
/// assert_eq!(trace.to_string(), sent);
/// assert_eq!(trace.tracestate(), Some("vendor=value"));
/// assert!(trace.is_sampled());
/// ```
///
/// Source: W3C Trace Context, level 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: NonZeroU128,
    parent_id: NonZeroU64,
    flags: u8,
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// Parses a `traceparent` and, if present, its `tracestate`. Returns `None` if the `traceparent` is invalid; a
    /// `tracestate` that is invalid or longer than 512 bytes is ignored.
    #[must_use]
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (version, rest) = hex_field(traceparent, 2)?;
        let (trace_id, rest) = hex_field(rest.strip_prefix('-')?, 32)?;
        let (parent_id, rest) = hex_field(rest.strip_prefix('-')?, 16)?;
        let (flags, rest) = hex_field(rest.strip_prefix('-')?, 2)?;
        // Later versions may append more fields after another dash.
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        if !is_whole {
            return None;
        }
        Some(Self {
            trace_id: NonZeroU128::new(trace_id)?,
            parent_id: NonZeroU64::new(u64::try_from(parent_id).ok()?)?,
            // Only the flag that version 00 defines is kept.
            flags: u8::try_from(flags).ok()? & 1,
            state: tracestate
                .filter(|state| is_valid_tracestate(state))
                .map(Arc::from),
        })
    }

    /// Reads a trace context from the raw JSON of `params._meta`.
    #[doc(hidden)]
    #[must_use]
    pub fn from_meta(meta: &str) -> Option<Self> {
        let (mut parent, mut state) = (None, None);
        each_member(meta, |key, value| match key {
            b"traceparent" => parent = json_text(value),
            b"tracestate" => state = json_text(value),
            _ => {}
        });
        Self::parse(&parent?, state.as_deref())
    }

    /// Returns the trace id, which is never zero.
    #[must_use]
    pub fn trace_id(&self) -> u128 {
        self.trace_id.get()
    }

    /// Returns the id of the caller's span, which is never zero.
    #[must_use]
    pub fn parent_id(&self) -> u64 {
        self.parent_id.get()
    }

    /// Returns `true` if the caller may have recorded its part of the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    /// Returns vendor-specific trace data, which must be passed on unchanged. The data consists of at most 512 bytes of
    /// printable ASCII.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, parent, flags) = (self.trace_id, self.parent_id, self.flags);
        write!(f, "00-{trace:032x}-{parent:016x}-{flags:02x}")
    }
}

/// Parses a number of exactly `digits` lower-case hexadecimal digits and returns it along with the rest of the string.
fn hex_field(text: &str, digits: usize) -> Option<(u128, &str)> {
    let (field, rest) = text.split_at_checked(digits)?;
    let is_hex = field
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let value = is_hex.then(|| u128::from_str_radix(field, 16).ok())??;
    Some((value, rest))
}

fn is_valid_tracestate(state: &str) -> bool {
    let is_member = |member: &str| {
        let member = member.trim_matches([' ', '\t']);
        member.is_empty()
            || member
                .split_once('=')
                .is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
    };
    (1..=MAX_TRACESTATE_BYTES).contains(&state.len())
        && state
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && state.split(',').count() <= STATE_MEMBERS
        && state.split(',').all(is_member)
}

/// Returns the contents of a JSON string.
fn json_text(json: &str) -> Option<Cow<'_, str>> {
    unquote(json).ok()
}

#[cfg(test)]
mod tests {
    mod origin {
        use crate::observe::origin::*;

        #[test]
        fn ten_refusals_a_second_are_logged_and_the_others_counted() {
            let (mut window, start) = (RefusalLogWindow::new(), Instant::now());
            let logged = (0..25).filter_map(|_| window.admit_log_line(start)).count();
            assert_eq!(logged, 10);
            let later = start + Duration::from_secs(1);
            assert_eq!(window.admit_log_line(later), Some(15));
            assert_eq!(window.admit_log_line(later), Some(0));
        }
    }

    mod trace_context {
        use crate::observe::origin::*;

        const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

        // Covers: META-08
        #[test]
        fn an_invalid_traceparent_is_ignored() {
            let later = format!("01{}-more", &PARENT[2..]);
            for (text, is_valid) in [
                (PARENT, true),
                (&*later, true),
                (&PARENT.replace("-01", "-ff"), true),
                ("", false),
                (&PARENT[..54], false),
                (&format!("{PARENT}-"), false),
                (&format!("{PARENT} "), false),
                (&format!("ff{}", &PARENT[2..]), false),
                (&format!("01{}more", &PARENT[2..]), false),
                (&PARENT.to_uppercase(), false),
                (&PARENT.replace('-', "_"), false),
                (&PARENT.replace('4', "+"), false),
                (
                    &PARENT.replace("00f067aa0ba902b7", "0000000000000000"),
                    false,
                ),
                (
                    &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
                    false,
                ),
                ("00-ä", false),
            ] {
                assert_eq!(
                    TraceContext::parse(text, None).is_some(),
                    is_valid,
                    "{text}"
                );
            }
        }

        // Covers: META-08
        #[test]
        fn an_invalid_tracestate_is_ignored() {
            let many = vec!["a=b"; 33].join(",");
            for (state, is_valid) in [
                ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true),
                ("a=b, ,c=d", true),
                ("", false),
                ("a", false),
                ("a=ä", false),
                ("a=\n", false),
                (&*many, false),
                (&format!("a={}", "b".repeat(511)), false),
            ] {
                let trace = TraceContext::parse(PARENT, Some(state)).unwrap();
                assert_eq!(trace.tracestate(), is_valid.then_some(state));
                assert_eq!(trace.to_string(), PARENT);
            }
        }

        #[test]
        fn the_trace_context_is_read_from_meta() {
            let meta = format!(
                r#"{{"a":{{"traceparent":1}},"tracestate":"a=b","traceparent":"{PARENT}"}}"#
            );
            let trace = TraceContext::from_meta(&meta).unwrap();
            assert_eq!(
                (trace.to_string(), trace.tracestate()),
                (PARENT.to_owned(), Some("a=b"))
            );
            for meta in [
                "{}",
                r#"{"traceparent":1}"#,
                r#"{"traceparent":null}"#,
                "[]",
            ] {
                assert_eq!(TraceContext::from_meta(meta), None);
            }
        }
    }
}
