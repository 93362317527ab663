//! Runs `cargo build` and collects rustc's diagnostics as they appear.

use std::path::PathBuf;
use std::process::Stdio;

use cargo_metadata::{Message, diagnostic::DiagnosticLevel};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use super::Project;
use crate::group::Group;

/// Maximum size of the diagnostics that are kept, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// A program that was built.
pub(super) struct BuiltProgram {
    pub(super) program: PathBuf,
    pub(super) warnings: String,
}

/// Builds a project's program. The error is the output of rustc or cargo.
pub(super) async fn build(project: &Project) -> Result<BuiltProgram, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--message-format", "json", "--color", "never"]);
    command
        .arg("--manifest-path")
        .arg(project.selection.folder.join("Cargo.toml"));
    command.args(["--package", &project.package]);
    command.args([
        if project.example {
            "--example"
        } else {
            "--bin"
        },
        &project.program,
    ]);
    if let Some(features) = &project.selection.features {
        command.args(["--features", features]);
    }
    if project.selection.release {
        command.arg("--release");
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (_group, mut child) =
        Group::start(&mut command).map_err(|error| format!("cannot start cargo: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let said = async {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            // Cargo's own output is short, but it is read to the end so that cargo never blocks.
            let _ = stderr.read_to_end(&mut text).await;
        }
        String::from_utf8_lossy(&text).into_owned()
    };
    let messages = async {
        let mut found = CargoOutput::default();
        if let Some(stdout) = stdout {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(message) = serde_json::from_str(&line) {
                    found.read(message, project);
                }
            }
        }
        found
    };
    let (said, found, status) = tokio::join!(said, messages, child.wait());
    let status = status.map_err(|error| format!("cannot wait for cargo: {error}"))?;
    match found.program {
        Some(program) if status.success() => Ok(BuiltProgram {
            program,
            warnings: found.warnings,
        }),
        _ if !found.errors.is_empty() => Err(found.errors),
        _ => Err(said),
    }
}

#[derive(Default)]
struct CargoOutput {
    program: Option<PathBuf>,
    errors: String,
    warnings: String,
}

impl CargoOutput {
    fn read(&mut self, message: Message, project: &Project) {
        match message {
            Message::CompilerMessage(message) => {
                let text = match message.message.level {
                    DiagnosticLevel::Error | DiagnosticLevel::Ice => &mut self.errors,
                    _ => &mut self.warnings,
                };
                let rendered = message.message.rendered.unwrap_or(message.message.message);
                if text.len() + rendered.len() <= MAX_TEXT {
                    text.push_str(&rendered);
                    text.push('\n');
                }
            }
            Message::CompilerArtifact(artifact) if artifact.target.name == project.program => {
                if let Some(program) = artifact.executable {
                    self.program = Some(program.into());
                }
            }
            _ => {}
        }
    }
}
