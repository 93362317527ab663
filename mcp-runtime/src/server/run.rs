//! Runs a server: over stdio, or over any transport.

use crate::error::Error;
use crate::server::Server;
use crate::server::stderr::Lines;
use crate::transport::{self, Stdio, Transport};

impl Server {
    /// Runs the server over standard input and output until the client closes them or a signal asks it to stop.
    ///
    /// Standard output belongs to the protocol from here on: what handlers print goes to standard error instead. If the
    /// program has set up no `tracing` subscriber, warnings and errors are written to standard error too. The client need
    /// not read that: what does not fit is dropped, and panics are told only as far as they fit.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings, before anything is read; or that standard input or
    /// output cannot be used.
    pub async fn run(self) -> Result<(), Error> {
        let lines = Lines::start(std::io::stderr())?;
        lines.log();
        lines.tell_panics();
        let served = self.run_over_stdio().await;
        lines.flush();
        served
    }

    async fn run_over_stdio(self) -> Result<(), Error> {
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
