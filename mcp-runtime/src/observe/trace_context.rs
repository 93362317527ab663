//! A request's trace context.
//!
//! Specification: W3C Trace Context, "Traceparent Header" and "Tracestate Header". Position in a message:
//! OpenTelemetry, semantic-conventions-genai, docs/gen-ai/mcp.md, "Context propagation".

use std::borrow::Cow;
use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::Arc;

use crate::jsonrpc::{each_member, unquote};

/// Maximum length of a `tracestate`, in bytes, and its maximum number of members.
const STATE: usize = 512;
const STATE_MEMBERS: usize = 32;

/// A request's position in a distributed trace, given by the parent span that its caller specifies.
///
/// The position is read from `traceparent` and `tracestate` in `params._meta` or, if they are missing, from the headers
/// of the same names. Like all data from clients, it is untrusted. The `Display` implementation writes the
/// `traceparent` to pass on to services that the request's handler calls. A program that exports spans should pass on
/// the context of its current span instead.
///
/// ```
/// use mcp_runtime::trace::TraceContext;
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
    pub(crate) fn from_meta(meta: &str) -> Option<Self> {
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
    (1..=STATE).contains(&state.len())
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
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    // Covers: META-08
    #[test]
    fn what_is_not_a_traceparent_is_none() {
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
    fn a_state_that_is_not_valid_is_left_out() {
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
    fn it_is_read_from_meta() {
        let meta =
            format!(r#"{{"a":{{"traceparent":1}},"tracestate":"a=b","traceparent":"{PARENT}"}}"#);
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
