//! `--describe`: everything that the author's tools need to know about the server, as one JSON document.
//!
//! `mcp-dev` reads the document to publish the server: its settings become those of a bundle, and its probes those of a
//! container. The document contains no values of settings, and no handler runs to make it.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_core::context::Capability;
use mcp_core::handler::definition::{Definition, Kind, SelectedFunction, Submitted};
use mcp_protocol::ProtocolVersion;
use mcp_settings::DeclaredVariable;
use serde_json::{Map, Value, json};

use crate::session::{CommandResult, CommandSession};
use crate::{HttpDescription, Program, print};

/// The name of the option.
pub(super) const NAME: &str = "describe";

/// The number of the document's format. It changes if readers of the previous format would misread the document; new
/// members do not change it.
const FORMAT: u32 = 1;

/// Adds the option.
pub(super) fn with_option(command: Command) -> Command {
    command.arg(
        Arg::new(NAME)
            .long(NAME)
            .action(ArgAction::SetTrue)
            .exclusive(true)
            .help("Print a description of the server as JSON, for tools such as `mcp-dev`"),
    )
}

/// Returns `true` if the option is given.
pub(super) fn is_given(matches: &ArgMatches) -> bool {
    matches.get_flag(NAME)
}

/// Prints the document. `grammar` defines all commands.
pub(super) async fn run(
    mut program: Program,
    matches: &ArgMatches,
    grammar: &Command,
) -> CommandResult {
    // Describing the server does not require values for its settings.
    program.server.ignore_missing_settings();
    let mut document = described_program(&program);
    let sources = SourceLines {
        prefixes: program.prefixes,
    };
    let session = CommandSession::start(program.server, matches, matches).await?;
    let mut lines = Map::new();
    for list in Capability::ALL {
        let items = match list {
            // Handlers would have to list the others.
            Capability::Resources => session.client.definitions(list)?,
            _ => session.list(list).await?,
        };
        lines.insert(list.member().into(), sources.of(list, &items).into());
        document.insert(list.member().into(), items.into());
    }
    document.insert("sources".into(), lines.into());
    document.insert("extensions".into(), session.client.extensions().into());
    document.insert("surface".into(), session.client.surface()?.into());
    document.insert("commandLine".into(), described_command(grammar));
    print::json(&document.into());
    Ok(true)
}

/// Describes a command with its options, arguments and commands, which scripts for shells complete.
fn described_command(command: &Command) -> Value {
    let arguments = command.get_arguments();
    let (arguments, options): (Vec<_>, Vec<_>) = arguments.partition(|one| one.is_positional());
    let commands = command.get_subcommands();
    let commands = commands.filter(|command| !command.is_hide_set());
    json!({
        "name": command.get_name(),
        "about": command.get_about().map(ToString::to_string),
        "options": options.into_iter().map(described_argument).collect::<Vec<_>>(),
        "arguments": arguments.into_iter().map(described_argument).collect::<Vec<_>>(),
        "commands": commands.map(described_command).collect::<Vec<_>>(),
    })
}

/// Describes an option or an argument. An option that takes no value has no name for it.
fn described_argument(argument: &Arg) -> Value {
    let name = argument.get_long().unwrap_or(argument.get_id().as_str());
    let mut described = json!({"name": name});
    let mut set = |member: &str, value: Value| described[member] = value;
    if let Some(short) = argument.get_short() {
        set("short", short.to_string().into());
    }
    if let Some(help) = argument.get_help() {
        set("about", help.to_string().into());
    }
    if argument.get_action().takes_values() {
        let names = argument.get_value_names().unwrap_or_default();
        let name = names.first().map_or("VALUE", |name| name.as_str());
        set("value", name.into());
        let values = argument.get_possible_values();
        let values: Vec<_> = values.iter().map(PossibleValue::get_name).collect();
        if !values.is_empty() {
            set("values", json!(values));
        }
    }
    if argument.is_hide_set() {
        set("hidden", true.into());
    }
    described
}

/// Describes all parts of the program except its definitions.
fn described_program(program: &Program) -> Map<String, Value> {
    let settings = program.settings.variables.iter().map(setting);
    let mut document = Map::new();
    let mut set = |member: &str, value: Value| drop(document.insert(member.into(), value));
    set("format", FORMAT.into());
    set(
        "runtime",
        json!({"name": "mcp-runtime", "version": env!("CARGO_PKG_VERSION")}),
    );
    set("debug", cfg!(debug_assertions).into());
    set("server", json!(program.server.identity()));
    set("protocolVersion", ProtocolVersion::LATEST.as_str().into());
    set("settings", settings.collect());
    set("http", program.http.as_ref().map_or(Value::Null, http));
    let store = program.task_store.as_ref();
    let keeps_tasks = store.is_some_and(|store| store.outlives_process());
    set("keepsData", (keeps_tasks || program.names_backend).into());
    document
}

/// Describes a setting, without the value that it has in this process. A secret's default is a secret, too.
fn setting(variable: &DeclaredVariable) -> Value {
    let mut described = json!({
        "name": variable.name,
        "field": variable.field,
        "description": variable.description(),
        "type": variable.kind(),
        "required": variable.is_required,
        "secret": variable.is_secret,
        "help": variable.to_string(),
    });
    if variable.is_for_http {
        described["http"] = true.into();
    }
    let schema = &variable.schema;
    for (member, value) in [
        ("default", variable.default()),
        ("choices", schema.get("enum")),
        ("minimum", schema.get("minimum")),
        ("maximum", schema.get("maximum")),
    ] {
        if let Some(value) = value {
            described[member] = value.clone();
        }
    }
    described
}

/// Describes how the program serves HTTP.
fn http(http: &HttpDescription) -> Value {
    let probes = http.probes.as_ref();
    json!({
        "path": http.path,
        "host": http.host,
        "probes": probes.map(|(live, ready)| json!({"live": live, "ready": ready})),
        "stopMs": u64::try_from(http.stop.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The lines of the source on which definitions begin.
struct SourceLines {
    /// Prefixes of names, each with the functions whose names have it.
    prefixes: Vec<(String, Vec<SelectedFunction>)>,
}

impl SourceLines {
    /// Returns the lines of those items that a macro has defined, by the items' keys. An item with a name that several
    /// functions in the program have is left out.
    fn of(&self, list: Capability, items: &[Value]) -> Map<String, Value> {
        let lines = items.iter().filter_map(|item| {
            let key = item[list.item_key()].as_str()?;
            let mut functions = inventory::iter::<Submitted>()
                .map(|submitted| submitted.0)
                .filter(|function| is_listed_in(list, function.kind))
                .filter(|function| self.key(list, function) == key);
            match (functions.next(), functions.next()) {
                (Some(Definition { location, .. }), None) => Some((
                    key.to_owned(),
                    json!({"file": location.file, "line": location.line}),
                )),
                _ => None,
            }
        });
        lines.collect()
    }

    /// Returns the key of a definition as clients see it.
    fn key(&self, list: Capability, definition: &Definition) -> String {
        let key = definition.lookup_key();
        let mut prefixes = self.prefixes.iter();
        let prefix = prefixes.find(|(_, functions)| {
            let mut functions = functions.iter();
            functions.any(|selected| selected.function == definition.function)
        });
        match (list, prefix) {
            (Capability::Tools | Capability::Prompts, Some((prefix, _))) => {
                format!("{prefix}{key}")
            }
            _ => key.to_owned(),
        }
    }
}

/// Returns `true` if definitions of this kind are in the list.
fn is_listed_in(list: Capability, kind: Kind) -> bool {
    matches!(
        (list, kind),
        (Capability::Tools, Kind::Tool)
            | (Capability::Prompts, Kind::Prompt)
            | (Capability::Resources, Kind::Resource)
            | (Capability::Templates, Kind::ResourceTemplate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of every kind.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code, reason = "only their schema matters")]
    struct Settings {
        /// Key for the service
        ///
        /// Keep it secret.
        api_key: mcp_settings::Secret<String>,
        /// Password
        #[serde(default = "password")]
        #[schemars(extend("writeOnly" = true))]
        password: String,
        /// Maximum number of rows
        #[serde(default = "ten")]
        #[schemars(range(min = 1, max = 100))]
        max_rows: u8,
        #[serde(default)]
        level: Option<Level>,
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its schema matters")]
    enum Level {
        Quiet,
        Loud,
    }

    fn ten() -> u8 {
        10
    }

    fn password() -> String {
        "hunter2".to_owned()
    }

    #[test]
    fn settings_are_described_without_secrets() {
        let read = mcp_settings::read::<Settings>("MCP_TEST_OF_DESCRIBE_", std::env::vars_os());
        let described: Vec<_> = read.variables.iter().map(setting).collect();
        assert!(!json!(described).to_string().contains("hunter2"));
        assert_eq!(
            described[0],
            json!({
                "name": "MCP_TEST_OF_DESCRIBE_API_KEY", "field": "api_key", "description": "Key for the service",
                "type": "string", "required": true, "secret": true, "help": "Key for the service (string, required, secret)",
            })
        );
        assert_eq!(described[1]["required"], false);
        assert_eq!(described[1]["secret"], true);
        assert_eq!(
            described[2],
            json!({
                "name": "MCP_TEST_OF_DESCRIBE_MAX_ROWS", "field": "max_rows", "description": "Maximum number of rows",
                "type": "integer", "required": false, "secret": false, "default": 10, "minimum": 1, "maximum": 100,
                "help": "Maximum number of rows (integer 1 to 100, default 10)",
            })
        );
        assert_eq!(described[3]["description"], json!(null));
    }
}
