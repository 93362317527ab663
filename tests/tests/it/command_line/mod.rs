//! Every server is a command line: runs the examples as a person or a pipeline would.

mod calls;
mod check;
pub(crate) mod docs;
mod install;
#[cfg(unix)]
mod legacy_sse;
mod many_tools;
mod publish;
mod recipes;
mod reference;
mod shell;
mod tasks;
#[cfg(unix)]
mod terminal;
mod trusted_proxies;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The outcome of a command.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Returns the output of a command that succeeded.
    fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Returns the error output of a command that failed.
    fn bad(self) -> String {
        assert_eq!(self.code, Some(1), "{}{}", self.out, self.err);
        self.err
    }
}

/// Runs an example without a terminal, in this directory, which is also its home directory.
fn run_in(directory: &Path, example: &str, arguments: &[&str]) -> Ran {
    run_at(directory, directory, example, arguments)
}

/// Runs an example without a terminal, in this directory and with this home directory.
pub(crate) fn run_at(directory: &Path, home: &Path, example: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(tests::binary(example));
    command
        .args(arguments)
        .current_dir(directory)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME");
    let output = tests::run::output(&mut command);
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn run(example: &str, arguments: &[&str]) -> Ran {
    run_in(&std::env::temp_dir(), example, arguments)
}

/// Runs a command in every protocol version that it supports.
fn in_every_version(example: &str, arguments: &[&str], check: impl Fn(&str, Ran)) {
    for version in tests::Version::ALL {
        let date = version.date();
        let with = [arguments, &["--protocol-version", date]].concat();
        check(date, run(example, &with));
    }
}

/// A directory for a single test, which is deleted when this is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
