//! Reports the problems that a server's own `check` command finds in its definitions, along with the relevant source
//! lines.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::Project;
use crate::group::Group;

/// Maximum duration of the command.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum size of a report.
const MAX_REPORT: u64 = 4 << 20;
/// Maximum number of source files to search, and the maximum size of each.
const MAX_FILES: usize = 1_000;
const MAX_FILE: u64 = 1 << 20;

/// The command's findings.
pub(super) struct CheckReport {
    pub(super) findings: Value,
    /// The names of environment variables whose values are secret.
    pub(super) secrets: Vec<String>,
}

/// Runs the command. Returns `None` if the server does not have this command or its report cannot be read.
pub(super) async fn check(project: &Project, program: &Path) -> Option<CheckReport> {
    if !project.uses_runtime() {
        return None;
    }
    let mut command = Command::new(program);
    command
        .args(["check", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let (_group, mut child) = Group::start(&mut command).ok()?;
    let stdout = child.stdout.take()?;
    let mut text = Vec::new();
    let read = async {
        let mut stdout = stdout.take(MAX_REPORT);
        stdout.read_to_end(&mut text).await
    };
    tokio::time::timeout(PATIENCE, read).await.ok()?.ok()?;
    let mut report: Value = serde_json::from_slice(&text).ok()?;
    let mut findings = report.get_mut("findings")?.take();
    let secrets = report["secretVariables"].as_array().into_iter().flatten();
    let secrets = secrets.filter_map(|name| name.as_str().map(str::to_owned));
    let secrets = secrets.collect();
    let folder = project.folder();
    let sources = tokio::task::spawn_blocking(move || Sources::read(&folder))
        .await
        .ok()?;
    for finding in findings.as_array_mut()? {
        let name = finding["at"].as_str().and_then(|at| at.split('`').nth(1));
        let line = name.and_then(|name| sources.definition(name));
        if let (Some(line), Some(finding)) = (line, finding.as_object_mut()) {
            finding.insert("line".into(), line.into());
        }
    }
    Some(CheckReport { findings, secrets })
}

/// A package's source files.
struct Sources(Vec<(String, String)>);

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut files = Vec::new();
        let mut folders = vec![folder.join("src"), folder.join("examples")];
        while let Some(next) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&next) else {
                continue;
            };
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                if path.is_symlink() {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs")
                    && files.len() < MAX_FILES
                    && path
                        .metadata()
                        .is_ok_and(|file| file.is_file() && file.len() <= MAX_FILE)
                    && let Ok(text) = std::fs::read_to_string(&path)
                {
                    let name = path.strip_prefix(folder).unwrap_or(&path);
                    files.push((name.display().to_string(), text));
                }
            }
        }
        Self(files)
    }

    /// Returns the file and line of the function with this name. If there is no such function, searches for the name as
    /// a string, because a tool's name may differ from its function's name and a resource is identified by a URI.
    fn definition(&self, name: &str) -> Option<String> {
        let function = format!("fn {name}");
        let is_function = |line: &str| {
            let rest = line
                .split_once(&function)
                .map(|(_, rest)| rest.trim_start());
            rest.is_some_and(|rest| rest.starts_with(['(', '<']))
        };
        let text = format!("\"{name}\"");
        self.find(is_function)
            .or_else(|| self.find(|line| line.contains(&text)))
    }

    fn find(&self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        self.0.iter().find_map(|(file, text)| {
            let at = text.lines().position(&wanted)?;
            Some(format!("{file}:{}", at + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_a_line() {
        let text =
            "fn add_all() {}\n\n#[tool]\npub async fn add(a: i64) {}\n#[resource(\"a://b\")]\n";
        let sources = Sources(vec![("src/main.rs".into(), text.into())]);
        assert_eq!(sources.definition("add").unwrap(), "src/main.rs:4");
        assert_eq!(sources.definition("a://b").unwrap(), "src/main.rs:5");
        assert_eq!(sources.definition("sub"), None);
    }
}
