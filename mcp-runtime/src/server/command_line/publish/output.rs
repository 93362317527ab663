//! Writes a file that does not exist yet, or replaces an existing one on request.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Writes the file by passing an empty file to `fill`. The file is given its name only when it is complete.
///
/// # Errors
///
/// Fails if the path exists and `replaces` is `false`, or if the file cannot be written.
pub(super) fn write<T>(
    path: &Path,
    replaces: bool,
    fill: impl FnOnce(&mut File) -> io::Result<T>,
) -> Result<T, String> {
    let describe = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!(
                "{} already exists; use `--force` to replace it",
                path.display()
            )
        }
        _ => format!("{}: {error}", path.display()),
    };
    if !replaces && path.symlink_metadata().is_ok() {
        return Err(describe(io::ErrorKind::AlreadyExists.into()));
    }
    if path.is_dir() {
        return Err(format!("{} is a directory", path.display()));
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
