//! Explains how to enable the commands that require the `ship` feature in programs built without it.

use clap::{Arg, Command};

use crate::server::command_line::session::{CommandError, CommandResult};

/// Instructions for the author, as the continuation of a sentence.
pub(super) const HOW: &str =
    "build it with the `ship` feature of mcp-runtime: `cargo run --features mcp-runtime/ship -- …`";

/// The commands that `publish` defines with the `ship` feature.
const COMMANDS: &[(&str, &str)] = &[
    (
        "manifest",
        "Print `server.json` for the MCP registry (requires the `ship` feature)",
    ),
    (
        "bundle",
        "Pack the server into an MCP bundle (requires the `ship` feature)",
    ),
    // This command writes files for HTTP servers.
    #[cfg(feature = "http")]
    (
        "recipe",
        "Print files for Docker, Kubernetes or systemd (requires the `ship` feature)",
    ),
];

/// Adds the commands so that they are listed and explained.
pub(super) fn with_commands(command: Command) -> Command {
    let rest = || {
        Arg::new("rest")
            .num_args(0..)
            .trailing_var_arg(true)
            .allow_hyphen_values(true)
            .hide(true)
    };
    let commands = COMMANDS.iter();
    let commands = commands.map(|(name, about)| Command::new(*name).about(*about).arg(rest()));
    command.subcommands(commands)
}

pub(super) fn is_command(name: &str) -> bool {
    COMMANDS.iter().any(|(command, _)| *command == name)
}

pub(super) fn run(name: &str) -> CommandResult {
    Err(CommandError::Failed(format!(
        "`{name}` is not part of this build; {HOW}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_commands_name_the_feature_that_adds_them() {
        let command = with_commands(Command::new("server"));
        let words = ["server", "bundle", "--force", "linux=a"];
        let matches = command.try_get_matches_from(words).unwrap();
        let name = matches.subcommand_name().unwrap();
        assert!(is_command(name));
        let Err(CommandError::Failed(text)) = run(name) else {
            panic!("`bundle` is missing");
        };
        assert!(
            text.contains("`cargo run --features mcp-runtime/ship -- …`"),
            "{text}"
        );
    }
}
