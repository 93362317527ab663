//! Runs the commands with descriptions of servers.

mod files;
mod recipes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use serde_json::{Value, json};

use super::{Request, answer};
use crate::describe::{Description, Program};

/// Returns what the example `weather` tells about itself. A test of that program keeps the file up to date.
fn weather() -> Value {
    serde_json::from_str(include_str!("weather.json")).unwrap()
}

/// Returns the description of a server with this name and no definitions.
fn server(name: &str, version: &str) -> Value {
    json!({
        "format": 1, "debug": false, "server": {"name": name, "version": version}, "settings": [],
        "http": {"host": null, "probes": {"live": "/livez", "ready": "/readyz"}, "stopMs": 5000},
        "keepsData": false, "tools": [], "prompts": [],
    })
}

/// Returns a setting of this type, with these other members.
fn setting(name: &str, kind: &str, others: &Value) -> Value {
    let mut setting = json!({
        "name": name, "field": name.to_lowercase(), "description": null, "type": kind, "required": false,
        "secret": false, "help": format!("({kind})"),
    });
    let members = setting.as_object_mut().unwrap();
    members.extend(others.as_object().unwrap().clone());
    setting
}

/// Runs a command for a program with this path and description. Returns what the command prints.
fn run(program: &Path, description: &Value, arguments: &[&str]) -> Result<String> {
    let command = clap::Command::new("mcp-dev").subcommands(super::commands());
    let words = std::iter::once(&"mcp-dev").chain(arguments);
    let mut matches = command.try_get_matches_from(words)?;
    let (name, matches) = matches.remove_subcommand().unwrap();
    let program = Program::at(program);
    let description = Description::read(description.clone())?;
    answer(&Request { name, matches }, &program, &description)
}

/// Returns the message of a command that must fail.
fn failure(ran: Result<String>) -> String {
    format!("{:#}", ran.unwrap_err())
}

/// A directory for a single test, which is deleted when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("mcp-dev-{name}-{process}-{number}"));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the path of a file in the directory, as text for an argument.
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), contents).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
