//! `install`: adds the server to a client's configuration.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_settings::ServerEnvironment;
use serde_json::{Map, Value};

use crate::install::change::Change;
use crate::install::entry::ServerEntry;
use crate::install::file;
use crate::install::options::{FoundFile, HostEntry, flag, server_entry, shown_path, with_place};
use crate::print;
use crate::session::CommandResult;

pub(super) fn command() -> Command {
    let repeated = |name, value, help| {
        let argument = Arg::new(name).long(name).value_name(value);
        argument.action(ArgAction::Append).help(help)
    };
    let command = Command::new("install")
        .about("Add the server to a client's configuration")
        .long_about(
            "Adds this executable, or a server's URL, to a client's configuration. Everything else in the file stays as it \
             is, and a backup of the old file is saved next to it.",
        );
    with_place(command)
        .arg(repeated("env", "NAME=VALUE", "An environment variable for the server; may be repeated"))
        .arg(repeated("arg", "ARGUMENT", "An argument for the server; may be repeated").allow_hyphen_values(true))
        .arg(
            Arg::new("url")
                .long("url")
                .value_name("URL")
                .conflicts_with_all(["env", "arg", "arguments", "executable"])
                .help("Let the client connect to a server at this URL instead of starting this executable"),
        )
        .arg(
            Arg::new("executable")
                .long("executable")
                .value_name("FILE")
                .value_parser(clap::value_parser!(OsString))
                .help("The executable that the client starts (default: this one)"),
        )
        .arg(repeated("header", "NAME=VALUE", "A header for requests to the URL; may be repeated").requires("url"))
        .arg(flag("print", "Print the entry and change nothing"))
        .arg(flag("dry-run", "Print the new file and change nothing"))
        .arg(
            Arg::new("arguments")
                .value_name("ARGUMENT")
                .last(true)
                .num_args(0..)
                .help("Arguments for the server, after `--`; the same as `--arg` for each of them"),
        )
}

pub(super) fn run(
    host_entry: &HostEntry<'_>,
    environment: &ServerEnvironment,
    matches: &ArgMatches,
) -> CommandResult {
    let HostEntry { host, name, .. } = *host_entry;
    let entry = server_entry(host, matches)?;
    let snippet = host.format.snippet(host.servers, name, &entry.members);
    let note_missing = |entry: &Value| {
        // The server at a URL has an environment of its own.
        if !matches.contains_id("url")
            && let Some(note) = missing_variables(environment, entry)
        {
            print::note(&note);
        }
    };
    if matches.get_flag("print") {
        print::line(&snippet);
        note_missing(&Value::Object(entry.members));
        return Ok(true);
    }
    let unchanged =
        |problem: String| format!("{problem}\nNothing was changed. Add this yourself:\n{snippet}");
    let mut files = host_entry.files(&unchanged)?;
    let with_entry = files.iter().position(|file| file.has_entry);
    let existing = || files.iter().position(|file| file.file.exists());
    // The last file is the one to create.
    let chosen = with_entry
        .or_else(existing)
        .unwrap_or(files.len().saturating_sub(1));
    let FoundFile { path, file, .. } = files.swap_remove(chosen);
    let cannot_edit = |problem| unchanged(format!("{} {problem}", shown_path(&path)));
    let edited = if host.format.is_only_created() {
        NewText {
            text: format!("{}{snippet}\n", host.preamble),
            entry: Value::Object(entry.members),
            kept: Vec::new(),
            is_changed: true,
        }
    } else {
        NewText::edit(host_entry, &entry, file.text()).map_err(cannot_edit)?
    };
    let kept = if edited.kept.is_empty() {
        String::new()
    } else {
        let kept = print::visible(&edited.kept.join(", "));
        format!("\nKept from the existing entry: {kept}")
    };
    note_missing(&edited.entry);
    if matches.get_flag("dry-run") {
        print_file(&path, &edited.text);
        return Ok(true);
    }
    if !edited.is_changed {
        print::line(&format!(
            "Already installed in {}: {}{kept}",
            host.title,
            shown_path(&path)
        ));
        return Ok(true);
    }
    let backup = file.replace(&edited.text).map_err(unchanged)?;
    print::line(&format!(
        "Installed `{}` in {}: {}{}{kept}\n{}",
        host_entry.shown_name(),
        host.title,
        shown_path(&path),
        backup_line(backup.as_deref()),
        host.next
    ));
    for option in ["env", "header"] {
        if matches.contains_id(option) {
            for note in file::notes(&path, option) {
                print::note(&note);
            }
        }
    }
    Ok(true)
}

/// The text of a file after the change.
struct NewText {
    text: String,
    /// The entry in it.
    entry: Value,
    /// The parts of an earlier entry that remain.
    kept: Vec<String>,
    is_changed: bool,
}

impl NewText {
    /// Adds the entry to the text of a file.
    fn edit(
        HostEntry {
            host, name, editor, ..
        }: &HostEntry<'_>,
        entry: &ServerEntry,
        text: &str,
    ) -> Result<Self, String> {
        let document = host.format.parse(text, *editor)?;
        let changes = Change::to_enter(host.servers, name, entry, &document);
        let kept = Change::kept(host.servers, name, entry, &document, &changes)?;
        let text = host.format.edit(text, &changes, *editor)?;
        let mut document = host.format.parse(&text, *editor)?;
        Ok(Self {
            entry: document[host.servers][name].take(),
            text,
            kept,
            is_changed: !changes.is_empty(),
        })
    }
}

/// Names the variables that the server requires and that no member of its entry sets, if there are any.
fn missing_variables<'e>(environment: &ServerEnvironment, entry: &'e Value) -> Option<String> {
    let members = entry.as_object().into_iter().flatten();
    let objects = members.filter_map(|(_, value)| value.as_object());
    let inner = |object: &'e Map<String, Value>| {
        let members = object.values().filter_map(Value::as_object);
        std::iter::once(object).chain(members)
    };
    let objects: Vec<_> = objects.flat_map(inner).collect();
    let is_set = |name: &str| objects.iter().any(|object| object.contains_key(name));
    let required = environment.variables.iter();
    let required = required.filter(|variable| variable.is_required);
    let required =
        required.filter(|variable| !is_set(&variable.name) && !is_set(&variable.file_variable()));
    let missing: Vec<&str> = required.map(|variable| &*variable.name).collect();
    let first = missing.first()?;
    let (names, verb) = (
        missing.join("`, `"),
        if missing.len() == 1 { "is" } else { "are" },
    );
    Some(format!(
        "the server does not start without `{names}`, which {verb} not in the entry; add `--env {first}=…`"
    ))
}

/// Prints a file that would be written.
pub(super) fn print_file(path: &Path, text: &str) {
    print::line(&format!("{}:", shown_path(path)));
    print::line(text);
}

/// Returns a line that names the backup, if there is one.
pub(super) fn backup_line(backup: Option<&Path>) -> String {
    backup.map_or_else(String::new, |path| {
        format!("\nBackup of the old file: {}", shown_path(path))
    })
}

#[cfg(test)]
mod tests {
    use mcp_settings::DeclaredVariable;
    use serde_json::json;

    use super::*;

    #[test]
    fn required_variables_that_no_entry_sets_are_named() {
        let required = |name: &str, is_required| {
            let mut variable = DeclaredVariable::text(name, "", false);
            variable.is_required = is_required;
            variable
        };
        let environment = ServerEnvironment {
            variables: vec![
                required("GARDEN_URL", true),
                required("A", true),
                required("GARDEN_KEY", true),
                required("GARDEN_LOG", false),
            ],
            ..ServerEnvironment::default()
        };
        // Hosts have different names for the member with the variables.
        for entry in [
            json!({"env": {"A": "1"}}),
            json!({"args": ["x"], "environment": {"A": "1"}}),
            json!({"transport": {"args": ["x"], "env": {"A": "1"}}}),
            json!({"env": {"A_FILE": "/run/secrets/a"}}),
        ] {
            assert_eq!(
                missing_variables(&environment, &entry).as_deref(),
                Some(
                    "the server does not start without `GARDEN_URL`, `GARDEN_KEY`, which are not in the entry; add `--env \
                     GARDEN_URL=…`"
                )
            );
        }
        let entry = json!({"env": {"GARDEN_URL": "", "A": "", "GARDEN_KEY": ""}});
        assert_eq!(missing_variables(&environment, &entry), None);
    }
}
