//! Runs a server: over stdio, or over any transport.

#[cfg(any(feature = "cli", feature = "testing"))]
use std::sync::Arc;

#[cfg(any(feature = "cli", feature = "testing"))]
use crate::client::InProcess;
#[cfg(any(feature = "cli", feature = "testing"))]
use crate::context::Caller;
use crate::error::Error;
use crate::server::Server;
#[cfg(feature = "cli")]
use crate::server::command_line::Wish;
use crate::server::stderr::Lines;
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
    /// | `tools`, `prompts`, `resources`, `templates` | list what the server has |
    /// | `call TOOL NAME=VALUE…` | call a tool; values are read as the types of its schema |
    /// | `prompt NAME …`, `read URI`, `complete NAME ARGUMENT TEXT` | get a prompt, read a resource, complete an argument |
    /// | `shell` | try one thing after another, with one server that keeps its state |
    /// | `check [--surface FILE]` | say what clients and models refuse, and what changed since the file was saved; for pipelines |
    /// | `install CLIENT` | enter this executable into the configuration of a client |
    /// | `--help`, `--version` | say so |
    ///
    /// Commands start the server in this process, speak the full protocol to it in any revision, and end the process with 1
    /// if something is wrong. `--help` after a command says more.
    ///
    /// The arguments are read with feature `cli`, and HTTP is there with feature `http`; both are on by default. A program
    /// with arguments of its own calls [`serve`](Self::serve) with [`Stdio`](crate::transport::Stdio), or
    /// [`serve_http`](Self::serve_http), and keeps the commands with [`command_line`](Self::command_line).
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
        #[cfg(feature = "cli")]
        let wish = super::command_line::read(self.identity());
        let lines = Lines::start(std::io::stderr())?;
        lines.log();
        lines.tell_panics();
        #[cfg(feature = "cli")]
        let wishes = match wish {
            Wish::Serve(wishes) => wishes,
            Wish::Command(matches) => return self.run_command(&matches, &lines).await,
        };
        #[cfg(all(feature = "cli", feature = "http"))]
        if let Some(address) = wishes.http {
            let mut server = self;
            for host in wishes.hosts {
                server.http = server.http.allow_host(host);
            }
            for origin in wishes.origins {
                server.http = server.http.allow_origin(origin);
            }
            return end(server.run_http(&address).await, &lines);
        }
        #[cfg(all(feature = "cli", not(feature = "http")))]
        let _ = wishes;
        end(self.run_over_stdio().await, &lines)
    }

    /// Runs the command of the process's command line, if there is one: `tools`, `call`, `shell`, `check`, `install` and the
    /// others of [`run`](Self::run). Gives the server back if there is none, for a program that serves in its own way:
    ///
    /// ```no_run
    /// # use mcp_runtime::Server;
    /// # async fn run() -> Result<(), mcp_runtime::Error> {
    /// let server = Server::new("shop", "1.0.0");
    /// let Some(server) = server.command_line().await? else {
    ///     return Ok(()); // that was all
    /// };
    /// server.serve_http("127.0.0.1:8000").await
    /// # }
    /// ```
    ///
    /// Only the first argument is looked at, besides `--json` and `--revision DATE`, which may stand before a command. Every
    /// other argument is the program's, and so are `--help`, `--version` and `--http`. Ends the process with 1 if the command
    /// finds something wrong.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    #[cfg(feature = "cli")]
    pub async fn command_line(self) -> Result<Option<Self>, Error> {
        let Some(matches) = super::command_line::read_command(self.identity()) else {
            return Ok(Some(self));
        };
        let lines = Lines::start(std::io::stderr())?;
        lines.log();
        self.run_command(&matches, &lines).await.map(|()| None)
    }

    #[cfg(feature = "cli")]
    async fn run_command(self, matches: &clap::ArgMatches, lines: &Lines) -> Result<(), Error> {
        let outcome = super::command_line::run(self, matches).await;
        lines.flush();
        match outcome {
            Ok(false) => std::process::exit(1),
            outcome => outcome.map(drop),
        }
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

    /// Starts the server for that many clients in this process, all of them the same caller, and gives their sides. It ends when all have gone.
    #[cfg(any(feature = "cli", feature = "testing"))]
    pub(crate) fn serve_in_process(
        self,
        clients: usize,
        caller: &Caller,
    ) -> Result<Vec<InProcess>, Error> {
        let (dispatcher, shared) = self.start()?;
        let (transport, streams) = transport::memories(clients, caller.clone());
        let shutdown = shared.shutdown().clone();
        let of = |stream| InProcess {
            stream,
            dispatcher: Arc::clone(&dispatcher),
            caller: caller.clone(),
        };
        let clients = streams.into_iter().map(of).collect();
        let serving = transport::serve(transport, dispatcher, shutdown);
        tokio::spawn(tracing::Instrument::in_current_span(serving));
        Ok(clients)
    }
}

/// Ends the process if handlers still block threads, which a runtime would wait for.
fn end((served, is_stuck): (Result<(), Error>, bool), lines: &Lines) -> Result<(), Error> {
    if is_stuck {
        tracing::warn!("handlers still block their threads; the process ends without them");
        if let Err(error) = &served {
            tracing::error!(%error, "the server failed");
        }
    }
    lines.flush();
    if is_stuck {
        std::process::exit(i32::from(served.is_err()));
    }
    served
}
