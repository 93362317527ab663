//! Options for the commands: the client, the entry's file and name, and the entry itself.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_protocol::types::Implementation;
use serde_json::Value;

use crate::call::argument_text;
use crate::install::editor;
use crate::install::editor::TextEditor;
use crate::install::entry::{EntryMembers, LocalServer, RemoteServer, ServerEntry};
use crate::install::file::ConfigFile;
use crate::install::hosts::{Directories, HOSTS, HostApplication};
use crate::print;

/// Adds the arguments that specify an entry in a file.
pub(super) fn with_place(command: Command) -> Command {
    let hosts = HOSTS.iter().map(|host| host.name);
    command
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
                .help("The name of the entry (default: the server's name)"),
        )
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .help("The configuration file (default: the client's usual one)"),
        )
        .arg(editor::option())
}

pub(super) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// An entry in a client's configuration.
pub(super) struct HostEntry<'a> {
    pub(super) host: &'static HostApplication,
    /// The configuration file given on the command line, if any.
    config: Option<&'a str>,
    /// The program that edits files that this one cannot edit.
    pub(super) editor: TextEditor<'a>,
    /// The name of the entry.
    pub(super) name: &'a str,
}

impl<'a> HostEntry<'a> {
    pub(super) fn read(
        identity: &'a Implementation,
        matches: &'a ArgMatches,
    ) -> Result<Self, String> {
        let client = argument_text(matches, "client");
        let Some(host) = HOSTS.iter().find(|host| host.name == client) else {
            return Err("unknown client".to_owned());
        };
        let name = matches.get_one::<String>("name").unwrap_or(&identity.name);
        let is_named = !name.is_empty() && !name.contains(char::is_control);
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !is_named || host.has_bare_names && !name.chars().all(is_bare) {
            let letters = if host.has_bare_names {
                ": use letters, digits, `-` and `_`"
            } else {
                ""
            };
            return Err(format!(
                "{name:?} is not a valid entry name in {}; choose another with `--name`{letters}",
                host.title
            ));
        }
        Ok(Self {
            host,
            config: matches.get_one::<String>("config").map(String::as_str),
            editor: TextEditor::read(matches),
            name,
        })
    }

    /// Returns the paths to the configuration files, beginning with the one that takes precedence. The last is the one
    /// to create if none exists.
    fn paths(&self) -> Result<Vec<PathBuf>, String> {
        if let Some(file) = self.config {
            return Ok(vec![file.into()]);
        }
        self.host.files(&Directories::read()).ok_or_else(|| {
            format!(
                "the location of the configuration file for {} on this system is unknown; specify it with `--config`",
                self.host.title
            )
        })
    }

    /// Reads the configuration files. `unchanged` completes the message about a problem.
    pub(super) fn files(
        &self,
        unchanged: &dyn Fn(String) -> String,
    ) -> Result<Vec<FoundFile>, String> {
        let read = |path: PathBuf| {
            let file = ConfigFile::read(&path).map_err(unchanged)?;
            let document = if file.exists() {
                self.host.format.parse(file.text(), self.editor)
            } else {
                Ok(Value::Null)
            };
            let document = document
                .map_err(|problem| unchanged(format!("{} {problem}", shown_path(&path))))?;
            let has_entry = document
                .get(self.host.servers)
                .is_some_and(|servers| servers.get(self.name).is_some());
            Ok(FoundFile {
                path,
                file,
                has_entry,
            })
        };
        self.paths()?.into_iter().map(read).collect()
    }

    /// Returns the name of the entry, for messages.
    pub(super) fn shown_name(&self) -> String {
        print::visible(self.name)
    }
}

/// A configuration file of a client.
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) file: ConfigFile,
    /// `true` if the file has an entry with the name.
    pub(super) has_entry: bool,
}

/// Returns a path, for messages.
pub(super) fn shown_path(path: &Path) -> String {
    print::visible(&path.to_string_lossy())
}

/// Reads the entry for this client from the command line.
pub(super) fn server_entry(
    host: &HostApplication,
    matches: &ArgMatches,
) -> Result<ServerEntry, String> {
    let members = match matches.get_one::<String>("url") {
        Some(url) => {
            let Some(entry) = host.remote else {
                return Err(format!(
                    "the configuration file of {} does not support entries with URLs; add `{url}` in its settings",
                    host.title
                ));
            };
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return Err(format!("`--url {url}` is not an HTTP URL"));
            }
            entry(&RemoteServer {
                url: url.clone(),
                headers: pairs(matches, "header")?,
            })
        }
        None => (host.local)(&LocalServer {
            executable: match matches.get_one::<OsString>("executable") {
                Some(path) => absolute(path.as_ref())?,
                None => executable()?,
            },
            arguments: texts(matches, "arg")
                .chain(texts(matches, "arguments"))
                .cloned()
                .collect(),
            environment: pairs(matches, "env")?,
        }),
    };
    Ok(ServerEntry {
        members,
        keeps_arguments: !matches.contains_id("arg") && !matches.contains_id("arguments"),
    })
}

/// Returns the path to this executable.
pub(super) fn executable() -> Result<String, String> {
    let path = env::current_exe().map_err(|error| format!("executable path: {error}"))?;
    if !path.exists() {
        // For example, a new build may have replaced the executable.
        return Err(format!(
            "{} no longer exists, perhaps because it was rebuilt; run the command again",
            path.display()
        ));
    }
    unicode(&path)
}

/// Returns a path in the form used in configuration files.
fn unicode(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        format!(
            "{} cannot be written to a configuration file, because it is not valid Unicode",
            path.display()
        )
    })
}

/// Returns the absolute path to an existing executable.
fn absolute(path: &Path) -> Result<String, String> {
    let describe = |error: std::io::Error| format!("{}: {error}", path.display());
    let absolute = std::path::absolute(path).map_err(describe)?;
    if !std::fs::metadata(&absolute).map_err(describe)?.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    unicode(&absolute)
}

fn texts<'m>(matches: &'m ArgMatches, name: &str) -> impl Iterator<Item = &'m String> {
    matches.get_many::<String>(name).into_iter().flatten()
}

/// Returns the values of an option of the form `NAME=VALUE`.
fn pairs(matches: &ArgMatches, option: &str) -> Result<EntryMembers, String> {
    let pairs = texts(matches, option).map(|pair| match pair.split_once('=') {
        Some(("", _)) => Err(format!("`--{option} {pair}` has no name before `=`")),
        Some((name, value)) => Ok((name.to_owned(), value.into())),
        None => Err(format!("`--{option} {pair}` has no `=`")),
    });
    pairs.collect()
}
