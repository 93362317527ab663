//! Serves over HTTP, either on a separate socket or as a service inside another program.

use std::future::{Future, ready};
use std::io;
use std::net::SocketAddr;
#[cfg(feature = "cli")]
use std::pin::pin;

#[cfg(feature = "cli")]
use mcp_cli::{HttpAddress, Welcome};
use mcp_http::{HttpListener, HttpOptions, HttpService};
use mcp_stores::ReadyCheck;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, ToSocketAddrs};

use crate::error::{Error, ErrorKind};
use crate::server::Server;
#[cfg(feature = "cli")]
use crate::server::service_manager::{self, ProcessState};

impl Server {
    /// Sets the HTTP options, such as the path, hosts and origins. Replaces any options that were set earlier.
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Adds a check for a service that this server depends on, such as its database. While the check fails, `/readyz`
    /// ([`HttpOptions::health`]) returns 503, but all other requests are still served. Can be called more than once;
    /// all checks must pass.
    ///
    /// A check runs when readiness is queried, at most once a second and never concurrently with itself. The check
    /// fails if it returns an error, panics, or takes longer than [`limits.http.ready_check_timeout`](crate::Limits).
    /// The first failure is logged with the check's name and the error; subsequent failures are not logged until the
    /// check has passed again. The client does not see the reason.
    ///
    /// ```
    /// # struct Pool;
    /// # impl Pool { async fn ping(&self) -> Result<(), std::io::Error> { Ok(()) } }
    /// # let pool = std::sync::Arc::new(Pool);
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!().ready_check("database", move || {
    ///     let pool = pool.clone();
    ///     async move { pool.ping().await }
    /// });
    /// ```
    pub fn ready_check<F, E>(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.ready_checks.push(ReadyCheck::new(name, check));
        self
    }

    /// Serves over HTTP until [`ServerHandle::shut_down`](crate::server::ServerHandle::shut_down) is called. The path defaults
    /// to `/mcp` and can be changed with [`http`](Self::http).
    ///
    /// Serves all protocol versions at the same time. Clients send individual requests in 2026-07-28, open sessions in
    /// the 2025 versions and, if [`HttpOptions::legacy_sse`] is enabled, receive event streams in 2024-11-05.
    /// Authentication requires the `auth` feature, and TLS requires [`serve_http_with`](Self::serve_http_with). To
    /// serve other machines without using these, run the server behind a reverse proxy that provides both
    /// authentication and TLS.
    ///
    /// # Errors
    ///
    /// Fails if definitions or settings are invalid (all mistakes are reported); if the address can be reached from
    /// other machines and no allowed hosts are configured ([`HttpOptions::allow_host`]); if a value cannot be created
    /// ([`state_with`](Self::state_with)); if definitions require scopes but HTTP requests are not authenticated
    /// ([`trust_anonymous`](Self::trust_anonymous)); or if the address cannot be used.
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.serve_http_listener(listen(address).await?).await
    }

    /// Serves over HTTP like [`serve_http`](Self::serve_http), but accepts connections from `listener`.
    ///
    /// # Errors
    ///
    /// Same as [`serve_http`](Self::serve_http).
    pub async fn serve_http_listener(self, listener: impl HttpListener) -> Result<(), Error> {
        self.serve_http_with(listener, |stream| ready(Ok(stream)))
            .await
    }

    /// Serves over HTTP like [`serve_http`](Self::serve_http), but accepts connections from `listener` and performs a
    /// handshake on each connection, for example to support TLS. With a `tokio_rustls::TlsAcceptor` named `tls`:
    ///
    /// ```ignore
    /// server.serve_http_with(listener, move |stream| tls.accept(stream)).await
    /// ```
    ///
    /// Each handshake runs in its connection's task, so it does not delay other connections. A handshake may take up to
    /// [`limits.http.handshake_timeout`](crate::Limits).
    ///
    /// # Errors
    ///
    /// Same as [`serve_http`](Self::serve_http). A failed handshake closes only its own connection.
    pub async fn serve_http_with<L, S, H>(
        mut self,
        listener: L,
        handshake: impl Fn(L::Stream) -> H,
    ) -> Result<(), Error>
    where
        L: HttpListener,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        H: Future<Output = io::Result<S>> + Send + 'static,
    {
        self.open_own_backend().await?;
        self.check_address(&listener)?;
        let service = self.into_listening_service()?;
        service.prepare_to_serve().await?;
        mcp_http::serve(listener, handshake, service).await
    }

    /// Turns the server into a `tower` service that can be mounted in a program that already serves HTTP. With the
    /// `axum` feature, the service can be converted into a router: `Router::new().merge(server.into_http_service()?)`.
    ///
    /// [`ServerHandle::shut_down`](crate::server::ServerHandle::shut_down) ends the service's event streams and, after
    /// [`limits.calls.drain_timeout`](crate::Limits), its calls, so that a graceful shutdown of the program can
    /// complete.
    ///
    /// The functions of [`on_serve`](Self::on_serve) run when the first request arrives.
    ///
    /// # Errors
    ///
    /// Fails if definitions or settings are invalid; all mistakes are reported.
    pub fn into_http_service(mut self) -> Result<HttpService, Error> {
        self.open_backend_at_once()?;
        let service = self.start_http_service()?;
        service.run_serve_hooks_with_first_request();
        Ok(service)
    }

    fn start_http_service(self) -> Result<HttpService, Error> {
        let backend = &self.backend;
        let (sessions, events) = (backend.sessions.clone(), backend.events.clone());
        let options = self.http.clone();
        let options = options.or_stores(sessions, events, backend.instances.clone());
        let mut faults = options.faults();
        if !faults.is_empty() {
            faults.extend(self.setting_faults());
            return Err(Error::new(ErrorKind::Configuration, faults.join("\n")));
        }
        if options.seals_sessions() && !self.has_sealing_keys() {
            tracing::warn!(
                "`sealing_keys` is not set: sessions are sealed with a key that only this process has, and cannot \
                 continue on another instance or after a restart"
            );
        }
        let mut ready_checks = self.ready_checks.clone();
        ready_checks.extend_from_slice(&self.backend.ready_checks);
        let (dispatcher, shared) = self.start()?;
        let shutdown = shared.shutdown().clone();
        Ok(HttpService::new(
            dispatcher,
            options,
            ready_checks,
            shutdown,
        ))
    }

    /// Serves over HTTP until the process receives a shutdown signal. The returned flag is `true` if handlers are still
    /// blocking threads.
    #[cfg(feature = "cli")]
    pub(super) async fn run_http(mut self, address: &HttpAddress) -> (Result<(), Error>, bool) {
        use std::io::Write as _;

        let listen = async || {
            let address = address.resolve()?;
            let listener = listen(&*address).await.map_err(|error| {
                let message = format!("{address}: {error}");
                Error::new(error.kind(), message).with_source(error)
            })?;
            self.open_own_backend().await?;
            self.check_address(&listener)?;
            let url = format!(
                "http://{}{}",
                listener.local_addr()?,
                self.http.endpoint_path()
            );
            let welcome = Welcome::at_terminal(&self.identity, self.handle(), Some(&url));
            let service = self.into_listening_service()?;
            service.prepare_to_serve().await?;
            Ok::<_, Error>((listener, url, welcome, service))
        };
        let (listener, url, welcome, service) = match listen().await {
            Ok(started) => started,
            Err(error) => return (Err(error), false),
        };
        let stop_announced = service.clone();
        let mut serving = pin!(mcp_http::serve_process(listener, service));
        // This is polled after `serving`, which handles signals from its first poll onward. A program that reads the
        // URL may send a signal.
        let started = async {
            // Standard error may be closed, but the server runs regardless.
            let _ = writeln!(io::stderr(), "{url}");
            if let Some(welcome) = welcome {
                welcome.print();
            }
            service_manager::notify(ProcessState::Ready);
            stop_announced.wait_for_stop_signal().await;
        };
        let served = tokio::select! {
            biased;
            served = &mut serving => Some(served),
            () = started => None,
        };
        service_manager::notify(ProcessState::Stopping);
        match served {
            Some(served) => served,
            None => serving.await,
        }
    }

    /// Turns the server into a service for its own listener. Fails if definitions require scopes but HTTP requests are
    /// not authenticated, because there is no embedding program that could authenticate callers.
    fn into_listening_service(self) -> Result<HttpService, Error> {
        #[cfg(feature = "auth")]
        if let Some(public) = self.http.other_public_path() {
            tracing::warn!(
                public,
                endpoint = self.http.endpoint_path(),
                "the URL of `ProtectedResource` and the endpoint have different paths: unless a proxy rewrites the path, \
                 clients get a 404 response; `HttpOptions::path` sets the endpoint's path"
            );
        }
        let service = self.start_http_service()?;
        let Some(name) = service.unusable_definition() else {
            return Ok(service);
        };
        let message = format!(
            "`{name}` requires scopes, but HTTP requests are not authenticated, so no one could use it: authenticate callers \
             with `HttpOptions::authenticate` (feature `auth`), or call `Server::trust_anonymous` if everyone who can reach the server may do everything"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// Checks that allowed hosts are configured unless the address is a loopback address. Other machines can reach any
    /// other address, and web pages can reach such an address through any name that resolves to it.
    fn check_address(&self, listener: &impl HttpListener) -> Result<(), Error> {
        let reachable = listener.network_address()?;
        let Some(address) = reachable.filter(|at| !at.ip().to_canonical().is_loopback()) else {
            return Ok(());
        };
        if self.http.serves_other_machines() {
            if !self.has_sealing_keys() {
                tracing::warn!(
                    "`sealing_keys` is not set: multi-round calls are sealed with a key that only this process has, \
                     and cannot continue on another instance or after a restart"
                );
            }
            return Ok(());
        }
        let message = format!(
            "{address} can be reached from other machines: allow its host names with `HttpOptions::allow_host` or \
             `--allow-host`, or listen on 127.0.0.1"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    }
}

/// Listens on an address. If the address resolves only to socket addresses that cannot be used, the error names them.
async fn listen(address: impl ToSocketAddrs) -> Result<TcpListener, Error> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(address).await?.collect();
    TcpListener::bind(&*addresses).await.map_err(|error| {
        let message = format!("cannot listen on {addresses:?}: {error}");
        Error::new(ErrorKind::Io, message).with_source(error)
    })
}
