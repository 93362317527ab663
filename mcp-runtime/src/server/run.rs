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
    /// The process is the server's: a second signal ends it at once. So do handlers that block their threads longer than
    /// [`Limits::drain`](crate::Limits::drain) once the server is to stop, with success: dropping a runtime would wait for
    /// them. [`serve`](Self::serve) never ends the process.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the definitions and settings, before anything is read; or that standard input or
    /// output cannot be used.
    pub async fn run(self) -> Result<(), Error> {
        let lines = Lines::start(std::io::stderr())?;
        lines.log();
        lines.tell_panics();
        let (served, is_stuck) = self.run_over_stdio().await;
        if is_stuck {
            tracing::warn!("handlers still block their threads; the process ends without them");
        }
        if let (true, Err(error)) = (is_stuck, &served) {
            tracing::error!(%error, "the server failed");
        }
        lines.flush();
        if is_stuck {
            std::process::exit(i32::from(served.is_err()));
        }
        served
    }

    /// Says also whether handlers still block threads.
    async fn run_over_stdio(self) -> (Result<(), Error>, bool) {
        let started = self
            .start()
            .and_then(|(dispatcher, shared)| Ok((dispatcher, shared, Stdio::open()?)));
        let (dispatcher, shared, stdio) = match started {
            Ok(started) => started,
            Err(error) => return (Err(error), false),
        };
        let (shutdown, hung_up) = (shared.shutdown().clone(), stdio.hung_up());
        transport::serve_process(stdio, dispatcher, shutdown, hung_up).await
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
