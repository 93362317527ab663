//! `manifest`, `bundle` and `recipe`: write files about the server for the MCP registry, hosts and operators. Requires
//! the `ship` feature.
//!
//! These commands do not send any data; publishing is left to the registry's tools.

mod bundle;
mod manifest;
mod output;
#[cfg(feature = "http")]
mod recipe;

use clap::{ArgMatches, Command};

use crate::server::Server;
use crate::server::command_line::session::CommandResult;

/// Adds the commands.
pub(super) fn with_commands(command: Command) -> Command {
    let command = command
        .subcommand(manifest::command())
        .subcommand(bundle::command());
    #[cfg(feature = "http")]
    let command = command.subcommand(recipe::command());
    command
}

/// Returns `true` for the names of these commands.
pub(super) fn is_command(name: &str) -> bool {
    matches!(name, "manifest" | "bundle" | "recipe")
}

/// Runs one of the commands.
pub(super) async fn run(
    name: &str,
    server: Server,
    before: &ArgMatches,
    matches: &ArgMatches,
) -> CommandResult {
    match name {
        "manifest" => manifest::run(&server, matches),
        #[cfg(feature = "http")]
        "recipe" => recipe::run(&server, matches),
        _ => bundle::run(server, before, matches).await,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Cursor;

    use serde_json::json;

    use super::manifest::hexadecimal;
    use crate::server::command_line::publish::bundle::{ArchivedFile, Contents, zip};
    use crate::server::command_line::publish::output;

    #[test]
    fn an_archive_contains_exactly_its_files() {
        let file = |contents: &[u8]| ArchivedFile {
            contents: Contents::Bytes(contents.to_vec()),
            is_executable: contents.is_empty(),
        };
        let files = BTreeMap::from([
            ("b/é".to_owned(), file(b"")),
            ("a".to_owned(), file(b"aaaa")),
        ]);
        let zipped = |files: &BTreeMap<_, _>| {
            let mut archive = Cursor::new(Vec::new());
            zip(files, &mut archive).unwrap();
            archive.into_inner()
        };
        let bytes = zipped(&files);
        assert_eq!(bytes, zipped(&files));
        let hex = hexadecimal(&bytes);
        // Read by Python's `zipfile` and by `unzip`.
        assert_eq!(
            hex,
            "504b03041400000808000000210045e598ad060000000400000001000000614b4c4c4c0400504b0304140000080800000021\
         0000000000020000000000000004000000622fc3a90300504b010214031400000808000000210045e598ad06000000040000\
         00010000000000000000000000a4810000000061504b01021403140000080800000021000000000002000000000000000400\
         00000000000000000000ed8125000000622fc3a9504b0506000000000200020061000000490000000000"
        );
    }

    #[test]
    fn the_output_schemas_validate_documents_and_report_errors() {
        let whole = json!({"name": "io.github.you/x", "description": "X", "version": "1", "packages": [
        {"registryType": "cargo", "identifier": "x", "version": "1", "transport": {"type": "stdio"},
         "environmentVariables": [{"name": "A", "format": "number", "isSecret": true}]},
    ], "remotes": [{"type": "streamable-http", "url": "https://x"}]});
        output::check("server.json", output::SERVER, &whole).unwrap();
        for (pointer, value) in [
            ("/name", json!("x")),
            ("/description", json!("x".repeat(101))),
            ("/packages/0/version", json!("latest")),
            ("/packages/0/transport", json!({"type": "http"})),
            (
                "/packages/0/environmentVariables/0/format",
                json!("integer"),
            ),
            ("/remotes/0/url", json!("example.com")),
        ] {
            let mut wrong = whole.clone();
            *wrong.pointer_mut(pointer).unwrap() = value;
            let error = output::check("server.json", output::SERVER, &wrong).unwrap_err();
            assert!(error.contains(pointer), "{pointer}: {error}");
        }
        let whole = json!({"manifest_version": "0.3", "name": "x", "version": "1", "description": "X", "author": {"name": "Y"},
        "server": {"type": "binary", "entry_point": "x", "mcp_config": {"command": "x", "platform_overrides": {"win32": {"command": "y"}}}},
        "user_config": {"a": {"type": "string", "title": "A", "description": "A", "default": ["x"]}}});
        output::check("manifest.json", output::BUNDLE, &whole).unwrap();
        for (pointer, value) in [
            ("/author", json!({"name": 1})),
            ("/server/type", json!("rust")),
            (
                "/server/mcp_config/platform_overrides/win32/command",
                json!(1),
            ),
            ("/user_config/a/type", json!("integer")),
        ] {
            let mut wrong = whole.clone();
            *wrong.pointer_mut(pointer).unwrap() = value;
            let error = output::check("manifest.json", output::BUNDLE, &wrong).unwrap_err();
            assert!(error.contains(pointer), "{pointer}: {error}");
        }
    }

    #[test]
    fn writing_a_file_keeps_temporary_files_of_other_processes() {
        use std::io::Write as _;

        let directory = std::env::temp_dir().join(format!("mcp-output-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("a");
        let others = directory.join("a.new-1");
        std::fs::write(&others, "theirs").unwrap();
        super::output::write(&path, false, |file| file.write_all(b"mine")).unwrap();
        let failed = super::output::write(&path, true, |_| {
            Err::<(), _>(std::io::ErrorKind::Other.into())
        });
        failed.unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(&others).unwrap(), "theirs");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn two_variables_are_not_one_setting() {
        let server = crate::Server::new("x", "1")
            .env::<Settings>("A_")
            .env::<Settings>("a_");
        let variables = &server.environment.variables;
        let shared = crate::server::command_line::publish::bundle::shared_setting(variables);
        assert_eq!(shared.as_deref(), Some("a_api_key"));
    }

    /// Settings of every kind.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code, reason = "only their schema matters")]
    struct Settings {
        /// Key for the service
        ///
        /// Keep it secret.
        api_key: crate::env::Secret<String>,
        /// Maximum number of rows
        #[serde(default = "ten")]
        #[schemars(range(min = 1, max = 100))]
        max_rows: u8,
        dry_run: Option<bool>,
        #[serde(default)]
        words: Vec<String>,
    }

    fn ten() -> u8 {
        10
    }

    #[test]
    fn environment_variables_become_user_config_of_the_bundle() {
        let server = crate::Server::new("x", "1").env::<Settings>("X_");
        let variables = &server.environment.variables;
        assert_eq!(
            crate::server::command_line::publish::bundle::user_config(variables),
            json!({
                "x_api_key": {"type": "string", "title": "Api key", "description": "Key for the service", "required": true, "sensitive": true},
                "x_max_rows": {"type": "number", "title": "Max rows", "description": "Maximum number of rows", "required": false,
                    "default": 10, "min": 1, "max": 100},
                "x_dry_run": {"type": "boolean", "title": "Dry run", "description": "Dry run", "required": false},
                "x_words": {"type": "string", "title": "Words", "description": "Words", "required": false, "default": ""},
            })
        );
    }

    #[tokio::test]
    async fn a_bundle_is_built_without_values_of_environment_variables() {
        let path = std::env::temp_dir().join(format!("mcp-settings-{}.mcpb", std::process::id()));
        let server = crate::Server::new("x", "1")
            .only([])
            .env::<Settings>("MCP_TEST_OF_BUNDLES_");
        let command = crate::server::command_line::command(server.grammar(""));
        let words = [
            "x",
            "bundle",
            "--author",
            "Y",
            "--description",
            "X",
            "--output",
        ];
        let program = path.with_extension("elf");
        std::fs::write(&program, "\x7fELF").unwrap();
        let binary = format!("--binary=linux={}", program.display());
        let words = words.into_iter().chain([path.to_str().unwrap(), &binary]);
        let matches = command.try_get_matches_from(words).unwrap();
        let outcome = crate::server::command_line::perform(server, &matches).await;
        assert!(matches!(outcome, Ok(true)), "{outcome:?}");
        std::fs::remove_file(path).unwrap();
        std::fs::remove_file(program).unwrap();
    }
}
