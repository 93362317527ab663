//! Reads and replaces a configuration file: whole or not at all, with a backup next to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A configuration file as it was read.
pub(super) struct ConfigFile {
    /// The path with symbolic links resolved, so that links stay links.
    path: PathBuf,
    /// The text, or `None` if the file does not exist.
    text: Option<String>,
}

impl ConfigFile {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let describe = |error: io::Error| format!("{}: {error}", path.display());
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(format!(
                        "{} is a symbolic link to a file that does not exist",
                        path.display()
                    ));
                }
                return Ok(Self {
                    path: path.to_owned(),
                    text: None,
                });
            }
            Err(error) => return Err(describe(error)),
        };
        let text = fs::read_to_string(&target).map_err(describe)?;
        Ok(Self {
            path: target,
            text: Some(text),
        })
    }

    pub(super) fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// Returns the text, which is empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Replaces the file, unless it has changed since it was read. Returns the path to the backup of a file that existed.
    pub(super) fn replace(&self, text: &str) -> Result<Option<PathBuf>, String> {
        let describe = |error: io::Error| format!("{}: {error}", self.path.display());
        let directory = match self.path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        if self.text.is_none() {
            fs::create_dir_all(directory).map_err(describe)?;
        }
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(describe(error)),
        };
        if metadata
            .as_ref()
            .is_some_and(|file| file.permissions().readonly())
        {
            return Err(format!("{} is read-only", self.path.display()));
        }
        let new = NewFile::create(&self.path).map_err(describe)?;
        new.fill(text, metadata.as_ref()).map_err(describe)?;
        let kept = match &self.text {
            Some(_) => Some(self.keep_copy().map_err(describe)?),
            None => None,
        };
        // Checked last, so that a client that saves its settings now is noticed.
        let present = Self::read(&self.path)?;
        if present.text != self.text {
            if let Some(copy) = kept {
                drop(fs::remove_file(copy));
            }
            return Err(format!(
                "{} was changed by another program meanwhile; try again",
                self.path.display()
            ));
        }
        new.take_place_of(&self.path).map_err(describe)?;
        Ok(kept)
    }

    /// Copies the file to an unused path next to it.
    fn keep_copy(&self) -> io::Result<PathBuf> {
        let numbered = (2_u32..).map(|number| format!(".backup-{number}"));
        for ending in std::iter::once(".backup".to_owned()).chain(numbered) {
            let copy = beside(&self.path, &ending);
            match OpenOptions::new().write(true).create_new(true).open(&copy) {
                Ok(_) => return fs::copy(&self.path, &copy).map(|_| copy),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// A file next to the one that it is to replace. Dropping it removes it.
struct NewFile {
    path: PathBuf,
    file: File,
}

impl NewFile {
    fn create(place: &Path) -> io::Result<Self> {
        let path = beside(place, &format!(".new-{}", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok(Self { path, file })
    }

    /// Writes the text, and gives the file the owner and permissions of the one that it replaces.
    fn fill(&self, text: &str, replaced: Option<&fs::Metadata>) -> io::Result<()> {
        if let Some(replaced) = replaced {
            give_owner(&self.file, replaced)?;
            self.file.set_permissions(replaced.permissions())?;
        }
        (&self.file).write_all(text.as_bytes())?;
        self.file.sync_all()
    }

    fn take_place_of(self, place: &Path) -> io::Result<()> {
        fs::rename(&self.path, place)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After `take_place_of`, there is nothing to remove.
        drop(fs::remove_file(&self.path));
    }
}

/// Gives the new file the owner and group of the other one, as an administrator may do.
#[cfg(unix)]
fn give_owner(new: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let own = new.metadata()?;
    if own.uid() == replaced.uid() {
        if own.gid() != replaced.gid() {
            // A group that the user has left cannot be kept.
            drop(fchown(new, None, Some(replaced.gid())));
        }
        return Ok(());
    }
    let given = fchown(new, Some(replaced.uid()), Some(replaced.gid()));
    given.map_err(|error| io::Error::new(error.kind(), "the file belongs to another user"))
}

#[cfg(not(unix))]
fn give_owner(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Returns a path next to another, with this ending added to its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    beside.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own for a test.
    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("mcp-file-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_file_that_changes_meanwhile_is_left_alone() {
        let directory = directory("changes");
        let path = directory.join("mcp.json");
        for before in [None, Some("{}")] {
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let file = ConfigFile::read(&path).unwrap();
            assert_eq!(
                (file.exists(), file.text()),
                (before.is_some(), before.unwrap_or_default())
            );
            fs::write(&path, "by another program").unwrap();
            let error = file.replace("mine").unwrap_err();
            assert!(
                error.contains("was changed by another program meanwhile"),
                "{error}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), "by another program");
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn every_old_file_has_a_backup_of_its_own() {
        let directory = directory("backups");
        let path = directory.join("mcp.json");
        fs::write(&path, "1").unwrap();
        for (text, ending) in [("2", ".backup"), ("3", ".backup-2"), ("4", ".backup-3")] {
            let file = ConfigFile::read(&path).unwrap();
            let backup = file.replace(text).unwrap().unwrap();
            assert_eq!(backup.file_name(), beside(&path, ending).file_name());
            assert_eq!(fs::read_to_string(backup).unwrap(), file.text());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let directory = directory("no-text");
        assert!(ConfigFile::read(&directory).is_err());
        let path = directory.join("mcp.json");
        fs::write(&path, [0xff]).unwrap();
        assert!(ConfigFile::read(&path).is_err());
        fs::remove_dir_all(directory).unwrap();
    }
}
