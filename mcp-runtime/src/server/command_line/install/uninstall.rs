//! `uninstall`: removes the server from a client's configuration.

use clap::{ArgMatches, Command};
use serde_json::Value;

use crate::server::command_line::install::add::{backup_line, print_file};
use crate::server::command_line::install::change::Change;
use crate::server::command_line::install::entry::ServerEntry;
use crate::server::command_line::install::file::ConfigFile;
use crate::server::command_line::install::hosts::HostApplication;
use crate::server::command_line::install::options::{HostEntry, flag, with_place};
use crate::server::command_line::outcome::CommandResult;
use crate::server::command_line::print;

pub(super) fn command() -> Command {
    let command = Command::new("uninstall")
        .about("Remove the server from a client's configuration")
        .long_about(
            "Removes the server's entry from a client's configuration. Everything else in the file stays as it \
             is, and a backup of the old file is saved next to it.",
        );
    with_place(command).arg(flag("dry-run", "Print the new file and change nothing"))
}

pub(super) fn run(host_entry: &HostEntry<'_>, matches: &ArgMatches) -> CommandResult {
    let HostEntry { host, name, .. } = *host_entry;
    let path = host_entry.path()?;
    let unchanged = |problem: String| {
        format!(
            "{problem}\nNothing was changed. Remove `{name}` under `{}` yourself.",
            host.servers
        )
    };
    let cannot_edit = |problem| unchanged(format!("{} {problem}", path.display()));
    let file = ConfigFile::read(&path).map_err(unchanged)?;
    let document = if file.exists() {
        host.format.parse(file.text()).map_err(cannot_edit)?
    } else {
        Value::Null
    };
    let servers = document.get(host.servers);
    if servers.and_then(|servers| servers.get(name)).is_none() {
        print::line(&format!(
            "`{name}` is not installed in {}: {}",
            host.title,
            path.display()
        ));
        return Ok(true);
    }
    let after = without_entry(host, name, file.text(), file.backups());
    let after = after.map_err(cannot_edit)?;
    if matches.get_flag("dry-run") {
        print_file(&path, &after);
        return Ok(true);
    }
    let backup = file.replace(&after).map_err(unchanged)?;
    print::line(&format!(
        "Removed `{name}` from {}: {}{}",
        host.title,
        path.display(),
        backup_line(backup.as_deref())
    ));
    Ok(true)
}

/// Returns a file's text without an entry. If `install` created the file's current text from a backup, the result is
/// exactly that backup; otherwise, an object that had to be created for the entry remains as an empty object.
pub(super) fn without_entry(
    host: &HostApplication,
    name: &str,
    text: &str,
    backups: impl Iterator<Item = String>,
) -> Result<String, String> {
    let document = host.format.parse(text)?;
    if let Some(Value::Object(members)) = document[host.servers].get(name) {
        let entry = ServerEntry {
            members: members.clone(),
            keeps_arguments: false,
        };
        let installed = |backup: &String| {
            let before = host.format.parse(backup).ok()?;
            let is_new = before[host.servers].get(name).is_none();
            let changes = Change::to_enter(host.servers, name, &entry, &before);
            host.format.edit(backup, &changes).ok().filter(|_| is_new)
        };
        let mut backups = backups;
        if let Some(backup) = backups.find(|backup| installed(backup).as_deref() == Some(text)) {
            return Ok(backup);
        }
    }
    host.format
        .edit(text, &[Change::to_remove(host.servers, name)])
}
