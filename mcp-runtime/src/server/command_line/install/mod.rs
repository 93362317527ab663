//! `install`: adds the server to the configuration of a client that starts servers itself.
//!
//! The text and order of the file's other members are preserved, and a backup of the old file is saved next to it.

mod edit;
mod hosts;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};

use crate::server::command_line::call::argument_text;
use crate::server::command_line::outcome::{CommandError, CommandResult};
use crate::server::command_line::print;
use crate::types::Implementation;
use hosts::{Directories, HOSTS, HostApplication};

pub(super) fn command() -> Command {
    let hosts = HOSTS.iter().map(|host| host.name);
    let text = |name, value, help| {
        let argument = Arg::new(name).long(name).value_name(value);
        argument.action(ArgAction::Append).help(help)
    };
    let flag = |name, help| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    Command::new("install")
        .about("Add the server to the configuration of a client")
        .long_about(
            "Adds this executable to the configuration of a client that starts servers itself. Other entries are left \
             unchanged, and a backup of the old file is saved next to it.",
        )
        .arg(
            Arg::new("client")
                .value_name("CLIENT")
                .required(true)
                .value_parser(PossibleValuesParser::new(hosts))
                .help("The client"),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("The name of the entry (default: the name of the server)"),
        )
        .arg(text("env", "NAME=VALUE", "An environment variable for the server; may be repeated"))
        .arg(text("arg", "ARGUMENT", "An argument for the server; may be repeated").allow_hyphen_values(true))
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .help("The configuration file (default: the usual one of the client)"),
        )
        .arg(flag("print", "Print the entry and change nothing"))
        .arg(flag("dry-run", "Print the new file and change nothing"))
}

pub(super) fn run(identity: &Implementation, matches: &ArgMatches) -> CommandResult {
    let Some(host) = HOSTS
        .iter()
        .find(|host| host.name == argument_text(matches, "client"))
    else {
        return Err(CommandError::Failed("unknown client".into()));
    };
    let entry_name = matches.get_one::<String>("name").unwrap_or(&identity.name);
    let entry = server_entry(host, matches)?;
    let whole = json!({ host.servers: { entry_name: entry } });
    if matches.get_flag("print") {
        print::json(&whole);
        return Ok(true);
    }
    let file = match matches.get_one::<String>("config") {
        Some(file) => PathBuf::from(file),
        None => (host.file)(&Directories::read()).ok_or_else(|| {
            format!("the configuration file of {} on this system is unknown; specify it with `--config`", host.title)
        })?,
    };
    let old = match fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{}: {error}", file.display()).into()),
    };
    let before = old
        .as_deref()
        .filter(|text| !text.trim().is_empty())
        .unwrap_or("{}");
    let mut after = before.to_owned();
    // Sets each member separately to preserve members that the user added to the entry.
    for (member, value) in &entry {
        let path = [host.servers, entry_name, member];
        if member == "args" && !matches.contains_id("arg") && edit::has_member(before, &path) {
            continue;
        }
        let edited = match value {
            Value::Object(variables) => variables.iter().try_fold(after, |text, (name, value)| {
                edit::set_member(&text, &[host.servers, entry_name, member, name], value)
            }),
            _ => edit::set_member(&after, &path, value),
        };
        after = edited.map_err(|problem| {
            format!(
                "{} {problem}\nNothing was changed. Add this yourself:\n{whole:#}",
                file.display()
            )
        })?;
    }
    if matches.get_flag("dry-run") {
        print::line(&format!("{}:", file.display()));
        print::line(&after);
        return Ok(true);
    }
    if edit::are_same_json(before, &after) {
        print::line(&format!(
            "Already installed in {}: {}",
            host.title,
            file.display()
        ));
        return Ok(true);
    }
    let kept = write(&file, old.is_some(), &after)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let kept = kept.map_or_else(String::new, |kept| {
        format!("\nBackup of the old file: {}", kept.display())
    });
    print::line(&format!(
        "Installed `{entry_name}` in {}: {}{kept}\n{}",
        host.title,
        file.display(),
        host.next
    ));
    Ok(true)
}

/// Returns the entry that tells the client how to start the server.
fn server_entry(
    host: &HostApplication,
    matches: &ArgMatches,
) -> Result<Map<String, Value>, String> {
    let executable = env::current_exe().map_err(|error| format!("executable path: {error}"))?;
    let Some(executable) = executable.to_str() else {
        return Err(format!(
            "{} cannot be written as JSON",
            executable.display()
        ));
    };
    let texts = |name| matches.get_many::<String>(name).into_iter().flatten();
    let mut variables = Map::new();
    for variable in texts("env") {
        match variable.split_once('=') {
            Some((name, value)) => drop(variables.insert(name.into(), value.into())),
            None => return Err(format!("`--env {variable}` has no `=`")),
        }
    }
    let mut entry = Map::new();
    if host.has_type {
        entry.insert("type".into(), "stdio".into());
    }
    entry.insert("command".into(), executable.into());
    entry.insert("args".into(), texts("arg").cloned().collect());
    if !variables.is_empty() {
        entry.insert("env".into(), variables.into());
    }
    Ok(entry)
}

/// Writes the file after backing up any existing file. Returns the path to the backup.
fn write(file: &Path, exists: bool, text: &str) -> io::Result<Option<PathBuf>> {
    let mut kept = None;
    if exists {
        let copy = unused_backup_path(file);
        fs::copy(file, &copy)?;
        kept = Some(copy);
    } else if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    // The file is written in place because it may be a link and its permissions should be preserved.
    fs::write(file, text)?;
    Ok(kept)
}

/// Returns an unused path next to the file for the backup.
fn unused_backup_path(file: &Path) -> PathBuf {
    let beside = |ending: String| {
        let mut path = file.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    let numbered = (2_u32..).map(|number| beside(format!(".backup-{number}")));
    let mut names = std::iter::once(beside(".backup".into())).chain(numbered);
    names.find(|path| !path.exists()).unwrap_or_default()
}
