//! Writes a file that does not exist yet, or replaces one if that is asked for.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Writes the file. It never holds less than all bytes under its own name.
///
/// # Errors
///
/// Fails if the path exists and `replaces` is `false`, and if the file cannot be written.
pub(super) fn write(path: &Path, bytes: &[u8], replaces: bool) -> Result<(), String> {
    let describe = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} exists; replace it with `--force`", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    };
    if !replaces && path.symlink_metadata().is_ok() {
        return Err(describe(io::ErrorKind::AlreadyExists.into()));
    }
    if path.is_dir() {
        return Err(format!("{} is a directory", path.display()));
    }
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = Path::new(&new);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(new)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| {
            if replaces {
                return fs::rename(new, path);
            }
            // Unlike `rename`, this fails if the path has come to exist meanwhile.
            fs::hard_link(new, path).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                // Some file systems have no links.
                _ => fs::rename(new, path),
            })
        });
    drop(fs::remove_file(new));
    written.map_err(describe)
}
