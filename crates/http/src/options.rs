//! Settings for a server's HTTP endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use mcp_stores::{EventStore, InstanceRelay, SessionStore};

#[cfg(feature = "auth")]
use crate::auth::{ProtectedResource, Url};
use crate::health::{HealthPaths, absolute_path};
use crate::proxies::TrustedProxies;
use crate::routes::{ExtraRoute, RouteRequest, RouteResponse};

/// Path at which 2024-11-05 clients can open streams, in addition to the endpoint's path.
pub(crate) const SSE_PATH: &str = "/sse";

/// Settings for the HTTP endpoint: its path, the allowed hosts and origins, session storage, and authentication.
///
/// By default, only programs and web pages on this machine have access: requests must be addressed to a loopback host,
/// and web pages must be served from a loopback host.
#[derive(Clone)]
#[must_use]
pub struct HttpOptions {
    pub(crate) path: String,
    pub(crate) health: HealthPaths,
    pub(crate) routes: Vec<ExtraRoute>,
    pub(crate) shutdown_delay: Duration,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) legacy_sse: bool,
    /// `None` if the program has not configured session storage.
    pub(crate) sessions: Option<HttpSessions>,
    pub(crate) events: Option<Arc<dyn EventStore>>,
    /// Set together with a backend's sessions.
    pub(crate) instances: Option<Arc<dyn InstanceRelay>>,
    pub(crate) proxies: Option<TrustedProxies>,
    /// The header in which trusted proxies name the principal.
    pub(crate) principal_header: Option<String>,
    /// The mistakes in the environment variables from which the settings are made.
    environment_faults: Vec<String>,
    #[cfg(feature = "auth")]
    pub(crate) protected: Option<ProtectedResource>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            health: HealthPaths::default(),
            routes: Vec::new(),
            shutdown_delay: Duration::ZERO,
            hosts: Vec::new(),
            origins: Vec::new(),
            legacy_sse: false,
            sessions: None,
            events: None,
            instances: None,
            proxies: None,
            principal_header: None,
            environment_faults: Vec::new(),
            #[cfg(feature = "auth")]
            protected: None,
        }
    }
}

impl HttpOptions {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates settings that cannot be used because of these mistakes in environment variables.
    #[doc(hidden)]
    pub fn with_environment_faults(faults: Vec<String>) -> Self {
        Self {
            environment_faults: faults,
            ..Self::default()
        }
    }

    /// Returns `true` if access from other machines is configured, through allowed hosts or authentication, or if the
    /// configuration could not be read, which is reported later.
    #[doc(hidden)]
    #[must_use]
    pub fn serves_other_machines(&self) -> bool {
        if !self.environment_faults.is_empty() {
            return true;
        }
        #[cfg(feature = "auth")]
        if self.protected.is_some() {
            return true;
        }
        !self.hosts.is_empty()
    }

    /// Describes each problem with these settings in one sentence.
    #[doc(hidden)]
    pub fn faults(&self) -> Vec<String> {
        let mut endpoints = vec![&*self.path];
        if self.legacy_sse {
            endpoints.push(SSE_PATH);
        }
        let faults = self.environment_faults.iter().cloned();
        let faults = faults.chain(self.health.fault(&endpoints));
        let faults = faults.chain(self.route_faults(&endpoints));
        let faults = faults.chain(self.proxies.iter().flat_map(TrustedProxies::faults));
        let faults = faults.chain(self.principal_header_fault());
        #[cfg(feature = "auth")]
        let faults = faults.chain(self.protected.iter().flat_map(ProtectedResource::faults));
        faults.collect()
    }

    /// Returns the path at which clients look for the endpoint, if authentication is configured with a URL whose path
    /// differs from the endpoint's.
    #[cfg(feature = "auth")]
    #[doc(hidden)]
    #[must_use]
    pub fn other_public_path(&self) -> Option<String> {
        let url = Url::parse(&self.protected.as_ref()?.resource).ok()?;
        match url.path() {
            path if path == self.path.trim_end_matches('/') => None,
            "" => Some("/".to_owned()),
            path => Some(path.to_owned()),
        }
    }

    /// Describes each problem with the author's routes.
    fn route_faults<'f>(&'f self, endpoints: &'f [&str]) -> impl Iterator<Item = String> + 'f {
        let probes = self.probe_paths();
        let probes = probes.map_or([""; 2], |(live, ready)| [live, ready]);
        let routes = self.routes.iter().enumerate();
        routes.filter_map(move |(number, route)| {
            let earlier = self.routes.iter().take(number);
            let earlier = earlier.map(|route| &*route.path);
            let own = endpoints.iter().copied().chain(probes);
            route.fault(own.chain(earlier))
        })
    }

    /// Returns the number of the author's route at this path.
    pub(crate) fn route_at(&self, path: &str) -> Option<usize> {
        self.routes.iter().position(|route| route.path == path)
    }

    /// Describes the problem with the header in which proxies name the principal, if there is one.
    fn principal_header_fault(&self) -> Option<String> {
        let name = self.principal_header.as_deref()?;
        if name.parse::<HeaderName>().is_err() {
            return Some(format!(
                "`principal_header`: `{name}` is not the name of a header"
            ));
        }
        #[cfg(feature = "auth")]
        if self.protected.is_some() {
            return Some(
                "`principal_header` and `authenticate` both identify callers; choose one"
                    .to_owned(),
            );
        }
        self.proxies.is_none().then(|| {
            "`principal_header` is read only from trusted proxies; set `trusted_proxies` (`--trusted-proxies`)"
                .to_owned()
        })
    }

    /// Returns the paths of the liveness and readiness probes, if this crate's listener answers them.
    #[doc(hidden)]
    #[must_use]
    pub fn probe_paths(&self) -> Option<(&str, &str)> {
        let is_served = self.health.served != Some(false);
        is_served.then_some((&*self.health.live, &*self.health.ready))
    }

    /// Returns the first allowed host that is not `*`.
    #[doc(hidden)]
    pub fn named_host(&self) -> Option<&str> {
        let mut hosts = self.hosts.iter().map(String::as_str);
        hosts.find(|host| *host != "*")
    }

    /// Returns how long the server continues to serve requests after the first stop signal.
    #[doc(hidden)]
    #[must_use]
    pub fn delay_before_stop(&self) -> Duration {
        self.shutdown_delay
    }

    /// Returns the path of the endpoint.
    #[doc(hidden)]
    #[must_use]
    pub fn endpoint_path(&self) -> &str {
        &self.path
    }

    /// Sets the path of the endpoint, as clients see it. Defaults to `/mcp`.
    ///
    /// A service mounted in another program responds at every path that is routed to it. The service tells clients that
    /// use protocol version 2024-11-05 to send their messages to the path set here or, if an axum router nests the
    /// service (with the `axum` feature), to the path that they originally requested.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = absolute_path(path);
        self
    }

    /// Turns the liveness and readiness endpoints on or off. By default, they are on for the listener of
    /// `Server::serve_http` and `--http`, and off for a service that is mounted in another
    /// program. With `true` or a custom path, the `axum::Router` created from the service also has these routes.
    ///
    /// | Path | 200 | 503 |
    /// |---|---|---|
    /// | `/livez` ([`live_path`](Self::live_path)) | while the process answers | |
    /// | `/readyz` ([`ready_path`](Self::ready_path)) | while requests should be sent here | after a signal to stop ([`shutdown_delay`](Self::shutdown_delay)), and while a check fails |
    ///
    /// `GET` and `HEAD` requests are answered without a body. The host check, the origin check and authentication do
    /// not apply, because orchestrators use a machine's address and have no token.
    pub fn health(mut self, served: bool) -> Self {
        self.health.served = Some(served);
        self
    }

    /// Serves a small route of your own beside the endpoint, such as metrics: `answer` is called with each request to this path,
    /// whatever its method, and returns text or a [`RouteResponse`]. It must not block.
    ///
    /// ```
    /// use mcp_runtime::http::{HttpOptions, RouteResponse};
    ///
    /// let options = HttpOptions::new()
    ///     .route("/version", |_| env!("CARGO_PKG_VERSION"))
    ///     .route("/echo", |request| match request.method() {
    ///         "POST" => RouteResponse::new(request.body()).content_type("application/octet-stream"),
    ///         _ => RouteResponse::new("POST only\n").status(405),
    ///     });
    /// ```
    ///
    /// The limits of the server apply, also to the body of a request. The host of a request must be allowed
    /// ([`allow_host`](Self::allow_host)) or be an IP address, and so must the origin of a web page, but **no access token is needed**:
    /// everyone who can reach the server can read the route, unless `answer` checks a header. If `answer` panics, the client gets
    /// status 500.
    ///
    /// A service that is mounted in another program serves the route as well, and so does the `axum::Router` made of it. Serving over
    /// HTTP fails if the path belongs to the endpoint, a probe or another route.
    pub fn route<R: Into<RouteResponse>>(
        mut self,
        path: impl Into<String>,
        answer: impl Fn(&RouteRequest) -> R + Send + Sync + 'static,
    ) -> Self {
        let route = ExtraRoute::new(absolute_path(path), answer);
        self.routes.push(route);
        self
    }

    /// Sets the path of the liveness endpoint. Defaults to `/livez`. Turns [`health`](Self::health) on.
    pub fn live_path(mut self, path: impl Into<String>) -> Self {
        self.health.live = absolute_path(path);
        self.health(true)
    }

    /// Sets the path of the readiness endpoint. Defaults to `/readyz`. Turns
    /// [`health`](Self::health) on.
    pub fn ready_path(mut self, path: impl Into<String>) -> Self {
        self.health.ready = absolute_path(path);
        self.health(true)
    }

    /// Sets how long `--http` continues to serve requests after the first stop signal, while `/readyz` already responds
    /// with 503. Defaults to zero, so that the server stops accepting connections immediately.
    ///
    /// A load balancer keeps sending requests until it learns that the server is about to stop. If the delay is longer
    /// than the interval between the load balancer's probes, no requests are refused. A second signal still ends the
    /// process immediately.
    ///
    /// `ServerHandle::shut_down` ignores this delay. A program that calls it can make
    /// a check fail some time before the call.
    pub fn shutdown_delay(mut self, delay: Duration) -> Self {
        self.shutdown_delay = delay;
        self
    }

    /// Allows requests to this host, in addition to loopback names. `mcp.example.com` allows any port, and
    /// `mcp.example.com:8443` allows only that port. Can be called more than once.
    ///
    /// `*` allows requests to every host. Use it only behind a proxy that checks the host name; otherwise, a web page
    /// can reach the server by making its own domain name resolve to the server's address.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Allows requests from web pages with this origin, such as `https://app.example.com`, and lets their browsers read
    /// the responses (CORS). Can be called more than once. `*` allows every web page.
    ///
    /// Pages served from loopback hosts may always send requests, but can read the responses only if their origin is
    /// listed, such as `http://localhost:3000`.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = origin.into().to_ascii_lowercase();
        self.origins.push(origin.trim_end_matches('/').to_owned());
        self
    }

    /// Sets whether to serve clients that use protocol version 2024-11-05. Such clients open an event stream by sending
    /// a GET request without a session id. Defaults to `false`.
    ///
    /// The stream is available at the endpoint's path and, with `Server::serve_http`, also
    /// at `/sse`.
    pub fn legacy_sse(mut self, served: bool) -> Self {
        self.legacy_sse = served;
        self
    }

    /// Sets how legacy sessions are stored. Defaults to the backend's session store if it has
    /// one, and to [`HttpSessions::Memory`] otherwise.
    pub fn sessions(mut self, sessions: HttpSessions) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Sets the store for stream events, so that clients can resume a stream on any instance. Defaults to the
    /// backend's event store; without an event store, each instance keeps the events of its
    /// own streams in memory.
    ///
    /// This is useful only with [`HttpSessions::Store`].
    pub fn event_store(mut self, store: Arc<dyn EventStore>) -> Self {
        self.events = Some(store);
        self
    }

    /// Uses these stores unless the program has chosen others. If the program has chosen where to keep sessions,
    /// `events` and `instances` are not used either, because they are useful only together with `sessions`.
    #[doc(hidden)]
    pub fn or_stores(
        mut self,
        sessions: Option<Arc<dyn SessionStore>>,
        events: Option<Arc<dyn EventStore>>,
        instances: Option<Arc<dyn InstanceRelay>>,
    ) -> Self {
        if let (None, Some(store)) = (&self.sessions, sessions) {
            self.sessions = Some(HttpSessions::Store(store));
            self.events = self.events.or(events);
            self.instances = instances;
        }
        self
    }

    /// Sets the proxies whose reports about clients are trusted. By default, no proxies are trusted.
    ///
    /// This determines `RequestInfo::client_ip` and
    /// `trusted_header`. Headers from all other peers are ignored.
    pub fn trusted_proxies(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = Some(proxies);
        self
    }

    /// Identifies callers by a header that a trusted proxy sets, such as the tenant's name in `X-Tenant`.
    ///
    /// The request then has a [`Principal`](mcp_core::context::Principal) whose subject is the header's value and whose issuer is
    /// the header's name, in lower case. Sessions, tasks, jobs, kept results, rates per caller, idempotency keys and
    /// sealed state belong to it, and it has no scopes. Requests without the header are anonymous, and so are all
    /// requests from other peers, whatever headers they have. The request is rejected with status 400 if the value is
    /// empty, longer than 256 bytes or not UTF-8, or if it contains a comma or the header occurs more than once, because
    /// it would name several principals.
    ///
    /// All requests with the same value count as one caller, also for `limits.sessions.max_per_principal` and
    /// `limits.streams.max_per_principal`.
    ///
    /// The proxy must set or remove this header in every request, because otherwise it would forward a value sent by a
    /// client. Start-up fails without [`trusted_proxies`](Self::trusted_proxies). A principal in the request's extensions
    /// takes precedence.
    pub fn principal_header(mut self, name: impl Into<String>) -> Self {
        self.principal_header = Some(name.into());
        self
    }

    /// Trusts additional proxies, which report the client's address in the header that the program has configured.
    #[doc(hidden)]
    pub fn also_trust_proxies(mut self, proxies: Vec<String>) -> Self {
        if !proxies.is_empty() {
            let trusted = self.proxies.take();
            let trusted = trusted.unwrap_or_else(|| TrustedProxies::new([""; 0]));
            self.proxies = Some(trusted.with_more_proxies(proxies));
        }
        self
    }

    /// Requires an access token for every request. By default, the server accepts every request that passes the host
    /// and origin checks.
    ///
    /// A server mounted in a program with its own authentication does not need this: the
    /// [`Principal`](mcp_core::context::Principal) in the request's extensions, if any, identifies the caller.
    #[cfg(feature = "auth")]
    pub fn authenticate(mut self, protected: ProtectedResource) -> Self {
        self.protected = Some(protected);
        self
    }

    /// Returns `true` if sessions are sealed.
    #[doc(hidden)]
    #[must_use]
    pub fn seals_sessions(&self) -> bool {
        matches!(self.sessions, Some(HttpSessions::Sealed))
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("HttpOptions");
        #[cfg(feature = "auth")]
        debug.field("authenticate", &self.protected);
        debug
            .field("path", &self.path)
            .field("health", &self.health)
            .field("routes", &self.routes)
            .field("shutdown_delay", &self.shutdown_delay)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("legacy_sse", &self.legacy_sse)
            .field("sessions", &self.sessions.clone().unwrap_or_default())
            .field("event_store", &self.events.is_some())
            .field("instances", &self.instances.is_some())
            .field("trusted_proxies", &self.proxies)
            .field("principal_header", &self.principal_header)
            .field("environment_faults", &self.environment_faults)
            .finish()
    }
}

// --- Where sessions are kept.

/// Storage for legacy sessions. Requests that use protocol version 2026-07-28 never belong to a session.
///
/// | | served by any instance | survives a restart | elicitation, sampling, roots, log level, subscriptions, GET streams, DELETE |
/// |---|---|---|---|
/// | [`Memory`](Self::Memory) | no | no | yes |
/// | [`Store`](Self::Store) | yes, with a shared store | yes, with a persistent store | yes |
/// | [`Sealed`](Self::Sealed) | yes, with shared `sealing_keys` | yes, with the same keys | no |
/// | [`None`](Self::None) | yes | yes | no |
///
/// A client that uses protocol version 2024-11-05 and keeps a stream open
/// ([`HttpOptions::legacy_sse`](crate::HttpOptions::legacy_sse)) has a session for as long as its connection
/// lasts, regardless of this setting.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum HttpSessions {
    /// Sessions are kept in the memory of the process.
    #[default]
    Memory,
    /// Sessions are kept in a store.
    Store(Arc<dyn SessionStore>),
    /// Sessions are not stored: a session's id is the sealed result of its handshake, so any instance that has the key
    /// can serve the session.
    ///
    /// The server keeps no state after the handshake, so it neither offers nor serves features that require such state:
    /// log messages and log levels, subscriptions, notifications of list changes, GET streams (405), DELETE (405), and
    /// resumable streams. The server cannot send elicitation, sampling or roots requests to the client. Progress
    /// notifications are sent on the call's stream. `notifications/cancelled` works only on the instance where the call
    /// runs.
    ///
    /// A session lasts for [`limits.sessions.sealed_timeout`](mcp_core::limits::Limits). An id is at most
    /// [`limits.sessions.max_sealed_bytes`](mcp_core::limits::Limits) characters long; a client whose handshake does not fit
    /// receives error -32602.
    Sealed,
    /// Sessions do not exist: the server answers a handshake and then forgets it. The `MCP-Protocol-Version` header
    /// specifies the protocol version of a request; the default is 2025-03-26.
    ///
    /// The server knows nothing about the client, and all limitations of [`Sealed`](Self::Sealed) apply. In addition,
    /// calls cannot be cancelled.
    None,
}

impl fmt::Debug for HttpSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "Memory",
            Self::Store(_) => "Store(…)",
            Self::Sealed => "Sealed",
            Self::None => "None",
        })
    }
}
