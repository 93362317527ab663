//! `installed`: lists the clients that have an entry for the server.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use mcp_protocol::types::Implementation;
use serde_json::{Value, json};

use crate::install::editor;
use crate::install::editor::TextEditor;
use crate::install::entry::TRANSPORT;
use crate::install::file::ConfigFile;
use crate::install::hosts::{Directories, HOSTS, HostApplication};
use crate::install::options::{executable, shown_path};
use crate::print;
use crate::session::CommandResult;

pub(super) fn command() -> Command {
    Command::new("installed")
        .about("List the clients that have the server in their configuration")
        .long_about(
            "Lists the entries that have the server's name or start this executable in the usual configuration files \
             of all clients. Project files are looked for in the current directory.",
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print JSON, for programs"),
        )
        .arg(editor::option())
}

/// An entry for the server: the client, its file, and the entry's name and target.
struct FoundEntry {
    host: &'static HostApplication,
    path: PathBuf,
    name: String,
    /// The executable that the client starts, or the URL to which it connects.
    target: Option<String>,
}

pub(super) fn run(
    identity: &Implementation,
    as_json: bool,
    editor: TextEditor<'_>,
) -> CommandResult {
    let executable = executable()?;
    let places = Directories::read();
    let mut found = Vec::new();
    let mut all_searched = true;
    let paths = HOSTS.iter().flat_map(|host| {
        let files = host.files(&places).unwrap_or_default();
        files.into_iter().map(move |path| (host, path))
    });
    for (host, path) in paths {
        let file = match ConfigFile::read(&path) {
            Ok(file) if file.exists() => file,
            Ok(_) => continue,
            Err(problem) => {
                print::error(&problem);
                all_searched = false;
                continue;
            }
        };
        if let Some(reason) = host.format.unreadable(editor) {
            print::error(&format!(
                "{}: {} was not searched: {reason}",
                host.title,
                shown_path(&path)
            ));
            all_searched = false;
            continue;
        }
        match host.format.parse(file.text(), editor) {
            Ok(document) => {
                let entries = document[host.servers].as_object().into_iter().flatten();
                for (name, entry) in entries {
                    let target = target(entry);
                    if *name == identity.name || target == Some(&*executable) {
                        found.push(FoundEntry {
                            host,
                            path: path.clone(),
                            name: name.clone(),
                            target: target.map(str::to_owned),
                        });
                    }
                }
            }
            Err(problem) => {
                print::error(&format!("{} {problem}", shown_path(&path)));
                all_searched = false;
            }
        }
    }
    if as_json {
        let found = found.iter().map(|entry| {
            let file = entry.path.display().to_string();
            json!({"client": entry.host.name, "name": entry.name, "file": file, "target": entry.target})
        });
        print::json(&found.collect());
        return Ok(true);
    }
    if found.is_empty() {
        print::line(if all_searched {
            "not installed in any client"
        } else {
            "not installed in any client whose file could be read"
        });
        return Ok(true);
    }
    let widest = |text: fn(&FoundEntry) -> usize| found.iter().map(text).max().unwrap_or_default();
    let clients = widest(|entry| entry.host.name.len());
    let names = widest(|entry| print::visible(&entry.name).chars().count());
    for entry in &found {
        print::line(&format!(
            "{:clients$}  {:names$}  {}  {}",
            entry.host.name,
            print::visible(&entry.name),
            shown_path(&entry.path),
            print::visible(entry.target.as_deref().unwrap_or("?"))
        ));
    }
    Ok(true)
}

/// Returns the executable or the URL in an entry.
fn target(entry: &Value) -> Option<&str> {
    let entry = entry
        .get(TRANSPORT)
        .filter(|inner| inner.is_object())
        .unwrap_or(entry);
    let command = &entry["command"];
    let command = command.as_str().or_else(|| command[0].as_str());
    let url = || {
        ["url", "serverUrl", "httpUrl"]
            .into_iter()
            .find_map(|name| entry[name].as_str())
    };
    command.or_else(url)
}
