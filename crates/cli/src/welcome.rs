//! Explains the server to users who start it at a terminal, and suggests what to type next.

use std::io::{self, IsTerminal as _, Write as _};
use std::{env, fmt};

use mcp_core::context::ServerHandle;
use mcp_protocol::types::Implementation;

/// Maximum number of tools to name.
const MAX_NAMES: usize = 8;

/// The text shown to the user. Clients never see it, because they start servers with pipes.
pub struct Welcome {
    identity: Implementation,
    handle: ServerHandle,
    /// The URL of a server that serves HTTP.
    url: Option<String>,
}

impl Welcome {
    /// Returns the welcome text if standard error is a terminal and, unless there is a URL, standard input is a
    /// terminal too. Call this before the transport takes over both streams.
    #[must_use]
    pub fn at_terminal(
        identity: &Implementation,
        handle: ServerHandle,
        url: Option<&str>,
    ) -> Option<Self> {
        let is_read = io::stderr().is_terminal() && (url.is_some() || io::stdin().is_terminal());
        is_read.then(|| Self {
            identity: identity.clone(),
            handle,
            url: url.map(str::to_owned),
        })
    }

    /// Prints the welcome text once the server has started.
    pub fn print(&self) {
        // Errors are ignored because they mean that the output is not being read.
        let _ = writeln!(io::stderr().lock(), "{self}");
    }
}

impl fmt::Display for Welcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            identity,
            handle,
            url,
        } = self;
        let tools = handle.tools().names();
        let counts = [
            (tools.len(), "tool"),
            (handle.prompts().names().len(), "prompt"),
            (handle.resources().names().len(), "resource"),
            (handle.resource_templates().names().len(), "template"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }))
            .collect();
        let counts = if counts.is_empty() {
            "no tools, prompts or resources yet".to_owned()
        } else {
            counts.join(", ")
        };
        writeln!(
            f,
            "{} {} is an MCP server with {counts}.",
            identity.name, identity.version
        )?;
        if !tools.is_empty() {
            let more = if tools.len() > MAX_NAMES { ", …" } else { "" };
            let names: Vec<_> = tools.iter().take(MAX_NAMES).map(String::as_str).collect();
            writeln!(f, "Tools: {}{more}", names.join(", "))?;
        }
        let tool = tools.first().map_or("TOOL", String::as_str);
        let commands = if let Some(url) = url {
            writeln!(
                f,
                "It serves HTTP until Ctrl-C. To connect, try one of these:\n"
            )?;
            vec![
                (
                    format!("install CLIENT --url {url}"),
                    "let a client connect to it",
                ),
                ("tools".to_owned(), "list the tools and their arguments"),
                ("--help".to_owned(), "list everything else"),
            ]
        } else {
            writeln!(
                f,
                "It is waiting for a client on standard input (Ctrl-D quits). To try it yourself:\n"
            )?;
            vec![
                ("tools".to_owned(), "list the tools and their arguments"),
                (format!("call {tool} …"), "call a tool"),
                ("install CLIENT".to_owned(), "let a client start it"),
                #[cfg(feature = "http")]
                ("--http".to_owned(), "serve HTTP"),
                ("--help".to_owned(), "list everything else"),
            ]
        };
        let program = program();
        let width = commands.iter().map(|(command, _)| command.chars().count());
        let width = width.max().unwrap_or_default();
        let lines = commands
            .iter()
            .map(|(command, about)| format!("  {program} {command:width$}  {about}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Returns the command that the user typed to start the server.
fn program() -> String {
    // This variable is set by `cargo run`.
    if env::var_os("CARGO_MANIFEST_DIR").is_some() {
        return "cargo run --".to_owned();
    }
    let first = env::args_os().next();
    first.map_or_else(String::new, |path| path.to_string_lossy().into_owned())
}
