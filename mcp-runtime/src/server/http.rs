//! Serves over HTTP: on an address of its own, or as a service inside of another program.

use std::future::{Future, ready};
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, ToSocketAddrs};

use crate::error::{Error, ErrorKind};
use crate::server::Server;
use crate::transport::http::{self, HttpListener, HttpOptions, HttpService};

impl Server {
    /// How the server is reached over HTTP: path, hosts, origins. Replaces what was said before.
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Serves over HTTP, at the path `/mcp` unless [`http`](Self::http) says otherwise, until
    /// [`ServerHandle::shut_down`](crate::ServerHandle::shut_down) is called.
    ///
    /// All revisions at once: requests of 2026-07-28, sessions of 2025, and streams of 2024-11-05 if
    /// [`HttpOptions::sse_2024`] is on. Without feature `auth` no authentication, and TLS only with [`serve_http_with`](Self::serve_http_with): for
    /// more than this machine, put something that has them in front.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings; that the address is not one of this machine alone while
    /// no host was allowed ([`HttpOptions::allow_host`]); that definitions need scopes while nothing establishes who calls
    /// ([`trust_anonymous`](Self::trust_anonymous)); that the address cannot be used.
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.serve_http_listener(listen(address).await?).await
    }

    /// Serves over HTTP, like [`serve_http`](Self::serve_http), whoever connects to `listener`.
    ///
    /// # Errors
    ///
    /// As [`serve_http`](Self::serve_http).
    pub async fn serve_http_listener(self, listener: impl HttpListener) -> Result<(), Error> {
        self.serve_http_with(listener, |stream| ready(Ok(stream)))
            .await
    }

    /// Serves over HTTP, like [`serve_http`](Self::serve_http), whoever connects to `listener` and shakes hands: over TLS,
    /// for instance. With `tls` a `tokio_rustls::TlsAcceptor`:
    ///
    /// ```ignore
    /// server.serve_http_with(listener, move |stream| tls.accept(stream)).await
    /// ```
    ///
    /// A handshake runs in the task of its connection, where it holds up nobody else, and may take
    /// [`Limits::handshake_time`](crate::Limits::handshake_time).
    ///
    /// # Errors
    ///
    /// As [`serve_http`](Self::serve_http). A handshake that fails ends its connection only.
    pub async fn serve_http_with<L, S, H>(
        self,
        listener: L,
        handshake: impl Fn(L::Stream) -> H,
    ) -> Result<(), Error>
    where
        L: HttpListener,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        H: Future<Output = io::Result<S>> + Send + 'static,
    {
        self.check_address(&listener)?;
        http::serve(listener, handshake, self.into_listening_service()?).await
    }

    /// Makes a `tower` service of the server, to be mounted into a program that serves HTTP already. With feature `axum` it
    /// becomes a router: `Router::new().merge(server.into_http_service()?)`.
    ///
    /// [`ServerHandle::shut_down`](crate::ServerHandle::shut_down) ends its event streams, and calls after
    /// [`Limits::drain`](crate::Limits::drain), so that a graceful shutdown of the program ends.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings.
    pub fn into_http_service(self) -> Result<HttpService, Error> {
        let options = self.http.clone();
        #[cfg(feature = "auth")]
        {
            let faults = options.faults();
            if !faults.is_empty() {
                return Err(Error::new(ErrorKind::Configuration, faults.join("; ")));
            }
        }
        #[cfg(feature = "sealing")]
        if options.seals_sessions() && !self.has_state_keys() {
            tracing::warn!(
                "no `state_keys`: sessions are sealed with a key of this process, so that no other instance knows them, nor \
                 this one after a restart"
            );
        }
        let (dispatcher, shared) = self.start()?;
        let shutdown = shared.shutdown().clone();
        Ok(HttpService::new(dispatcher, options, shutdown))
    }

    /// Serves over HTTP until a signal asks to stop. Says also whether handlers still block threads.
    #[cfg(feature = "cli")]
    pub(super) async fn run_http(self, address: &str) -> (Result<(), Error>, bool) {
        use std::io::Write as _;

        let listen = async || {
            let listener = listen(address).await?;
            self.check_address(&listener)?;
            let url = format!("http://{}{}", listener.local_addr()?, self.http.path_text());
            Ok::<_, Error>((listener, url, self.into_listening_service()?))
        };
        let (listener, url, service) = match listen().await {
            Ok(started) => started,
            Err(error) => return (Err(error), false),
        };
        // Standard error may be closed; the server runs all the same.
        let _ = writeln!(io::stderr(), "{url}");
        http::serve_process(listener, service).await
    }

    /// Makes the service for an address of our own, where nothing in front can have established who calls.
    fn into_listening_service(self) -> Result<HttpService, Error> {
        let service = self.into_http_service()?;
        let Some(name) = service.closed_to_strangers() else {
            return Ok(service);
        };
        let message = format!(
            "`{name}` needs scopes, but nothing establishes who calls over HTTP, so that nobody could use it: check callers \
             with an authenticator, or say `Server::trust_anonymous` if only those reach the server who may do everything"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// Other machines can reach an address that is not a loopback one, and web pages any name that leads to it.
    fn check_address(&self, listener: &impl HttpListener) -> Result<(), Error> {
        let reachable = listener.network_address()?;
        let Some(address) = reachable.filter(|at| !at.ip().to_canonical().is_loopback()) else {
            return Ok(());
        };
        if self.http.is_for_others() {
            #[cfg(feature = "sealing")]
            if !self.has_state_keys() {
                tracing::warn!(
                    "no `state_keys`: what calls remember between questions is sealed with a key of this process, so that \
                     no other instance, and none after a restart, can go on with them"
                );
            }
            return Ok(());
        }
        let message = format!(
            "{address} can be reached from other machines: say by which host names, with `HttpOptions::allow_host` or \
             `--allow-host`, or listen on 127.0.0.1"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    }
}

/// Listens on an address, or says which one it cannot listen on.
async fn listen(address: impl ToSocketAddrs) -> Result<TcpListener, Error> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
    TcpListener::bind(&*addresses).await.map_err(|error| {
        let message = format!("cannot listen on {addresses:?}: {error}");
        Error::new(ErrorKind::Io, message).with_source(error)
    })
}
