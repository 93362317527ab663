//! The request that started a call: its protocol version and session and, over HTTP, its headers, URL, extensions and
//! addresses.
//!
//! `http` creates the parts of an HTTP request, and `dispatch` attaches them to the call. The caller and the contents
//! of the message are in `context`.

use std::fmt;
#[cfg(feature = "http")]
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

#[cfg(feature = "http")]
use http::Extensions;
#[cfg(feature = "http")]
use http::HeaderMap;

#[cfg(feature = "http")]
use crate::context::HttpParts;
use crate::context::{Caller, Context, FromContext};
#[cfg(feature = "http")]
use crate::handler::handler_error::HandlerError;
use crate::handler::handler_error::Result;
use crate::observe::TraceContext;
use crate::protocol::ProtocolVersion;

/// The request that started a call. Cheap to clone.
///
/// Returned by [`Context::request`]. A handler can also take it as a parameter: `request: &RequestInfo`.
///
/// | Over | Headers, path, query, extensions, addresses | [`header`](Self::header), [`trusted_header`](Self::trusted_header) |
/// |---|---|---|
/// | HTTP | those of the request | the header |
/// | standard input and output, a client in this process | `None` | the environment variable set with `Server::header_from_env`, otherwise `None` |
/// | custom transports | `None` | `None` |
///
/// Any client can send any header. Base decisions only on headers that a proxy sets
/// ([`trusted_header`](Self::trusted_header)), or use the [`Principal`](crate::context::Principal).
#[derive(Clone)]
pub struct RequestInfo {
    version: ProtocolVersion,
    source: RequestSource,
}

/// The origin of the data that a message does not contain.
#[derive(Clone, Default)]
pub enum RequestSource {
    /// The transport provides only messages.
    #[default]
    Message,
    /// An HTTP request.
    #[cfg(feature = "http")]
    Http {
        /// The head of the request.
        parts: Arc<HttpParts>,
        /// The id of the session to which the request belongs.
        session: Option<Arc<str>>,
    },
    /// This process's environment, which stands in for headers.
    Environment(Arc<EnvironmentHeaders>),
}

impl RequestSource {
    /// Returns the HTTP request, if the message arrived over HTTP.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn http_parts(&self) -> Option<&Arc<HttpParts>> {
        match self {
            Self::Http { parts, .. } => Some(parts),
            Self::Message | Self::Environment(_) => None,
        }
    }
}

impl RequestInfo {
    pub(crate) const fn new(version: ProtocolVersion, source: RequestSource) -> Self {
        Self { version, source }
    }

    /// Returns the protocol version of the request.
    #[must_use]
    pub const fn protocol_version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns the id of the HTTP session. Returns `None` if the request has no session: over other transports, from
    /// 2026-07-28 onward, and on servers without sessions.
    ///
    /// Any client that knows the id can use the session, unless the session has an owner. Do not log it.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        match &self.source {
            #[cfg(feature = "http")]
            RequestSource::Http { session, .. } => session.as_deref(),
            _ => None,
        }
    }

    /// Returns the trace context in the headers of an HTTP request.
    pub(super) fn trace_context(&self) -> Option<TraceContext> {
        match &self.source {
            #[cfg(feature = "http")]
            RequestSource::Http { parts, .. } => parts.trace_context(),
            _ => None,
        }
    }

    /// Returns the value of a header, without surrounding whitespace. Names are not case-sensitive.
    ///
    /// Any client can send this header. See [`trusted_header`](Self::trusted_header) for headers that a proxy sets.
    ///
    /// # Errors
    ///
    /// Returns an error, which the client can read, if the header occurs more than once or is not UTF-8.
    pub fn header(&self, name: &str) -> Result<Option<&str>> {
        match &self.source {
            RequestSource::Message => Ok(None),
            #[cfg(feature = "http")]
            RequestSource::Http { parts, .. } => parts.header(name),
            RequestSource::Environment(environment) => Ok(environment.get(name)),
        }
    }

    /// Returns the value of the first header for which an environment variable stands in, other than
    /// [secrets](is_secret_header).
    #[doc(hidden)]
    #[must_use]
    pub fn first_environment_header(&self) -> Option<&str> {
        let RequestSource::Environment(environment) = &self.source else {
            return None;
        };
        let mut values = environment.values.iter();
        let (_, value) = values.find(|(name, _)| !is_secret_header(name))?;
        Some(value.trim_ascii())
    }

    /// Returns the value of a header if a trusted proxy sent the request
    /// (`HttpOptions::trusted_proxies`), and `None` otherwise. The proxy
    /// must set or remove this header in every request, because otherwise it would forward a value sent by a client.
    ///
    /// # Errors
    ///
    /// Same as [`header`](Self::header).
    pub fn trusted_header(&self, name: &str) -> Result<Option<&str>> {
        match &self.source {
            #[cfg(feature = "http")]
            RequestSource::Http { parts, .. } if !parts.addresses.is_from_trusted_proxy => Ok(None),
            _ => self.header(name),
        }
    }
}

#[cfg(feature = "http")]
impl RequestInfo {
    fn http(&self) -> Option<&HttpParts> {
        self.source.http_parts().map(|parts| &**parts)
    }

    /// Returns all headers of an HTTP request, including credentials.
    #[must_use]
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.http().map(|http| &http.parts.headers)
    }

    /// Returns the path of an HTTP request, as the client requested it, even if an axum router nests the service.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.http().map(|http| http.uri().path())
    }

    /// Returns the query string of an HTTP request, undecoded and without the `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.http()?.uri().query()
    }

    /// Returns the extensions of an HTTP request: values attached to it by layers of the program in which the server is
    /// mounted. See also [`RequestExtension`].
    #[must_use]
    pub fn extensions(&self) -> Option<&Extensions> {
        self.http().map(|http| &http.parts.extensions)
    }

    /// Returns the address at the other end of the HTTP connection, which may belong to a proxy.
    ///
    /// For a service mounted in an axum program, the address is known if the program serves its router with
    /// `into_make_service_with_connect_info::<SocketAddr>()`.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.http()?.addresses.peer
    }

    /// Returns the client's IP address for an HTTP request.
    ///
    /// This is the address of the [peer](Self::peer_addr) unless the peer is a trusted proxy
    /// (`HttpOptions::trusted_proxies`). In that case, it is the address
    /// that the proxy reports, or `None` if the proxy does not report an address or its report is malformed. Reports
    /// from other peers are ignored.
    #[must_use]
    pub fn client_ip(&self) -> Option<IpAddr> {
        self.http()?.addresses.client
    }

    /// Returns `true` if a trusted proxy sent the request.
    #[must_use]
    pub fn is_from_trusted_proxy(&self) -> bool {
        self.http()
            .is_some_and(|http| http.addresses.is_from_trusted_proxy)
    }
}

impl FromContext for RequestInfo {
    fn from_context(context: &Context) -> Result<Self> {
        Ok(context.request().clone())
    }
}

/// Omits headers and session ids, because they may contain credentials.
impl fmt::Debug for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RequestInfo");
        debug.field("protocol_version", &self.version);
        #[cfg(feature = "http")]
        debug
            .field("path", &self.path())
            .field("peer_addr", &self.peer_addr())
            .field("client_ip", &self.client_ip());
        debug.finish_non_exhaustive()
    }
}

/// A value that a layer attached to the HTTP request as an extension. Dereferences to `T`.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::handler::RequestExtension;
///
/// /// Attached by a layer of the program in which the server is mounted.
/// #[derive(Clone)]
/// struct RequestId(String);
///
/// /// Returns the id under which the program logs this request.
/// #[tool]
/// fn request_id(id: &RequestExtension<RequestId>) -> String {
///     id.0.0.clone()
/// }
/// ```
///
/// A call without the extension fails, and the type is logged. Use `Option<RequestExtension<T>>` to serve such calls as
/// well.
#[cfg(feature = "http")]
#[derive(Clone, Debug)]
pub struct RequestExtension<T>(pub T);

#[cfg(feature = "http")]
impl<T> std::ops::Deref for RequestExtension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(feature = "http")]
impl<T: Clone + Send + Sync + 'static> FromContext for RequestExtension<T> {
    fn from_context(context: &Context) -> Result<Self> {
        let extensions = context.request().extensions();
        let value = extensions.and_then(|extensions| extensions.get::<T>());
        value.cloned().map(Self).ok_or_else(|| {
            HandlerError::opaque(format!(
                "the request has no extension of type `{}`; a layer around the server must insert it",
                crate::context::short_type_name::<T>()
            ))
        })
    }
}

/// Returns `true` if a header's name says that its value is a secret, which is never shown.
#[must_use]
pub fn is_secret_header(name: &str) -> bool {
    const WORDS: [&str; 6] = [
        "authorization",
        "cookie",
        "key",
        "token",
        "secret",
        "password",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Environment variables that stand in for headers, or the headers that a test sets.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentHeaders {
    values: Vec<(String, String)>,
    /// `true` if all callers have these headers, as in tests and commands. Otherwise, only trusted callers have them.
    are_for_all_callers: bool,
}

impl EnvironmentHeaders {
    /// Sets the value of a header.
    pub fn set(&mut self, header: String, value: String) {
        self.values
            .retain(|(name, _)| !name.eq_ignore_ascii_case(&header));
        self.values.push((header, value));
    }

    /// Gives the headers to all callers.
    pub fn show_to_all_callers(&mut self) {
        self.are_for_all_callers = true;
    }

    /// Returns `true` if this caller's requests have the headers.
    pub(crate) fn are_for(&self, caller: &Caller) -> bool {
        self.are_for_all_callers || caller.is_trusted()
    }

    /// Returns `true` if no header comes from the environment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn get(&self, header: &str) -> Option<&str> {
        let mut values = self.values.iter();
        let found = values.find(|(name, _)| name.eq_ignore_ascii_case(header));
        found.map(|(_, value)| value.trim_ascii())
    }
}
