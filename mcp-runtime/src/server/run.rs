//! Runs a server through its command line, over stdio, or over any other transport.

use std::pin::{Pin, pin};

#[cfg(feature = "cli")]
use mcp_cli::{Invocation, Welcome};
use mcp_transport::{ParentProcess, Stdio, Transport};

use crate::error::{Error, ErrorKind};
use crate::server::Server;
use crate::server::log::LogLines;

impl Server {
    /// Runs the server as specified by the process's command line. Without arguments, it serves standard input and
    /// output until the client closes them, a signal asks the server to stop, or (on Unix) the process that started it
    /// has ended.
    ///
    /// | Argument | Meaning |
    /// |---|---|
    /// | `--http [ADDRESS]` | serve HTTP instead, on this address; the URL is printed to standard error. Without an address, the environment variables `HOST` (default 127.0.0.1) and `PORT` (default 8000) determine it
    /// |
    /// | `--allow-host HOST` | also accept requests to this host name ([`HttpOptions::allow_host`](crate::http::HttpOptions::allow_host)) |
    /// | `--allow-origin ORIGIN` | also accept requests from web pages with this origin ([`HttpOptions::allow_origin`](crate::http::HttpOptions::allow_origin))
    /// |
    /// | `--trusted-proxies ADDRESS,…` | also trust these proxies' reports about clients ([`HttpOptions::trusted_proxies`](crate::http::HttpOptions::trusted_proxies)) |
    /// | `--legacy-sse` | also serve the 2024-11-05 HTTP+SSE transport ([`HttpOptions::legacy_sse`](crate::http::HttpOptions::legacy_sse)) |
    /// | `--tags TAGS` | serve only the definitions that these tags select ([`filter_tags`](Self::filter_tags)) |
    /// | `tools`, `prompts`, `resources`, `templates` | list tools, prompts, resources or resource templates |
    /// | `call TOOL NAME=VALUE…` | call a tool; its schema determines the types of values |
    /// | `prompt NAME …`, `read URI`, `complete NAME ARGUMENT TEXT` | get a prompt, read a resource, complete an argument |
    /// | `shell` | run several commands on a single server that keeps its state; Ctrl-C cancels a call but not the
    /// shell |
    /// | `tasks` | list, inspect, retry and cancel [tasks](crate::tasks) that outlive the process, if supported |
    /// | `install CLIENT`, `uninstall CLIENT` | add this executable or a URL to a client's configuration, or remove it |
    /// | `installed` | list the clients that have the server in their configuration |
    /// | `--describe` | print everything that tools such as `mcp-dev` need to know about the server, as JSON |
    /// | `--help`, `--version` | print help or the version |
    ///
    /// Commands start the server in this process, communicate with it over the full protocol in any protocol version,
    /// and exit with status 1 if they fail. For details, pass `--help` after a command.
    ///
    /// Arguments require the `cli` feature, and HTTP requires the `http` feature; both are enabled by default. A
    /// program with its own arguments can call [`serve`](Self::serve) with [`Stdio`](crate::transport::Stdio), or
    /// [`serve_http`](Self::serve_http), instead. To keep the commands, it can call
    /// [`command_line`](Self::command_line) first.
    ///
    /// The exit status is 0 after serving or after a successful command, 1 if the server cannot start or a command
    /// fails or finds a problem, 2 if the arguments are invalid, and 130 if Ctrl-C cancelled a call. When run at a
    /// terminal, a server prints a summary of its offerings to standard error, along with commands to try next.
    ///
    /// Standard output is reserved for the protocol, so output that handlers print goes to standard error instead. If
    /// the program has not set a `tracing` subscriber, warnings and errors go to standard error too. Because the client
    /// is not required to read standard error, log lines and panic messages are dropped when their buffer is full. If the
    /// client closes standard error, a handler may still print: what it prints is discarded.
    ///
    /// `run` takes control of the process. A second signal ends the process immediately. If handlers are still blocking
    /// threads after [`limits.calls.drain_timeout`](crate::Limits), the process exits with status 0 instead of waiting
    /// for them, as it would if the runtime were dropped. [`serve`](Self::serve) never exits the process.
    ///
    /// # Errors
    ///
    /// Fails before reading any input if definitions or settings are invalid (all mistakes are reported), if a value
    /// cannot be created ([`state_with`](Self::state_with)), or if standard input or output cannot be used.
    pub fn run(self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        in_one_place(self.run_as_invoked())
    }

    async fn run_as_invoked(self) -> Result<(), Error> {
        #[cfg(feature = "cli")]
        let invocation = mcp_cli::read(self.grammar(&self.environment.help()));
        let lines = LogLines::start(std::io::stderr())?;
        lines.install_subscriber();
        lines.log_panics();
        #[cfg(feature = "cli")]
        let options = match invocation {
            Invocation::Serve(options) => options,
            Invocation::Command(matches) => return self.run_command(&matches, &lines).await,
        };
        #[cfg(unix)]
        mcp_transport::replace_unread_output();
        #[cfg(feature = "cli")]
        let server = options.tags.iter().fold(self, Self::filter_tags);
        #[cfg(not(feature = "cli"))]
        let server = self;
        #[cfg(all(feature = "cli", feature = "http"))]
        if let Some(address) = options.http {
            let mut server = server;
            for host in options.hosts {
                server.http = server.http.allow_host(host);
            }
            for origin in options.origins {
                server.http = server.http.allow_origin(origin);
            }
            server.http = server.http.also_trust_proxies(options.trusted_proxies);
            if options.legacy_sse {
                server.http = server.http.legacy_sse(true);
            }
            return exit_if_stuck(server.run_http(&address).await, &lines);
        }
        exit_if_stuck(server.run_over_stdio().await, &lines)
    }

    /// Runs the command given on the process's command line, if any. This can be `tools`, `call`, `shell`, `check`,
    /// `install` or any other command that [`run`](Self::run) supports. If there is no command, returns the server so
    /// that the program can decide how to serve it:
    ///
    /// ```no_run
    /// # use mcp_runtime::Server;
    /// # async fn run() -> Result<(), mcp_runtime::Error> {
    /// let server = Server::new("shop", "1.0.0");
    /// let Some(server) = server.command_line().await? else {
    ///     return Ok(()); // a command was run
    /// };
    /// server.serve_http("127.0.0.1:8000").await
    /// # }
    /// ```
    ///
    /// A command, or `--describe`, must be the first argument; only `--json`, `--protocol-version DATE`, `--as SUBJECT`, `--scope SCOPE`,
    /// `--claim NAME=VALUE`, `--header NAME=VALUE` and `--tags TAGS` may precede it. All other arguments are left to the program, including `--help`, `--version`
    /// and `--http`; [`help`](Self::help) is what a program can print about the commands. Exits the process with status 1
    /// if the command fails.
    ///
    /// # Errors
    ///
    /// Same as [`run`](Self::run).
    #[cfg(feature = "cli")]
    pub fn command_line(self) -> impl Future<Output = Result<Option<Self>, Error>> + Send + use<> {
        in_one_place(self.run_if_command())
    }

    /// Returns the help for the commands that [`command_line`](Self::command_line) runs and for the environment variables
    /// that the server reads ([`env`](Self::env)), as two sections of text. A program with its own arguments can print it
    /// after its own help:
    ///
    /// ```
    /// # use mcp_runtime::Server;
    /// let server = Server::new("shop", "1.0.0");
    /// let help = format!("Usage: shop [--port PORT] | COMMAND\n\n{}", server.help());
    /// assert!(help.contains("\nCommands:\n  tools "));
    /// ```
    ///
    /// The text does not end with a line break.
    #[cfg(feature = "cli")]
    #[must_use]
    pub fn help(&self) -> String {
        mcp_cli::help(self.grammar(&self.environment.help()))
    }

    #[cfg(feature = "cli")]
    async fn run_if_command(self) -> Result<Option<Self>, Error> {
        let help = self.environment.help();
        let Some(matches) = mcp_cli::read_command(self.grammar(&help)) else {
            return Ok(Some(self));
        };
        let lines = LogLines::start(std::io::stderr())?;
        lines.install_subscriber();
        self.run_command(&matches, &lines).await.map(|()| None)
    }

    #[cfg(feature = "cli")]
    async fn run_command(
        mut self,
        matches: &mcp_cli::ArgMatches,
        lines: &LogLines,
    ) -> Result<(), Error> {
        if mcp_cli::needs_stores(matches) {
            if let Some(fault) = self.backend_fault() {
                return Err(Error::new(ErrorKind::Configuration, fault));
            }
            self.open_own_backend().await?;
        }
        let outcome = mcp_cli::run(self.into_program(), matches).await;
        lines.flush();
        match outcome {
            Ok(0) => Ok(()),
            Ok(status) => std::process::exit(status),
            Err(error) => Err(error),
        }
    }

    /// Serves standard input and output until they are closed, a signal asks the server to stop, or the parent process
    /// ends. The returned flag is `true` if handlers are still blocking threads.
    async fn run_over_stdio(mut self) -> (Result<(), Error>, bool) {
        let parent = ParentProcess::current();
        #[cfg(feature = "cli")]
        let welcome = Welcome::at_terminal(&self.identity, self.handle(), None);
        let start = async || {
            self.open_own_backend().await?;
            let (dispatcher, shared) = self.start()?;
            dispatcher.prepare_to_serve().await?;
            Ok::<_, Error>((dispatcher, shared, Stdio::open()?))
        };
        let (dispatcher, shared, stdio) = match start().await {
            Ok(started) => started,
            Err(error) => return (Err(error), false),
        };
        #[cfg(feature = "cli")]
        if let Some(welcome) = welcome {
            welcome.print();
        }
        let (shutdown, input_closed) = (shared.shutdown().clone(), stdio.hung_up());
        let hung_up = Box::new(move || input_closed() || parent.is_gone());
        let serving = mcp_transport::serve_process(stdio, dispatcher, shutdown.clone(), hung_up);
        let mut serving = pin!(serving);
        tokio::select! {
            biased;
            served = &mut serving => return served,
            () = parent.gone() => {
                tracing::warn!("the process that started this server has ended; stopping");
                shutdown.cancel();
            }
        }
        serving.await
    }

    /// Runs the server over `transport` until the transport yields no more connections or
    /// [`ServerHandle::shut_down`](crate::server::ServerHandle::shut_down) is called.
    ///
    /// # Errors
    ///
    /// Fails before reading any input if definitions or settings are invalid (all mistakes are reported), if a value
    /// cannot be created ([`state_with`](Self::state_with)), or if the transport itself fails.
    pub async fn serve(mut self, transport: impl Transport) -> Result<(), Error> {
        self.open_own_backend().await?;
        let (dispatcher, shared) = self.start()?;
        dispatcher.prepare_to_serve().await?;
        mcp_transport::serve(transport, dispatcher, shared.shutdown().clone()).await
    }
}

/// Returns a future whose code occurs only once in the program. The compiler copies the code of an unboxed future, and
/// of all futures in it, to every place where it is awaited or dropped, including places in the author's crate.
fn in_one_place<'f, T>(
    future: impl Future<Output = T> + Send + 'f,
) -> Pin<Box<dyn Future<Output = T> + Send + 'f>> {
    Box::pin(future)
}

/// Exits the process if handlers are still blocking threads, because dropping the runtime would wait for them.
fn exit_if_stuck(
    (served, is_stuck): (Result<(), Error>, bool),
    lines: &LogLines,
) -> Result<(), Error> {
    if is_stuck {
        tracing::warn!("handlers are still blocking threads; exiting without waiting for them");
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
