//! What the author of a server decides about HTTP.

/// How a server is reached over HTTP: where, by which names, from which web pages.
///
/// The defaults let programs and web pages of this machine in, and nobody else: requests have to name a loopback host, and
/// a web page has to come from one.
#[derive(Clone, Debug)]
#[must_use]
pub struct HttpOptions {
    pub(super) path: String,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) sse_2024: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            sse_2024: false,
        }
    }
}

impl HttpOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether hosts besides the loopback names are let in.
    pub(crate) fn allows_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// The path of the endpoint.
    #[cfg(feature = "cli")]
    pub(crate) fn path_text(&self) -> &str {
        &self.path
    }

    /// The path of the endpoint, as clients see it. Default `/mcp`.
    ///
    /// A service that is mounted into another program answers at every path it is given; then this is where clients of
    /// revision 2024-11-05 are told to send their messages. Where axum nests it (feature `axum`), they are told the path that
    /// they came to.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        if !self.path.starts_with('/') {
            self.path.insert(0, '/');
        }
        self
    }

    /// Lets in requests to this host, besides those to loopback names: `mcp.example.com`, with any port, or
    /// `mcp.example.com:8443` with that one. May be repeated.
    ///
    /// `*` lets in requests to every host. Only behind something that checks the name: otherwise a web page can reach the
    /// server by giving its own name the server's address.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Lets in requests from web pages of this origin, besides those of loopback names, and lets the browser read the
    /// answers (CORS): `https://app.example.com`. May be repeated. `*` lets in every web page.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = origin.into().to_ascii_lowercase();
        self.origins.push(origin.trim_end_matches('/').to_owned());
        self
    }

    /// Whether clients of revision 2024-11-05 are served, by a stream of events that a GET without a session opens.
    /// Default `false`.
    ///
    /// The stream is at the path of the endpoint, and, with [`Server::serve_http`](crate::Server::serve_http), at `/sse`.
    pub fn sse_2024(mut self, served: bool) -> Self {
        self.sse_2024 = served;
        self
    }
}
