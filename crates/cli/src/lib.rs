//! The command line of a server, with options for serving and commands for trying out and installing the server. Each
//! command has its own file.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this
//! crate may change or disappear in any release, including patch releases.
//!
//! Commands that use the server start it in this process and communicate with it over the full protocol, as any client
//! would.

#![forbid(unsafe_code)]

#[cfg(feature = "http")]
mod address;
mod arguments;
mod call;
mod complete;
mod describe;
mod install;
mod list;
mod print;
mod read;
mod serve;
mod session;
mod shell;
mod tasks;
mod terminal;
mod welcome;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "http")]
pub use address::HttpAddress;
pub use clap::ArgMatches;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use mcp_core::context::Capability;
use mcp_core::dispatch::UnstartedServer;
use mcp_core::error::Error;
use mcp_core::handler::definition::SelectedFunction;
use mcp_protocol::types::Implementation;
use mcp_settings::ServerEnvironment;
use mcp_stores::TaskStore;
pub use serve::ServeOptions;
pub use welcome::Welcome;

use crate::session::{CommandError, CommandResult, CommandSession};

/// The action requested on the command line.
pub enum Invocation {
    /// To serve.
    Serve(ServeOptions),
    /// To run a command.
    Command(ArgMatches),
}

/// A server that has not started, and what its commands have to know about its program.
pub struct Program {
    /// The server.
    pub server: Box<dyn UnstartedServer>,
    /// The variables that it reads.
    pub settings: ServerEnvironment,
    /// Prefixes of names, each with the functions whose names have it.
    pub prefixes: Vec<(String, Vec<SelectedFunction>)>,
    /// `true` if the server has tasks, and thus commands for them.
    pub has_tasks: bool,
    /// The store for tasks that the author has set.
    pub task_store: Option<Arc<dyn TaskStore>>,
    /// `true` if a variable names where the data is kept, and it has not been opened.
    pub names_backend: bool,
    /// How the program serves HTTP, if it can.
    pub http: Option<HttpDescription>,
}

/// What those who publish a program need to know about its HTTP.
#[derive(Clone, Debug)]
pub struct HttpDescription {
    /// The path of the endpoint.
    pub path: String,
    /// The host name that is allowed, if there is one.
    pub host: Option<String>,
    /// The paths of the probes for liveness and readiness, unless they are switched off.
    pub probes: Option<(String, String)>,
    /// The longest time from the request to stop to the end of the process.
    pub stop: Duration,
}

/// The server's part of the grammar.
#[derive(Clone, Copy)]
pub struct Grammar<'a> {
    /// The name and version.
    pub identity: &'a Implementation,
    /// The section about environment variables in the help.
    pub environment: &'a str,
    /// `true` if the server has tasks, and thus commands for them.
    pub has_tasks: bool,
}

/// Parses this process's arguments. Exits if they request help or are invalid.
#[must_use]
pub fn read(grammar: Grammar<'_>) -> Invocation {
    if std::env::args_os().len() <= 1 {
        return Invocation::Serve(ServeOptions::default());
    }
    parse(grammar, std::env::args_os()).unwrap_or_else(|error| error.exit())
}

/// Parses this process's arguments if they begin with a command. Exits if the arguments request help for the command or
/// are invalid.
#[must_use]
pub fn read_command(grammar: Grammar<'_>) -> Option<ArgMatches> {
    let arguments: Vec<_> = std::env::args_os().collect();
    if !names_command(&command(grammar), &arguments) {
        return None;
    }
    match parse(grammar, arguments).unwrap_or_else(|error| error.exit()) {
        Invocation::Command(matches) => Some(matches),
        Invocation::Serve(_) => None,
    }
}

/// Prints help or the version and exits if this process's arguments request it. Ignores all other arguments.
pub fn exit_for_help(grammar: Grammar<'_>) {
    if let Err(error) = parse(grammar, std::env::args_os())
        && matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        )
    {
        error.exit();
    }
}

/// Returns the help for the commands and the environment variables, without that for options.
#[must_use]
pub fn help(grammar: Grammar<'_>) -> String {
    // `help` is left to the program, as `--help` is.
    let command = command(grammar).disable_help_subcommand(true);
    let mut command = command.help_template("Commands:\n{subcommands}");
    let commands = command.render_help().to_string();
    let sections = [commands.trim_end(), grammar.environment];
    let sections = sections.into_iter().filter(|section| !section.is_empty());
    sections.collect::<Vec<_>>().join("\n\n")
}

/// Returns `true` for a common option that includes its value, such as `--protocol-version=…`.
fn is_common_option_with_value(word: &str) -> bool {
    let option = word
        .strip_prefix("--")
        .and_then(|word| word.split_once('='));
    option.is_some_and(|(name, _)| name == "revision" || session::COMMON.contains(&name))
}

/// Returns `true` if the first argument, after any common options, names a command.
fn names_command(command: &Command, arguments: &[OsString]) -> bool {
    let mut arguments = arguments.iter().skip(1).map(|word| word.to_str());
    loop {
        match arguments.next().flatten() {
            Some("--json") => {}
            Some(
                "--protocol-version" | "--revision" | "--as" | "--scope" | "--claim" | "--header"
                | "--tags",
            ) => {
                let _ = arguments.next();
            }
            Some(word) if is_common_option_with_value(word) => {}
            Some(word) if word.strip_prefix("--") == Some(describe::NAME) => return true,
            Some(word) => return command.find_subcommand(word).is_some(),
            None => return false,
        }
    }
}

/// Parses arguments.
fn parse(
    grammar: Grammar<'_>,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Invocation, clap::Error> {
    let mut command = command(grammar);
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = arguments.first().cloned().unwrap_or_default();
    let matches = command.try_get_matches_from_mut(arguments);
    let matches = matches.map_err(|error| match moved_command(&error) {
        Some(name) => {
            let program = program.display();
            let text = format!(
                "`{name}` is a command of `mcp-dev`: see `mcp-dev {name} --help`, and pass the server as in `mcp-dev {name} … -- {program}`"
            );
            command.error(ErrorKind::InvalidSubcommand, text)
        }
        None => error,
    })?;
    let refused = |kind, text: &str| Err(command.clone().error(kind, text));
    match matches.subcommand() {
        Some(_) if describe::is_given(&matches) => refused(
            ErrorKind::ArgumentConflict,
            "`--describe` cannot be used with a command",
        ),
        None if describe::is_given(&matches) => Ok(Invocation::Command(matches)),
        Some(_) if ServeOptions::is_given(&matches) => refused(
            ErrorKind::ArgumentConflict,
            "a command does not serve, so `--http` and its options cannot be used with it",
        ),
        Some(_) => Ok(Invocation::Command(matches)),
        None if matches.get_flag("json") || session::has_connection_options(&matches) => refused(
            ErrorKind::MissingSubcommand,
            "`--json`, `--protocol-version`, `--as`, `--scope`, `--claim` and `--header` need a command, such as `tools`",
        ),
        None => Ok(Invocation::Serve(ServeOptions::read(&matches))),
    }
}

/// The commands that only authors need. Servers had them once; now `mcp-dev` has them, for every server.
const MOVED: [&str; 6] = [
    "bundle",
    "check",
    "completions",
    "manifest",
    "recipe",
    "types",
];

/// Returns the name of the command that `mcp-dev` has, if that is the reason for the error.
fn moved_command(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    MOVED.into_iter().find(|moved| moved == name)
}

fn command(grammar: Grammar<'_>) -> Command {
    let Grammar {
        identity,
        environment,
        ..
    } = grammar;
    let about = identity
        .description
        .clone()
        .unwrap_or_else(|| "A Model Context Protocol server".to_owned());
    let command = serve::with_serve_options(Command::new(identity.name.clone()));
    // Common options may also precede a command. They are shown in the help for each command.
    let command = session::with_common_options(command).mut_args(|argument| {
        let name = argument.get_id().as_str();
        let is_for_commands = session::COMMON.contains(&name) && name != session::TAGS;
        argument.hide(is_for_commands)
    });
    let mut command = with_commands(describe::with_option(command));
    if grammar.has_tasks {
        command = command.subcommand(tasks::command());
    }
    install::with_commands(command)
        .about(about)
        .after_help(format!(
            "{environment}{}Without a command, it serves over standard input and output, for clients that start servers themselves.",
            if environment.is_empty() { "" } else { "\n\n" },
        ))
        .version(identity.version.clone())
        .subcommand(shell::command())
}

/// The exit status of a command that was ended by Ctrl-C, as in shells.
const INTERRUPTED: i32 = 130;

/// Returns `true` if the command calls handlers or looks at tasks, and so needs the stores of the server.
#[must_use]
pub fn needs_stores(matches: &ArgMatches) -> bool {
    let command = matches.subcommand_name();
    command.is_some_and(|name| !needs_only_definitions(name) && !install::is_command(name))
}

/// Runs a command. Returns the exit status.
///
/// # Errors
///
/// Fails if the server cannot start.
pub async fn run(program: Program, matches: &ArgMatches) -> Result<i32, Error> {
    match perform(program, matches).await {
        Ok(good) => Ok(i32::from(!good)),
        Err(CommandError::Start(error)) => Err(error),
        Err(CommandError::Failed(text)) => {
            print::error(&text);
            Ok(1)
        }
        Err(CommandError::Interrupted) => {
            print::error(terminal::CANCELLED);
            Ok(INTERRUPTED)
        }
    }
}

async fn perform(mut program: Program, before: &ArgMatches) -> CommandResult {
    let Some((name, matches)) = before.subcommand() else {
        let grammar = command(Grammar {
            identity: program.server.identity(),
            environment: "",
            has_tasks: program.has_tasks,
        });
        return Box::pin(describe::run(program, before, &grammar)).await;
    };
    if install::is_command(name) {
        return install::run(
            name,
            (program.server.identity(), &program.settings),
            before,
            matches,
        );
    }
    if name == tasks::NAME {
        return Box::pin(tasks::run(program.task_store, before, matches)).await;
    }
    if needs_only_definitions(name) {
        program.server.ignore_missing_settings();
    }
    let session = CommandSession::start(program.server, before, matches).await?;
    if name == "shell" {
        return shell::run(&session).await;
    }
    perform_in(&session, name, matches).await
}

// --- The commands that use the server, and running one of them in a session.

/// Adds the commands that use the server.
fn with_commands(command: Command) -> Command {
    command
        .subcommand_value_name("COMMAND")
        .subcommand(list::command("tools", "List the tools and their arguments").alias("list"))
        .subcommand(list::command(
            "prompts",
            "List the prompts and their arguments",
        ))
        .subcommand(list::command("resources", "List the resources"))
        .subcommand(list::command("templates", "List the resource templates"))
        .subcommand(call::command())
        .subcommand(call::prompt_command())
        .subcommand(read::command())
        .subcommand(complete::command())
}

/// Returns `true` if the command reads only definitions, for which the server needs no values for its settings.
/// Resources are not among them, because user code can list them.
fn needs_only_definitions(name: &str) -> bool {
    matches!(name, "tools" | "prompts" | "templates")
}

/// Runs a command on the server.
async fn perform_in(session: &CommandSession, name: &str, matches: &ArgMatches) -> CommandResult {
    session.begin_command(matches)?;
    let outcome = match dispatch(session, name, matches).await {
        Err(CommandError::Failed(text)) => {
            print::error(&text);
            Ok(false)
        }
        outcome => outcome,
    };
    session.report_unused_answers();
    outcome
}

async fn dispatch(session: &CommandSession, name: &str, matches: &ArgMatches) -> CommandResult {
    match name {
        "tools" => list::run(session, Capability::Tools).await,
        "prompts" => list::run(session, Capability::Prompts).await,
        "resources" => list::run(session, Capability::Resources).await,
        "templates" => list::run(session, Capability::Templates).await,
        "call" => call::run(session, matches).await,
        "prompt" => call::run_prompt(session, matches).await,
        "read" => read::run(session, matches).await,
        _ => complete::run(session, matches).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(arguments: &[&str]) -> Result<Invocation, clap::Error> {
        let arguments = std::iter::once(&"server").chain(arguments);
        let identity = Implementation::new("server", "1");
        parse(with_tasks(&identity), arguments.map(OsString::from))
    }

    fn with_tasks(identity: &Implementation) -> Grammar<'_> {
        Grammar {
            identity,
            environment: "",
            has_tasks: true,
        }
    }

    #[test]
    fn the_command_definitions_are_consistent() {
        command(with_tasks(&Implementation::new("server", "1"))).debug_assert();
    }

    #[test]
    fn a_program_with_its_own_arguments_can_print_the_help_for_commands_and_variables() {
        let identity = Implementation::new("server", "1");
        let mut grammar = with_tasks(&identity);
        let commands = help(grammar);
        assert!(commands.starts_with("Commands:\n  tools "), "{commands}");
        let names: Vec<_> = commands
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        // Each of them is a command of `Server::command_line`.
        for name in &names {
            let arguments = ["server".into(), OsString::from(name)];
            assert!(names_command(&command(grammar), &arguments), "{name}");
        }
        assert!(names.contains(&"tasks") && names.contains(&"shell"));
        grammar.environment = "Environment:\n  A  a";
        assert_eq!(help(grammar), format!("{commands}\n\nEnvironment:\n  A  a"));
    }

    #[cfg(feature = "http")]
    #[test]
    fn http_takes_its_address_from_the_environment_and_takes_options() {
        let options = |arguments: &[&str]| match invocation(arguments) {
            Ok(Invocation::Serve(options)) => options,
            _ => panic!("{arguments:?} serves"),
        };
        assert_eq!(options(&[]).http, None);
        assert_eq!(
            options(&["--http"]).http,
            Some(HttpAddress::FromEnvironment)
        );
        let proxies = ["--http", "--trusted-proxies", "a,b", "--trusted-proxies=c"];
        assert_eq!(options(&proxies).trusted_proxies, ["a", "b", "c"]);
        let options = options(&["--http", "[::1]:9", "--allow-host", "a", "--allow-host=b"]);
        assert!(!options.legacy_sse);
        assert_eq!(options.http, Some(HttpAddress::Given("[::1]:9".into())));
        assert_eq!(options.hosts, ["a", "b"]);
    }

    #[test]
    fn common_options_may_precede_the_command() {
        for arguments in [
            &["--json", "--protocol-version", "2025-11-25", "tools"][..],
            &["tools", "--protocol-version=2025-11-25", "--json"],
            &["--json", "call", "--revision", "2025-11-25", "add"],
        ] {
            let Ok(Invocation::Command(matches)) = invocation(arguments) else {
                panic!("{arguments:?} is a command");
            };
            let (_, after) = matches.subcommand().unwrap();
            let date =
                |matches: &ArgMatches| matches.get_one::<String>("protocol-version").cloned();
            assert_eq!(
                date(&matches).or(date(after)).as_deref(),
                Some("2025-11-25")
            );
            assert!(matches.get_flag("json") || after.get_flag("json"));
        }
    }

    #[test]
    fn only_commands_that_call_handlers_or_look_at_tasks_need_stores() {
        for (arguments, expected) in [
            (&["call", "add"][..], true),
            (&["read", "x:///y"], true),
            (&["resources"], true),
            (&["shell"], true),
            (&["tasks"], true),
            (&["tools"], false),
            (&["prompts"], false),
            (&["templates"], false),
            (&["install", "cursor"], false),
            (&["installed"], false),
            (&["--describe"], false),
        ] {
            let Ok(Invocation::Command(matches)) = invocation(arguments) else {
                panic!("{arguments:?} is a command");
            };
            assert_eq!(needs_stores(&matches), expected, "{arguments:?}");
        }
    }

    #[test]
    fn other_arguments_are_left_to_the_program() {
        let identity = Implementation::new("server", "1");
        let command = command(with_tasks(&identity));
        for (arguments, expected) in [
            (&["tools"][..], true),
            (&["list"], true),
            (&["--json", "--revision", "x", "call", "add"], true),
            (&["--protocol-version", "x", "call", "add"], true),
            (&["--protocol-version=x", "read"], true),
            (&["--revision=x", "read"], true),
            (&["check"], false),
            (&[], false),
            (&["127.0.0.1:8000"], false),
            (&["--json"], false),
            (&["--verbose", "tools"], false),
            (&["--help"], false),
        ] {
            let words = std::iter::once(&"server").chain(arguments);
            let words: Vec<_> = words.map(OsString::from).collect();
            assert_eq!(names_command(&command, &words), expected, "{arguments:?}");
        }
    }

    #[test]
    fn unknown_arguments_are_refused_with_a_suggestion() {
        for (arguments, hint) in [
            (&["--htpp"][..], ""),
            (&["--allow-host", "a"], ""),
            (&["--http", "[::1]:9", "tools"], "`--http`"),
            (&["--json"], "`tools`"),
            (&["check", "--strict"], "mcp-dev check … -- server"),
            (&["--json", "check"], "mcp-dev check"),
            (&["bundle"], "mcp-dev bundle"),
            (&["cal"], "'call'"),
            (&["tool"], "'tools'"),
            (&["instal", "cursor"], "'install'"),
            (&["install", "cursr"], "'cursor'"),
            (&["tools", "--protocol-version", "2025-01-01"], "2025-11-25"),
            (&["--legacy-sse"], "--http"),
            (&["--trusted-proxies", "*"], "--http"),
        ] {
            let Err(error) = invocation(arguments) else {
                panic!("{arguments:?} is understood");
            };
            let text = error.to_string();
            assert!(text.contains(hint), "{text}");
        }
    }
}
