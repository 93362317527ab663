//! The command line: what to do, and the server to do it with, which is a command, a URL, or the cargo project in the
//! current folder.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};

use crate::completions;
use crate::inspect;
use crate::install;
use crate::project::{Builds, Project};
use crate::publish;
use crate::recording::Replay;

/// The options given on the command line.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) target: Target,
    pub(crate) action: Action,
}

/// What the program does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Serves the page.
    Page(PageOptions),
    /// Relays between a host and the server, without a page.
    Relay,
    Replay(Replay),
    Publish(publish::Request),
    /// Reads what the server declares.
    Inspect(inspect::Request),
    Install(install::Request),
    /// Prints a script for a shell.
    PrintCompletions(ArgMatches),
    /// Completes a command line for such a script.
    Complete(ArgMatches),
    /// Edits a configuration file's text for a server.
    Edit,
}

/// Options for the page.
#[derive(Debug)]
pub(crate) struct PageOptions {
    /// The page's port; 0 selects any free port.
    pub(crate) port: u16,
    pub(crate) no_open: bool,
    /// The file for a recording.
    pub(crate) record: Option<PathBuf>,
}

/// A server to connect to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A program that communicates over standard input and output.
    Command(Vec<String>),
    /// A Streamable HTTP endpoint, and headers to add to each request.
    Url {
        url: Uri,
        headers: Vec<(HeaderName, HeaderValue)>,
    },
    /// A program in a cargo project, which is built first.
    Project(CargoSelection),
}

/// Cargo options that select a project's program.
#[derive(Clone, Debug, Default)]
pub(crate) struct CargoSelection {
    pub(crate) folder: PathBuf,
    pub(crate) package: Option<String>,
    pub(crate) bin: Option<String>,
    pub(crate) example: Option<String>,
    pub(crate) features: Option<String>,
    pub(crate) release: bool,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(words) => f.write_str(&words.join(" ")),
            Self::Url { url, .. } => write!(f, "{url}"),
            Self::Project(selection) => write!(f, "{}", selection.folder.display()),
        }
    }
}

impl Target {
    /// Builds the program if it is in a project.
    pub(crate) async fn built(self) -> Result<Self> {
        let Self::Project(selection) = self else {
            return Ok(self);
        };
        let mut builds = Builds::new(Project::find(&selection)?).0;
        let built = builds.build().await.map_err(|reason| anyhow!("{reason}"))?;
        Ok(Self::Command(vec![built.program.display().to_string()]))
    }
}

impl Options {
    /// Parses this process's arguments, or prints the usage and exits.
    pub(crate) fn from_arguments() -> Self {
        Self::read(command().get_matches_from(std::env::args_os()))
    }

    fn read(mut matches: ArgMatches) -> Self {
        let Some((name, mut matches)) = matches.remove_subcommand() else {
            let target = target(&mut matches);
            let action = if matches.get_flag("stdio") {
                Action::Relay
            } else {
                Action::Page(PageOptions {
                    port: matches.remove_one("port").unwrap_or_default(),
                    no_open: matches.get_flag("no-open"),
                    record: matches.remove_one("record"),
                })
            };
            return Self { target, action };
        };
        let without_server = match name.as_str() {
            install::edit::NAME => Some(Action::Edit),
            completions::NAME => Some(Action::PrintCompletions(matches.clone())),
            completions::CALLBACK => Some(Action::Complete(matches.clone())),
            _ => None,
        };
        if let Some(action) = without_server {
            let target = Target::Command(Vec::new());
            return Self { target, action };
        }
        let target = target(&mut matches);
        let action = if name == REPLAY {
            Action::Replay(Replay {
                file: matches.remove_one("file").unwrap_or_default(),
                test: matches.get_flag("test"),
                anyway: matches.get_flag("anyway"),
                json: matches.get_flag("json"),
                ignored: matches
                    .remove_many("ignore")
                    .into_iter()
                    .flatten()
                    .collect(),
            })
        } else if publish::commands().any(|command| command.get_name() == name) {
            Action::Publish(publish::Request { name, matches })
        } else if inspect::commands().any(|command| command.get_name() == name) {
            Action::Inspect(inspect::Request { name, matches })
        } else {
            Action::Install(install::Request { name, matches })
        };
        Self { target, action }
    }
}

/// The name of the command that replays a recording.
const REPLAY: &str = "replay";

/// Reads the server from the arguments.
fn target(matches: &mut ArgMatches) -> Target {
    if let Some(words) = matches.remove_many::<String>("command") {
        Target::Command(words.collect())
    } else if let Ok(Some(url)) = matches.try_remove_one::<Uri>("url") {
        let headers = matches.remove_many("header").into_iter().flatten();
        Target::Url {
            url,
            headers: headers.collect(),
        }
    } else {
        Target::Project(CargoSelection {
            folder: matches.remove_one("project").unwrap_or_else(|| ".".into()),
            package: matches.remove_one("package"),
            bin: matches.remove_one("bin"),
            example: matches.remove_one("example"),
            features: matches.remove_one("features"),
            release: matches.get_flag("release"),
        })
    }
}

/// Defines an option that takes a value.
pub(crate) fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// Defines an option without a value.
pub(crate) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// Returns the definitions of all commands.
pub(crate) fn command() -> Command {
    let command = Command::new("mcp-dev")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A browser page for an MCP server")
        .override_usage(
            "mcp-dev [OPTIONS]                     the cargo project in this folder, rebuilt when it changes\n       \
             mcp-dev [OPTIONS] URL                 a server at a URL (Streamable HTTP)\n       \
             mcp-dev [OPTIONS] -- COMMAND ARGS…    a program that communicates over standard input and output\n       \
             mcp-dev --stdio [OPTIONS] [-- COMMAND ARGS…]    between a host and one of these, which it restarts\n       \
             mcp-dev replay FILE [OPTIONS] [URL | -- COMMAND ARGS…]    a recording, replayed against the current server\n       \
             mcp-dev check [OPTIONS] [URL | -- COMMAND ARGS…]    what is wrong with the definitions of one of these\n       \
             mcp-dev types [OPTIONS] [URL | -- COMMAND ARGS…]    TypeScript declarations of its tools\n       \
             mcp-dev completions SHELL [-- PROGRAM]    a script that completes command lines of mcp-dev, or of a server made with mcp-runtime\n       \
             mcp-dev manifest|bundle|recipe [OPTIONS] [-- PROGRAM]    files to publish a server made with mcp-runtime\n       \
             mcp-dev install|uninstall CLIENT [OPTIONS] [-- PROGRAM]    such a server in the configuration of hosts",
        )
        .arg(
            option("port", "PORT", "The port for the page (default: any free port)")
                .value_parser(value_parser!(u16)),
        )
        .arg(flag("no-open", "Print the page's URL without opening a browser"))
        .arg(
            option("record", "FILE", "Write all messages to a new file, without secrets")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            flag("stdio", "Run between a host and the server, without a page; the host's connection survives rebuilds")
                .conflicts_with_all(["url", "port", "no-open", "record"]),
        )
        .args_conflicts_with_subcommands(true);
    let replay = Command::new(REPLAY)
        .about("Replay a recording against the current server in both eras, and report what clients would see differently")
        .after_help("Exit status: 0 if nothing differs, 1 if something differs, 2 if the recording cannot be replayed.")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A recording made with `--record`"),
        )
        .arg(flag("test", "Print the recording as a Rust test instead"))
        .arg(flag("json", "Print the differences as JSON").conflicts_with("test"))
        .arg(
            option(
                "ignore",
                "PLACE",
                "Do not compare the value at this place in a response, such as `/result/structuredContent/took`; `*` matches any name or number. May be repeated",
            )
            .value_parser(parse_place)
            .action(ArgAction::Append),
        )
        .arg(flag("anyway", "Replay the recording even if the server's name is different"));
    with_target(command)
        .subcommand(with_target(replay))
        .subcommands(inspect::commands().map(with_target))
        .subcommands(publish::commands().map(with_program))
        .subcommands(install::commands().map(with_program))
        .subcommand(install::edit::command())
        .subcommands(completions::commands())
}

/// Adds the arguments that specify a server.
fn with_target(command: Command) -> Command {
    let url = Arg::new("url")
        .value_name("URL")
        .value_parser(parse_url)
        .conflicts_with_all([
            "command", "project", "package", "bin", "example", "features", "release",
        ])
        .help("http:// or https:// URL of a server");
    let header = option(
        "header",
        "NAME: VALUE",
        "A header for each request to URL, such as `Authorization: Bearer …`",
    );
    let header = header
        .value_parser(parse_header)
        .action(ArgAction::Append)
        .conflicts_with("command");
    with_program(command.arg(url).arg(header))
}

/// Adds the arguments that specify a program.
fn with_program(command: Command) -> Command {
    let of_project = |name, value, help| option(name, value, help).conflicts_with("command");
    command
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .last(true)
                .num_args(1..)
                .help("A program and its arguments"),
        )
        .arg(
            of_project(
                "project",
                "FOLDER",
                "The project folder (default: the current folder)",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(of_project("package", "NAME", "The workspace package to run").short('p'))
        .arg(of_project("bin", "NAME", "The package's program to run").conflicts_with("example"))
        .arg(of_project(
            "example",
            "NAME",
            "The package's example to run",
        ))
        .arg(of_project("features", "LIST", "Features to build with"))
        .arg(flag("release", "Build with optimizations").conflicts_with("command"))
}

fn parse_place(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("a place must begin with `/`, as in the output of a replay".into())
    }
}

fn parse_url(text: &str) -> Result<Uri, String> {
    let uri = text.parse::<Uri>().ok();
    let served = uri.filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
    });
    served.ok_or_else(|| {
        "a URL must begin with http:// or https://; write a program after `--`".into()
    })
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("write a header as `Name: value`")?;
    let name = name.trim().parse().map_err(|error| format!("{error}"))?;
    let value = value.trim().parse().map_err(|error| format!("{error}"))?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Target, String> {
        let all = std::iter::once(&"mcp-dev").chain(arguments);
        let matches = command().try_get_matches_from(all);
        let matches = matches.map_err(|error| error.to_string())?;
        Ok(Options::read(matches).target)
    }

    #[test]
    fn a_server_is_a_command_a_url_or_a_project() {
        let command = read(&["--", "npx", "-y", "server"]).unwrap();
        assert!(matches!(&command, Target::Command(words) if words.len() == 3));
        let url = read(&["--header", "A: b: c", "http://127.0.0.1:8000/mcp"]).unwrap();
        assert!(matches!(&url, Target::Url { headers, .. } if headers[0].1 == "b: c"));
        let project = read(&["--bin", "server"]).unwrap();
        assert!(matches!(&project, Target::Project(selection) if selection.bin.is_some()));
    }

    #[test]
    fn the_definitions_of_the_command_line_are_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn a_program_to_publish_is_a_command_or_a_project() {
        let built = read(&["recipe", "docker", "--release"]).unwrap();
        assert!(matches!(&built, Target::Project(selection) if selection.release));
        let command = read(&["bundle", "--author", "You", "--", "garden"]).unwrap();
        assert!(matches!(&command, Target::Command(words) if words == &["garden"]));
    }

    #[test]
    fn an_invalid_target_is_an_error_that_shows_the_syntax() {
        let mistake = read(&["./server"]).unwrap_err();
        assert!(mistake.contains("write a program after `--`"), "{mistake}");
        assert!(read(&["http://host/", "--", "server"]).is_err());
        assert!(read(&["--bin", "x", "--", "server"]).is_err());
        assert!(read(&["--header", "Authorization", "http://host/"]).is_err());
        assert!(read(&["--stdio", "http://host/"]).is_err());
        assert!(read(&["--bin", "x", "http://host/"]).is_err());
        assert!(read(&["manifest", "http://host/"]).is_err());
    }
}
