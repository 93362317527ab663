//! `install`: adds the server to a client's configuration.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::server::command_line::install::change::Change;
use crate::server::command_line::install::file::ConfigFile;
use crate::server::command_line::install::options::{HostEntry, flag, server_entry, with_place};
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

pub(super) fn run(host_entry: &HostEntry<'_>, matches: &ArgMatches) -> CommandResult {
    let HostEntry { host, name, .. } = *host_entry;
    let entry = server_entry(host, matches)?;
    let snippet = host.format.snippet(host.servers, name, &entry.members);
    if matches.get_flag("print") {
        print::line(&snippet);
        return Ok(true);
    }
    let path = host_entry.path()?;
    let unchanged =
        |problem: String| format!("{problem}\nNothing was changed. Add this yourself:\n{snippet}");
    let cannot_edit = |problem| unchanged(format!("{} {problem}", path.display()));
    let file = ConfigFile::read(&path).map_err(unchanged)?;
    let document = host.format.parse(file.text()).map_err(cannot_edit)?;
    let changes = Change::to_enter(host.servers, name, &entry, &document);
    let kept =
        Change::kept(host.servers, name, &entry, &document, &changes).map_err(cannot_edit)?;
    let kept = if kept.is_empty() {
        String::new()
    } else {
        let kept = print::visible(&kept.join(", "));
        format!("\nKept from the existing entry: {kept}")
    };
    let after = host.format.edit(file.text(), &changes);
    let after = after.map_err(cannot_edit)?;
    if matches.get_flag("dry-run") {
        print_file(&path, &after);
        return Ok(true);
    }
    if changes.is_empty() {
        print::line(&format!(
            "Already installed in {}: {}{kept}",
            host.title,
            path.display()
        ));
        return Ok(true);
    }
    let backup = file.replace(&after).map_err(unchanged)?;
    print::line(&format!(
        "Installed `{name}` in {}: {}{}{kept}\n{}",
        host.title,
        path.display(),
        backup_line(backup.as_deref()),
        host.next
    ));
    Ok(true)
}

/// Prints a file that would be written.
pub(super) fn print_file(path: &Path, text: &str) {
    print::line(&format!("{}:", path.display()));
    print::line(text);
}

/// Returns a line that names the backup, if there is one.
pub(super) fn backup_line(backup: Option<&Path>) -> String {
    backup.map_or_else(String::new, |path| {
        format!("\nBackup of the old file: {}", path.display())
    })
}
