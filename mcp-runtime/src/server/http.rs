//! Serves over HTTP: on an address of its own, or as a service inside of another program.

use std::net::SocketAddr;

use tokio::net::{TcpListener, ToSocketAddrs};

use crate::error::{Error, ErrorKind};
use crate::server::Server;
use crate::transport::http::{self, HttpOptions, HttpService};

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
    /// [`HttpOptions::sse_2024`] is on. No TLS and no authentication: for more than this machine, put something that has
    /// them in front.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings; that the address is not one of this machine alone while
    /// no host was allowed ([`HttpOptions::allow_host`]); that the address cannot be used.
    pub async fn serve_http(self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.serve_http_listener(TcpListener::bind(address).await?)
            .await
    }

    /// Serves over HTTP, like [`serve_http`](Self::serve_http), on a socket that listens already.
    ///
    /// # Errors
    ///
    /// As [`serve_http`](Self::serve_http).
    pub async fn serve_http_listener(self, listener: TcpListener) -> Result<(), Error> {
        self.check_address(listener.local_addr()?)?;
        http::serve(listener, self.into_http_service()?).await
    }

    /// Makes a `tower` service of the server, to be mounted into a program that serves HTTP already.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings.
    pub fn into_http_service(self) -> Result<HttpService, Error> {
        let options = self.http.clone();
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

    /// Serves over HTTP until a signal asks to stop.
    #[cfg(feature = "cli")]
    pub(super) async fn run_http(self, address: &str) -> Result<(), Error> {
        use std::io::Write as _;

        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        self.check_address(local)?;
        let path = self.http.path_text().to_owned();
        let service = self.into_http_service()?;
        // Standard error may be closed; the server runs all the same.
        let _ = writeln!(std::io::stderr(), "http://{local}{path}");
        let shutdown = service.shutdown();
        tokio::select! {
            // First, so that a signal that follows the first answer finds somebody who listens.
            biased;
            error = crate::transport::until_signal(shutdown) => Err(error.into()),
            served = http::serve(listener, service) => served,
        }
    }

    /// Other machines can reach an address that is not a loopback one, and web pages any name that leads to it.
    fn check_address(&self, address: SocketAddr) -> Result<(), Error> {
        if address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        if self.http.allows_hosts() {
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
