//! Options that the commands share, the files that they write, and the schemas for these files.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::Value;

use crate::describe::Description;
use crate::target::option;

/// Defines an option that takes a value and may be repeated.
pub(super) fn repeated(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).action(ArgAction::Append)
}

/// Opens a file for reading. Pipes and devices are rejected, because they may never end.
pub(super) fn open(path: &Path) -> Result<File> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    if !file.metadata().with_context(name)?.is_file() {
        bail!("{} is not a file", path.display());
    }
    Ok(file)
}

/// Returns the value of an option.
pub(super) fn text<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

/// Returns the values of an option that may be repeated.
pub(super) fn texts<'m>(matches: &'m ArgMatches, name: &str) -> impl Iterator<Item = &'m str> {
    let values = matches.get_many::<String>(name);
    values.into_iter().flatten().map(String::as_str)
}

/// Returns the server's description, taken from the option or, failing that, from the program.
pub(super) fn description<'a>(about: &'a Description, matches: &'a ArgMatches) -> Result<&'a str> {
    let own = about.server.description.as_deref();
    text(matches, "description").or(own).context(
        "the server has no description: call `.description(…)` on it, or pass `--description`",
    )
}

/// Prints a file, or writes it if `--output` is given. Returns the text to print.
pub(super) fn print_or_write(matches: &ArgMatches, contents: String) -> Result<String> {
    let Some(path) = text(matches, "output") else {
        return Ok(contents);
    };
    write(Path::new(path), matches.get_flag("force"), |file| {
        io::Write::write_all(file, contents.as_bytes())
    })?;
    Ok(format!("Wrote {path}\n"))
}

/// Writes the file by passing an empty file to `fill`. The file is given its name only when it is complete.
///
/// # Errors
///
/// Fails if the path exists and `replaces` is `false`, or if the file cannot be written.
pub(super) fn write<T>(
    path: &Path,
    replaces: bool,
    fill: impl FnOnce(&mut File) -> io::Result<T>,
) -> Result<T> {
    let describe = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow!(
                "{} already exists; use `--force` to replace it",
                path.display()
            )
        }
        _ => anyhow!("{}: {error}", path.display()),
    };
    if !replaces && path.symlink_metadata().is_ok() {
        return Err(describe(io::ErrorKind::AlreadyExists.into()));
    }
    if path.is_dir() {
        bail!("{} is a directory", path.display());
    }
    let (new, mut opened) = create_beside(path).map_err(describe)?;
    let written = fill(&mut opened).and_then(|value| {
        drop(opened);
        put(&new, path, replaces).map(|()| value)
    });
    drop(fs::remove_file(&new));
    written.map_err(describe)
}

/// Creates a file with an unused name in the same directory as the path.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    for number in 1..u32::MAX {
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".new-{number}"));
        let mut options = OpenOptions::new();
        match options.read(true).write(true).create_new(true).open(&new) {
            Ok(file) => return Ok((new.into(), file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::StorageFull.into())
}

/// Moves a file to its final name.
fn put(new: &Path, path: &Path, replaces: bool) -> io::Result<()> {
    if replaces {
        return fs::rename(new, path);
    }
    // Unlike `rename`, this fails if the path has been created in the meantime.
    fs::hard_link(new, path).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems do not support links.
        _ => fs::rename(new, path),
    })
}

/// The schema for `server.json`.
pub(super) const SERVER: &str = include_str!("schema/server-2025-12-11.json");

/// The schema for a bundle's `manifest.json`.
pub(super) const BUNDLE: &str = include_str!("schema/mcpb-manifest-0.3.json");

/// Checks a file before it is written.
///
/// # Errors
///
/// Returns an error that lists all problems.
pub(super) fn check(file: &str, schema: &str, value: &Value) -> Result<()> {
    let schema = serde_json::from_str(schema)?;
    let validator = jsonschema::validator_for(&schema)?;
    let faults = validator
        .iter_errors(value)
        .map(|fault| format!("\n{}: {fault}", fault.instance_path()));
    let faults: String = faults.collect();
    if !faults.is_empty() {
        bail!("{file} would be invalid:{faults}");
    }
    Ok(())
}
