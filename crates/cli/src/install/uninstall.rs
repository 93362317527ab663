//! `uninstall`: removes the server from a client's configuration.

use std::fmt::Write as _;
use std::fs;

use clap::{ArgMatches, Command};
use serde_json::Value;

use crate::install::add::print_file;
use crate::install::change::Change;
use crate::install::editor::TextEditor;
use crate::install::entry::ServerEntry;
use crate::install::file::Backup;
use crate::install::hosts::HostApplication;
use crate::install::options::{FoundFile, HostEntry, flag, shown_path, with_place};
use crate::print;
use crate::session::CommandResult;

pub(super) fn command() -> Command {
    let command = Command::new("uninstall")
        .about("Remove the server from a client's configuration")
        .long_about(
            "Removes the server's entry from a client's configuration, and the backups that have it, because they have its \
             keys, too. Everything else in the file stays as it is.",
        );
    with_place(command).arg(flag("dry-run", "Print the new file and change nothing"))
}

pub(super) fn run(host_entry: &HostEntry<'_>, matches: &ArgMatches) -> CommandResult {
    let HostEntry {
        host, name, editor, ..
    } = *host_entry;
    let shown_name = host_entry.shown_name();
    let unchanged = |problem: String| {
        format!(
            "{problem}\nNothing was changed. Remove `{shown_name}` under `{}` yourself.",
            host.servers
        )
    };
    let mut files = host_entry.files(&unchanged)?;
    if !files.iter().any(|file| file.has_entry) {
        let paths: Vec<_> = files.iter().map(|file| shown_path(&file.path)).collect();
        print::line(&format!(
            "`{shown_name}` is not installed in {}: {}",
            host.title,
            paths.join(", ")
        ));
        return Ok(true);
    }
    files.retain(|file| file.has_entry);
    let mut edits = Vec::new();
    for FoundFile { path, file, .. } in files {
        let backups = file.backups();
        let texts = backups.iter().map(|backup| &*backup.text);
        let after = without_entry((host, editor), name, file.text(), texts)
            .map_err(|problem| unchanged(format!("{} {problem}", shown_path(&path))))?;
        edits.push((path, file, backups, after));
    }
    for (index, (path, file, backups, after)) in edits.iter().enumerate() {
        if matches.get_flag("dry-run") {
            print_file(path, after);
            continue;
        }
        // A backup would keep the entry, and the keys in it.
        let replaced = file.replace_without_backup(after);
        replaced.map_err(|problem| match index {
            0 => unchanged(problem),
            _ => problem,
        })?;
        let removed = remove_backups((host, editor), name, backups, after);
        print::line(&format!(
            "Removed `{shown_name}` from {}: {}{removed}",
            host.title,
            shown_path(path)
        ));
    }
    Ok(true)
}

/// Removes the backups that have the entry, and those that are the file itself from now on. Returns a line about them.
fn remove_backups(
    (host, editor): (&HostApplication, TextEditor<'_>),
    name: &str,
    backups: &[Backup],
    now: &str,
) -> String {
    let has_entry = |text: &str| {
        let document = host.format.parse(text, editor);
        document.is_ok_and(|document| document[host.servers].get(name).is_some())
    };
    let mut lines = String::new();
    for Backup { path, text } in backups {
        if text != now && !has_entry(text) {
            continue;
        }
        let line = match fs::remove_file(path) {
            Ok(()) => "Removed its backup",
            Err(_) => "A backup still has the entry and could not be removed",
        };
        let _ = write!(lines, "\n{line}: {}", shown_path(path));
    }
    lines
}

/// Returns a file's text without an entry. If `install` created the file's current text from a backup, the result is
/// exactly that backup; otherwise, an object that had to be created for the entry remains as an empty object.
pub(super) fn without_entry<'b>(
    (host, editor): (&HostApplication, TextEditor<'_>),
    name: &str,
    text: &str,
    mut backups: impl Iterator<Item = &'b str>,
) -> Result<String, String> {
    let document = host.format.parse(text, editor)?;
    if let Some(Value::Object(members)) = document[host.servers].get(name) {
        let entry = ServerEntry {
            members: members.clone(),
            keeps_arguments: false,
        };
        let installed = |backup: &str| {
            let before = host.format.parse(backup, editor).ok()?;
            let is_new = before[host.servers].get(name).is_none();
            let changes = Change::to_enter(host.servers, name, &entry, &before);
            host.format
                .edit(backup, &changes, editor)
                .ok()
                .filter(|_| is_new)
        };
        if let Some(backup) = backups.find(|backup| installed(backup).as_deref() == Some(text)) {
            return Ok(backup.to_owned());
        }
    }
    host.format
        .edit(text, &[Change::to_remove(host.servers, name)], editor)
}
