//! `install`: adds the server to a client's configuration.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use crate::environment::ServerEnvironment;
use crate::server::command_line::install::exposure;
use crate::server::command_line::install::options::{EntryMembers, ServerEntry, TRANSPORT};
use crate::server::command_line::install::options::{
    FoundFile, HostEntry, flag, server_entry, shown_path, with_place,
};
use crate::server::command_line::outcome::CommandResult;
use crate::server::command_line::print;

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
            for note in exposure::notes(&path, option) {
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
        HostEntry { host, name, .. }: &HostEntry<'_>,
        entry: &ServerEntry,
        text: &str,
    ) -> Result<Self, String> {
        let document = host.format.parse(text)?;
        let changes = Change::to_enter(host.servers, name, entry, &document);
        let kept = Change::kept(host.servers, name, entry, &document, &changes)?;
        let text = host.format.edit(text, &changes)?;
        let mut document = host.format.parse(&text)?;
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
    let required = required.filter(|variable| variable.is_required && !is_set(&variable.name));
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

// The changes that add a server to a configuration, independent of the file's format.

/// Members of entries for servers that the client starts.
const OF_LOCAL_SERVERS: &[&str] = &["command", "args", "env", "environment", "cwd"];

/// Members of entries for servers to which the client connects: the names of the URL, and other members.
const URLS: &[&str] = &["url", "serverUrl", "httpUrl"];
const OF_REMOTE_SERVERS: &[&str] = &["headers", "http_headers"];

/// Returns the members that do not belong beside new ones: those of the other kind of server, and other names of the URL,
/// which a client may have read before.
fn foreign_members(news: &EntryMembers) -> [&'static [&'static str]; 3] {
    if news.contains_key("command") {
        [URLS, OF_REMOTE_SERVERS, &[]]
    } else if news.contains_key(TRANSPORT) {
        [OF_LOCAL_SERVERS, URLS, OF_REMOTE_SERVERS]
    } else {
        [OF_LOCAL_SERVERS, URLS, &[]]
    }
}

/// A member to set or remove. Missing objects along the path are created.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) path: Vec<String>,
    /// The new value, or `None` to remove the member.
    pub(super) value: Option<Value>,
}

impl Change {
    fn new(path: &[&str], value: Option<&Value>) -> Self {
        Self {
            path: path.iter().map(|&name| name.to_owned()).collect(),
            value: value.cloned(),
        }
    }

    /// Returns the changes that add a server. Members that the user added to an existing entry are kept, except those
    /// that would give the client two ways to reach the server.
    pub(super) fn to_enter(
        servers: &str,
        name: &str,
        entry: &ServerEntry,
        document: &Value,
    ) -> Vec<Self> {
        let Some(Value::Object(present)) = document.get(servers).and_then(|all| all.get(name))
        else {
            let whole = Value::Object(entry.members.clone());
            return vec![Self::new(&[servers, name], Some(&whole))];
        };
        let mut changes = Vec::new();
        let path = [servers, name];
        Self::to_merge(
            &path,
            (&entry.members, present),
            entry.keeps_arguments,
            &mut changes,
        );
        changes
    }

    /// Collects the changes that turn the members at a path into new ones.
    fn to_merge(
        path: &[&str],
        (news, present): (&EntryMembers, &EntryMembers),
        keeps_arguments: bool,
        changes: &mut Vec<Self>,
    ) {
        let at =
            |member: &str, value: Option<&Value>| Self::new(&[path, &[member]].concat(), value);
        for (member, value) in news {
            match (value, present.get(member)) {
                (_, Some(old)) if old == value => {}
                // The user may have allowed only some of the tools.
                (_, Some(_)) if member == "tools" => {}
                (_, Some(Value::Array(_))) if member == "args" && keeps_arguments => {}
                (Value::Array(new), Some(Value::Array(old)))
                    if member == "command" && keeps_arguments =>
                {
                    // The executable is the first word of the command, and the rest are its arguments.
                    let words = new.iter().take(1).chain(old.iter().skip(1));
                    let words: Value = words.cloned().collect();
                    if words != Value::Array(old.clone()) {
                        changes.push(at(member, Some(&words)));
                    }
                }
                (Value::Object(new), Some(Value::Object(old))) if member == TRANSPORT => {
                    let path = [path, &[member.as_str()]].concat();
                    Self::to_merge(&path, (new, old), keeps_arguments, changes);
                }
                (Value::Object(new), Some(Value::Object(old))) => {
                    let news = new
                        .iter()
                        .filter(|(key, value)| old.get(*key) != Some(*value));
                    changes.extend(news.map(|(key, value)| {
                        Self::new(&[path, &[member, key]].concat(), Some(value))
                    }));
                }
                _ => changes.push(at(member, Some(value))),
            }
        }
        let is_stale =
            |member: &&&str| present.contains_key(**member) && !news.contains_key(**member);
        let stale: Vec<_> = foreign_members(news)
            .into_iter()
            .flatten()
            .filter(is_stale)
            .collect();
        if !stale.is_empty() && !news.contains_key("type") && present.contains_key("type") {
            changes.push(at("type", None));
        }
        changes.extend(stale.into_iter().map(|member| at(member, None)));
    }

    /// Describes the parts of an existing entry with this name that do not come from `entry` and are kept. Environment
    /// variables and headers are described only by name, because their values may be secret.
    pub(super) fn kept(
        servers: &str,
        name: &str,
        entry: &ServerEntry,
        document: &Value,
        changes: &[Self],
    ) -> Result<Vec<String>, String> {
        let mut after = document.clone();
        for change in changes {
            change.apply(&mut after)?;
        }
        let before = document[servers][name].as_object();
        let mut kept = Vec::new();
        for (member, old) in before.into_iter().flatten() {
            let new = &after[servers][name][member];
            if new.is_null() || entry.members.get(member) == Some(old) {
                continue;
            }
            match (old, new) {
                (Value::Object(old), Value::Object(new)) => {
                    let own = entry.members.get(member).and_then(Value::as_object);
                    let others = old.keys().filter(|key| {
                        new.contains_key(*key) && own.is_none_or(|own| !own.contains_key(*key))
                    });
                    let others: Vec<_> = others.map(String::as_str).collect();
                    if !others.is_empty() {
                        kept.push(format!("{member} {}", others.join(" ")));
                    }
                }
                (Value::Array(words), _) if member == "command" => {
                    if let Some(arguments) = words.get(1..).filter(|words| !words.is_empty()) {
                        kept.push(format!("arguments {}", Value::from(arguments)));
                    }
                }
                _ if old == new => kept.push(format!("{member} {old}")),
                _ => {}
            }
        }
        Ok(kept)
    }

    /// Returns the change that removes a server.
    pub(super) fn to_remove(servers: &str, name: &str) -> Self {
        Self::new(&[servers, name], None)
    }

    /// Applies the change to a parsed document.
    pub(super) fn apply(&self, document: &mut Value) -> Result<(), String> {
        let Some((last, parents)) = self.path.split_last() else {
            return Ok(());
        };
        let mut object = object_in(document)?;
        for name in parents {
            let child = object
                .entry(name.as_str())
                .or_insert_with(|| Map::new().into());
            object = object_in(child)?;
        }
        match &self.value {
            Some(value) => drop(object.insert(last.clone(), value.clone())),
            None => drop(object.shift_remove(last)),
        }
        Ok(())
    }
}

fn object_in(value: &mut Value) -> Result<&mut Map<String, Value>, String> {
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(NO_OBJECT.to_owned()),
    }
}

/// Continues a sentence that starts with the file name.
pub(super) const NO_OBJECT: &str = "does not have an object in which servers are configured";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::environment::DeclaredVariable;

    #[test]
    fn required_variables_that_no_entry_sets_are_named() {
        let required = |name: &str, is_required| {
            let mut variable = DeclaredVariable::for_header(name, "");
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
