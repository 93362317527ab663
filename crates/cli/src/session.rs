//! A server in this process, and the client that commands use to communicate with it.

use std::io;
use std::io::IsTerminal as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_client::{ClientHost, InProcessClient, RequestError, StartedCall};
use mcp_core::context::{Caller, Capability, Principal};
use mcp_core::dispatch::UnstartedServer;
use mcp_core::error::Error;
use mcp_protocol::ProtocolVersion;
use mcp_schema::suggest::closest;
use serde_json::{Value, json};

use crate::terminal;
use crate::terminal::{Answers, Terminal, interrupted};

pub(super) struct CommandSession {
    pub(super) client: InProcessClient,
    /// `true` if all commands print JSON.
    pub(super) always_json: bool,
    /// Set while the current command prints JSON.
    json: AtomicBool,
    terminal: Arc<Terminal>,
    /// `true` if the client acts as a principal and may therefore lack scopes.
    pub(super) is_principal: bool,
}

/// The names of the options shared by all commands that use the server.
pub(super) const COMMON: [&str; 7] = [
    "json",
    "protocol-version",
    "as",
    "scope",
    "claim",
    "header",
    TAGS,
];

/// Maximum time to wait for the server to process a cancellation.
const MAX_SETTLING: Duration = Duration::from_secs(1);

/// The option that selects definitions by their tags, for commands and for serving.
pub(super) const TAGS: &str = "tags";

/// Returns `true` if any connection options are given. Connection options apply to a whole session.
pub(super) fn has_connection_options(matches: &ArgMatches) -> bool {
    ["protocol-version", "as", "scope", "claim", "header"]
        .into_iter()
        .any(|name| matches!(matches.try_contains_id(name), Ok(true)))
}

/// Adds the options shared by all commands that use the server.
pub(super) fn with_common_options(command: Command) -> Command {
    let versions = PossibleValuesParser::new(ProtocolVersion::supported());
    command
        .arg(
            Arg::new("protocol-version")
                .long("protocol-version")
                .alias("revision")
                .value_name("DATE")
                .value_parser(versions)
                .help("The protocol version to speak (default: the newest)"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print JSON, for programs"),
        )
        .arg(Arg::new("as").long("as").value_name("SUBJECT").help(
            "Run as this principal instead of as a trusted caller, to whom scopes do not apply",
        ))
        .arg(
            Arg::new("scope")
                .long("scope")
                .value_name("SCOPE")
                .action(ArgAction::Append)
                .requires("as")
                .help("A scope of the principal; may be repeated"),
        )
        .arg(
            Arg::new("claim")
                .long("claim")
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .requires("as")
                .help("A claim of the principal, as text or JSON; may be repeated"),
        )
        .arg(
            Arg::new("header")
                .long("header")
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .help("A header that handlers see, as if the call came over HTTP; `NAME: VALUE` works, too; may be repeated"),
        )
        .arg(
            Arg::new(TAGS)
                .long(TAGS)
                .value_name("TAGS")
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
                .help("Use only what these tags select, such as `issues,-admin`"),
        )
}

/// Adds the options for commands that allow the server to ask questions.
pub(super) fn with_answer_options(command: Command) -> Command {
    with_common_options(command)
        .arg(
            Arg::new("answer")
                .long("answer")
                .value_name("FIELD=VALUE")
                .action(ArgAction::Append)
                .help("Fill in this field of the server's forms instead of asking on the terminal"),
        )
        .arg(
            Arg::new("agree")
                .long("agree")
                .action(ArgAction::SetTrue)
                .conflicts_with("decline")
                .help("Agree to open URLs"),
        )
        .arg(
            Arg::new("decline")
                .long("decline")
                .action(ArgAction::SetTrue)
                .conflicts_with("answer")
                .help("Decline forms and URLs"),
        )
        .arg(
            Arg::new("cancel")
                .long("cancel")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["agree", "answer", "decline"])
                .help("Dismiss forms and URLs without an answer"),
        )
        .arg(
            Arg::new("say")
                .long("say")
                .value_name("TEXT")
                .action(ArgAction::Append)
                .help("Answer the server's next sampling request with this text; may be repeated"),
        )
}

impl CommandSession {
    /// Starts the server and connects to it. Options may come before or after the command. The future is boxed so that
    /// its code is compiled once for all commands.
    pub(super) fn start<'m>(
        server: Box<dyn UnstartedServer>,
        before: &'m ArgMatches,
        after: &'m ArgMatches,
    ) -> Pin<Box<dyn Future<Output = Result<Self, CommandError>> + Send + 'm>> {
        Box::pin(Self::start_and_connect(server, before, after))
    }

    async fn start_and_connect(
        mut server: Box<dyn UnstartedServer>,
        before: &ArgMatches,
        after: &ArgMatches,
    ) -> Result<Self, CommandError> {
        let terminal = Arc::new(Terminal::default());
        let option = |name: &str| match (after.get_many::<String>(name), before.get_many(name)) {
            (Some(values), _) | (None, Some(values)) => values.cloned().collect(),
            (None, None) => Vec::new(),
        };
        let version = option("protocol-version").pop();
        let version = version.and_then(|date| ProtocolVersion::from_wire(&date));
        let version = version.unwrap_or(ProtocolVersion::LATEST);
        let capabilities =
            json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        let subject = option("as").pop();
        let is_principal = subject.is_some();
        let claims = split_pairs("claim", &option("claim")).map_err(CommandError::Failed)?;
        let claims = claims.into_iter().map(|(name, value)| {
            let text = || Value::from(value.as_str());
            (
                name,
                serde_json::from_str(&value).unwrap_or_else(|_| text()),
            )
        });
        let caller = subject.map_or_else(Caller::trusted, |subject| {
            let principal = Principal::new(subject).with_scopes(option("scope"));
            principal.with_claims(claims.collect()).into()
        });
        let headers = split_headers(&option("header")).map_err(CommandError::Failed)?;
        // The user at the terminal chooses both the headers and the variables that stand in for some.
        server.set_headers(headers, true);
        for tags in option(TAGS) {
            server.select(&tags);
        }
        let server = server.start().map_err(CommandError::Start)?;
        let Some(connection) = mcp_client::serve(&server, 1, &caller).pop() else {
            return Err(RequestError::Broken("the server has no client").into());
        };
        let host = Arc::clone(&terminal) as Arc<dyn ClientHost>;
        Ok(Self {
            client: InProcessClient::connect(connection, version, capabilities, host).await?,
            always_json: before.get_flag("json") || after.get_flag("json"),
            json: AtomicBool::default(),
            terminal,
            is_principal,
        })
    }

    /// Starts a command by setting its answers to questions and its output format.
    pub(super) fn begin_command(&self, matches: &ArgMatches) -> Result<(), String> {
        let texts = |name: &str| {
            // Commands that do not allow the server to ask questions do not have these options.
            let values = matches.try_get_many::<String>(name).ok().flatten();
            values.into_iter().flatten().cloned()
        };
        let flag = |name: &str| matches!(matches.try_get_one::<bool>(name), Ok(Some(true)));
        let mut answers = Answers {
            agree: flag("agree"),
            refusal: if flag("decline") {
                Some("decline")
            } else {
                flag("cancel").then_some("cancel")
            },
            say: texts("say").collect(),
            ..Answers::default()
        };
        for answer in texts("answer") {
            match answer.split_once('=') {
                Some((field, value)) => answers.fields.push((field.to_owned(), value.to_owned())),
                None => return Err(format!("`--answer {answer}` has no `=`")),
            }
        }
        self.terminal.set_answers(answers);
        let json = self.always_json || flag("json");
        self.json.store(json, Ordering::Relaxed);
        Ok(())
    }

    /// Returns `true` if the command prints JSON.
    pub(super) fn prints_json(&self) -> bool {
        self.json.load(Ordering::Relaxed)
    }

    /// Calls a method whose handler may ask questions and report progress. Ctrl-C cancels the call.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, CommandError> {
        self.until_interrupted(self.client.call(method, params))
            .await
    }

    /// Calls a tool as a task and waits for its result. Ctrl-C cancels the task.
    pub(super) async fn call_as_task(&self, params: Value) -> Result<Value, CommandError> {
        let task = OnceLock::new();
        let call = async {
            match self.client.start_task(params).await? {
                StartedCall::Finished(result) => Ok(result),
                StartedCall::Task(id) => {
                    terminal::say(&format!("task {id}\n"));
                    let id = task.get_or_init(|| id);
                    let watch = |state: &Value| self.terminal.show_task(state);
                    self.client.finish_task(id, watch).await
                }
            }
        };
        let called = self.until_interrupted(call).await;
        if let (Err(CommandError::Interrupted), Some(id)) = (&called, task.get()) {
            let cancel = self.client.task_request("tasks/cancel", json!({}), id);
            drop(tokio::time::timeout(MAX_SETTLING, cancel).await);
        }
        called
    }

    async fn until_interrupted(
        &self,
        call: impl Future<Output = Result<Value, RequestError>>,
    ) -> Result<Value, CommandError> {
        // From here on, so that a call that has said that it runs can be interrupted.
        let interrupted = interrupted();
        let called = tokio::select! {
            called = call => Some(called),
            () = interrupted => None,
        };
        self.terminal.end_call();
        if let Some(called) = called {
            return Ok(called?);
        }
        terminal::give_up();
        if io::stderr().is_terminal() {
            // At this point, the terminal has printed `^C` on the current line.
            terminal::say("\n");
        }
        // The program may exit as soon as the server has been notified. The program does not wait for a server that
        // does not answer.
        drop(tokio::time::timeout(MAX_SETTLING, self.client.settle()).await);
        Err(CommandError::Interrupted)
    }

    /// Ends a command and reports unused answers. Call it after the command's own output and error have been printed.
    pub(super) fn report_unused_answers(&self) {
        self.terminal.report_unused_answers();
    }

    /// Returns all items in a list, including tools for which clients must search.
    pub(super) async fn list(&self, list: Capability) -> Result<Vec<Value>, RequestError> {
        if list != Capability::Tools {
            return self.client.fetch_list(list).await;
        }
        let mut tools = self.client.all_tools()?;
        if self.client.has_tool_sources() {
            let mut listed = self.client.fetch_list(list).await?;
            listed.retain(|tool| tools.iter().all(|known| known["name"] != tool["name"]));
            tools.extend(listed);
        }
        Ok(tools)
    }

    /// Returns the list item with this key.
    pub(super) async fn find(&self, list: Capability, key: &str) -> Result<Value, CommandError> {
        let mut items = self.list(list).await?;
        let is_sought = |item: &Value| item[list.item_key()] == key;
        if let Some(index) = items.iter().position(is_sought) {
            return Ok(items.swap_remove(index));
        }
        let keys = items
            .iter()
            .filter_map(|item| item[list.item_key()].as_str());
        let what = match list {
            Capability::Tools => "tool",
            Capability::Prompts => "prompt",
            Capability::Resources => "resource",
            Capability::Templates => "template",
        };
        let is_declared = self.client.definitions(list)?.iter().any(is_sought);
        Err(CommandError::Failed(if is_declared {
            format!("the {what} `{key}` is disabled")
        } else {
            unknown_name_message(what, key, keys)
        }))
    }
}

/// Splits headers that are written as `NAME=VALUE`, or as in HTTP: `NAME: VALUE`.
fn split_headers(values: &[String]) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &String| match text.split_once([':', '=']) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.trim().to_owned())),
        _ => Err(format!("`--header {text}` must be NAME=VALUE")),
    };
    values.iter().map(pair).collect()
}

/// Splits the values of an option that are written as `NAME=VALUE`.
fn split_pairs(option: &str, values: &[String]) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`--{option} {text}` must be NAME=VALUE")),
    };
    values.iter().map(pair).collect()
}

/// Returns the message for an unknown name, which suggests a similar name or lists the known names.
pub(super) fn unknown_name_message<'n>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> String {
    if let Some(meant) = closest(name, known.clone()) {
        return format!("there is no {what} `{name}`; did you mean `{meant}`?");
    }
    let known: Vec<_> = known.map(|name| format!("`{name}`")).collect();
    match known.as_slice() {
        [] => format!("there is no {what} `{name}`; the server has none"),
        known => format!("there is no {what} `{name}`; known: {}", known.join(", ")),
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(super) enum CommandError {
    /// The server could not start.
    Start(Error),
    /// The command failed with this message.
    Failed(String),
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl From<String> for CommandError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

impl From<RequestError> for CommandError {
    fn from(failure: RequestError) -> Self {
        let hint = if failure.requires_task() {
            "; add `--task`"
        } else {
            ""
        };
        Self::Failed(format!("{failure}{hint}"))
    }
}

/// A command's outcome. `Ok(true)` means that the command did not find any problems.
pub(super) type CommandResult = Result<bool, CommandError>;
