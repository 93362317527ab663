//! Reads and replaces a configuration file. The file is replaced either entirely or not at all, and a backup is saved
//! next to it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::install::options::shown_path;

/// Maximum size of a configuration file, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A configuration file as it was read.
pub(super) struct ConfigFile {
    /// The path with symbolic links resolved, so that links are not replaced by files.
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
        // Reading from a pipe or a device may never end.
        if !fs::metadata(&target).map_err(describe)?.is_file() {
            return Err(format!("{} is not a file", path.display()));
        }
        let mut text = String::new();
        let file = File::open(&target).map_err(describe)?;
        let mut start = file.take(MAX_BYTES + 1);
        start.read_to_string(&mut text).map_err(describe)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(format!(
                "{} is larger than {MAX_BYTES} bytes",
                path.display()
            ));
        }
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

    /// Replaces the file unless it has changed since it was read. If the file existed, returns the path to its backup.
    pub(super) fn replace(&self, text: &str) -> Result<Option<PathBuf>, String> {
        self.replace_and_keep(text, true)
    }

    /// Like [`replace`](Self::replace), but keeps no backup.
    pub(super) fn replace_without_backup(&self, text: &str) -> Result<(), String> {
        self.replace_and_keep(text, false).map(drop)
    }

    fn replace_and_keep(&self, text: &str, keeps_backup: bool) -> Result<Option<PathBuf>, String> {
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
        let new = NewFile::create(&self.path, ".new").map_err(describe)?;
        new.fill(text, metadata.as_ref()).map_err(describe)?;
        let kept = match &self.text {
            Some(old) if keeps_backup => {
                let copy = NewFile::create(&self.path, BACKUP).map_err(describe)?;
                copy.fill(old, metadata.as_ref()).map_err(describe)?;
                Some(copy)
            }
            _ => None,
        };
        // This is checked last, to detect a client that is currently saving its settings.
        let present = Self::read(&self.path)?;
        let changed = || {
            format!(
                "another program changed {} in the meantime; try again",
                self.path.display()
            )
        };
        if present.text != self.text {
            return Err(changed());
        }
        let replaces = self.text.is_some();
        let placed = new.put_at(&self.path, replaces);
        placed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => changed(),
            _ => describe(error),
        })?;
        Ok(kept.map(NewFile::keep))
    }

    /// Returns this file's backups, newest first.
    pub(super) fn backups(&self) -> Vec<Backup> {
        let directory = match self.path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        let names = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut backups: Vec<_> = names
            .filter_map(|name| {
                let path = name.path();
                let number = self.number_of_backup(&path)?;
                let text = Self::read(&path).ok()?.text?;
                Some((number, Backup { path, text }))
            })
            .collect();
        backups.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        backups.into_iter().map(|(_, backup)| backup).collect()
    }

    /// Returns the number in the name of a backup of this file, or `None` if the path is not one.
    fn number_of_backup(&self, path: &Path) -> Option<u32> {
        let own = self.path.file_name()?.to_str()?;
        let rest = path
            .file_name()?
            .to_str()?
            .strip_prefix(own)?
            .strip_prefix(BACKUP)?;
        match rest {
            "" => Some(1),
            rest => rest
                .strip_prefix('-')?
                .parse()
                .ok()
                .filter(|number| *number > 1),
        }
    }
}

/// A copy of a configuration file, from before a change.
pub(super) struct Backup {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The suffix for names of backups.
const BACKUP: &str = ".backup";

/// A file in the same directory as the file that it replaces or backs up. Dropping it removes the file.
struct NewFile {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl NewFile {
    /// Creates a file at an unused path. Until the file is filled, only its owner can read it.
    fn create(place: &Path, ending: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        for number in 1..u32::MAX {
            let path = numbered(place, ending, number);
            match options.open(&path) {
                Ok(file) => {
                    return Ok(Self {
                        path,
                        file,
                        is_kept: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Writes the text and gives the file the owner and permissions of the file that it replaces. If there is no such
    /// file, only the user can read the new file, because it may contain keys.
    fn fill(&self, text: &str, replaced: Option<&fs::Metadata>) -> io::Result<()> {
        if let Some(replaced) = replaced {
            give_owner(&self.file, replaced)?;
            self.file.set_permissions(replaced.permissions())?;
        }
        (&self.file).write_all(text.as_bytes())?;
        self.file.sync_all()
    }

    /// Renames the file to its final name. Unless `replaces` is `true`, this fails if a file with that name exists.
    fn put_at(self, place: &Path, replaces: bool) -> io::Result<()> {
        if !replaces {
            match fs::hard_link(&self.path, place) {
                // Some file systems do not support links.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
                linked => return linked,
            }
        }
        fs::rename(&self.path, place)?;
        self.keep();
        Ok(())
    }

    fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        std::mem::take(&mut self.path)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(fs::remove_file(&self.path));
        }
    }
}

/// Returns the path with a suffix appended: `….backup`, `….backup-2` and so on.
fn numbered(path: &Path, ending: &str, number: u32) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    if number > 1 {
        beside.push(format!("-{number}"));
    }
    beside.into()
}

/// Gives the new file the owner and group of the replaced file, as far as the user is permitted to do so.
#[cfg(unix)]
fn give_owner(new: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let own = new.metadata()?;
    if own.uid() == replaced.uid() {
        if own.gid() != replaced.gid() {
            // The group cannot be kept if the user is no longer a member of it.
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

// --- Who else can read the keys that `install` writes into a file.

/// Returns a note for each way in which others may come to read the values of an option in this file.
pub(super) fn notes(path: &Path, option: &str) -> Vec<String> {
    let shown = shown_path(path);
    let mut notes = Vec::new();
    if can_others_read(path) {
        notes.push(format!(
            "other users of this machine can read {shown}, which now has the values of `--{option}`; `chmod 600` prevents \
             this"
        ));
    }
    if is_in_git(path) {
        notes.push(format!(
            "{shown} is inside a Git work tree; do not commit the values of `--{option}`"
        ));
    }
    notes
}

#[cfg(unix)]
fn can_others_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    const GROUP_OR_OTHERS_MAY_READ: u32 = 0o044;
    let mode = fs::metadata(path).map(|file| file.permissions().mode());
    mode.is_ok_and(|mode| mode & GROUP_OR_OTHERS_MAY_READ != 0)
}

#[cfg(not(unix))]
fn can_others_read(_: &Path) -> bool {
    false
}

/// Returns `true` if a directory above the file, which may be a link, is a Git work tree.
fn is_in_git(path: &Path) -> bool {
    let whole = fs::canonicalize(path);
    let whole = whole.as_deref().unwrap_or(path);
    let mut above = whole.ancestors().skip(1);
    above.any(|directory| directory.join(".git").exists())
}

#[cfg(test)]
mod tests {
    use crate::install::file::*;

    /// Creates a separate directory for a test.
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
            assert!(error.contains("another program changed"), "{error}");
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
            let name = backup.file_name().unwrap().to_str().unwrap();
            assert_eq!(name, format!("mcp.json{ending}"));
            assert_eq!(fs::read_to_string(backup).unwrap(), file.text());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(directory.join("mcp.json.backup-x"), "not mine").unwrap();
        let backups = ConfigFile::read(&path).unwrap().backups();
        let texts: Vec<_> = backups.iter().map(|backup| &*backup.text).collect();
        assert_eq!(texts, ["3", "2", "1"]);
        fs::remove_file(&backups[1].path).unwrap();
        assert_eq!(ConfigFile::read(&path).unwrap().backups().len(), 2);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_directory_or_binary_file_is_refused() {
        let directory = directory("no-text");
        assert!(ConfigFile::read(&directory).is_err());
        let path = directory.join("mcp.json");
        fs::write(&path, [0xff]).unwrap();
        assert!(ConfigFile::read(&path).is_err());
        fs::remove_dir_all(directory).unwrap();
    }
    #[test]
    fn leftover_files_of_another_run_do_not_prevent_a_replacement() {
        let directory = directory("left");
        let path = directory.join("mcp.json");
        fs::write(directory.join("mcp.json.new"), "not mine").unwrap();
        let file = ConfigFile::read(&path).unwrap();
        file.replace("{}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        let left = fs::read_to_string(directory.join("mcp.json.new")).unwrap();
        assert_eq!(left, "not mine");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
        fs::remove_dir_all(directory).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_device_or_an_oversized_file_is_refused() {
        let error = ConfigFile::read(Path::new("/dev/zero")).err().unwrap();
        assert!(error.contains("/dev/zero is not a file"), "{error}");
        let directory = directory("large");
        let path = directory.join("mcp.json");
        let file = File::create(&path).unwrap();
        file.set_len(MAX_BYTES + 1).unwrap();
        let error = ConfigFile::read(&path).err().unwrap();
        assert!(error.contains("is larger than"), "{error}");
        fs::remove_dir_all(directory).unwrap();
    }

    /// Only root can change a file's owner, so the owner is checked only when running as root.
    #[cfg(unix)]
    #[test]
    fn copies_keep_the_permissions_and_owner_of_the_file() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

        let directory = directory("owner");
        let path = directory.join("mcp.json");
        // A new file may contain keys.
        ConfigFile::read(&path).unwrap().replace("1").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let is_root = chown(&path, Some(1234), Some(1235)).is_ok();
        let file = ConfigFile::read(&path).unwrap();
        let backup = file.replace("2").unwrap().unwrap();
        for path in [path, backup] {
            let of = fs::metadata(path).unwrap();
            assert_eq!(of.mode() & 0o777, 0o640);
            assert!(!is_root || (of.uid(), of.gid()) == (1234, 1235));
        }
        fs::remove_dir_all(directory).unwrap();
    }
}
