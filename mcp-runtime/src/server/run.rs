//! Runs a server: over stdio, or over any transport.

use crate::error::Error;
use crate::server::Server;
use crate::transport::{self, Stdio, Transport};

impl Server {
    /// Runs the server as the command line of the process says: without arguments over standard input and output, until
    /// the client closes them or a signal asks it to stop.
    ///
    /// | Argument | Meaning |
    /// |---|---|
    /// | `--http [ADDRESS]` | serve HTTP instead, on 127.0.0.1:8000 or this address; the URL is printed on standard error |
    /// | `--allow-host HOST` | let in requests to this host name too ([`HttpOptions::allow_host`](crate::transport::HttpOptions::allow_host)) |
    /// | `--allow-origin ORIGIN` | let in web pages of this origin too ([`HttpOptions::allow_origin`](crate::transport::HttpOptions::allow_origin)) |
    /// | `--help` | say so |
    ///
    /// The arguments are read with feature `cli`, and HTTP is there with feature `http`; both are on by default. A program
    /// with arguments of its own calls [`serve`](Self::serve) with [`Stdio`](crate::transport::Stdio), or
    /// [`serve_http`](Self::serve_http).
    ///
    /// Standard output belongs to the protocol from here on: what handlers print goes to standard error instead. If the
    /// program has set up no `tracing` subscriber, warnings and errors are written to standard error too.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings, before anything is read; or that standard input or
    /// output cannot be used.
    pub async fn run(self) -> Result<(), Error> {
        #[cfg(feature = "cli")]
        let wishes = super::command_line::read(self.identity());
        log_to_stderr();
        #[cfg(all(feature = "cli", feature = "http"))]
        if let Some(address) = wishes.http {
            let mut server = self;
            for host in wishes.hosts {
                server.http = server.http.allow_host(host);
            }
            for origin in wishes.origins {
                server.http = server.http.allow_origin(origin);
            }
            return server.run_http(&address).await;
        }
        #[cfg(all(feature = "cli", not(feature = "http")))]
        let _ = wishes;
        let (dispatcher, shared) = self.start()?;
        let shutdown = shared.shutdown().clone();
        transport::serve_until_signal(Stdio::open()?, dispatcher, shutdown).await
    }

    /// Runs the server over `transport` until that has no more connections, or
    /// [`ServerHandle::shut_down`](crate::ServerHandle::shut_down) is called.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings, before anything is read; or that the transport failed
    /// as a whole.
    pub async fn serve(self, transport: impl Transport) -> Result<(), Error> {
        let (dispatcher, shared) = self.start()?;
        transport::serve(transport, dispatcher, shared.shutdown().clone()).await
    }
}

/// Writes our warnings and errors to standard error, unless the program has a subscriber of its own.
fn log_to_stderr() {
    use tracing_subscriber::prelude::*;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    let level = tracing_subscriber::filter::LevelFilter::WARN;
    // Fails if there is a subscriber already, which then wins.
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(level))
        .try_init();
}
