//! Opens directories and files in such a way that nobody can redirect the reader: below the folder itself, no link is
//! followed, not even one that takes the place of a file or directory while the folder is read.
//!
//! Each entry is opened in its directory, which stays open, and its kind is that of what was opened.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

/// The problem with an entry that is neither a file nor a directory.
pub(crate) const NOT_A_FILE: &str =
    "it is a link or a special file, which could lead out of the folder";

/// The kind of an entry in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    Directory,
    File,
    Other,
}

/// A directory that is open, and whose entries are opened without following links.
#[derive(Debug)]
pub(crate) struct OpenDirectory(platform::Handle);

impl OpenDirectory {
    /// Opens the folder to read. The path of the folder may contain links, because the author of the program chooses it.
    pub(crate) fn root(path: &Path) -> io::Result<Self> {
        platform::root(path).map(Self)
    }

    /// Returns the names and kinds of all entries. An entry may have been replaced before it is opened.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, EntryKind)>> {
        platform::entries(&self.0)
    }

    /// Opens a directory in this directory. Fails if it is not a directory.
    pub(crate) fn directory(&self, name: &str) -> io::Result<Self> {
        platform::directory(&self.0, name).map(Self)
    }

    /// Opens a file in this directory, without waiting for another process. Fails if it is not a regular file.
    pub(crate) fn file(&self, name: &str) -> io::Result<File> {
        platform::file(&self.0, name)
    }
}

fn not_a_file() -> io::Error {
    io::Error::other(NOT_A_FILE)
}

/// Names are resolved by the system relative to an open directory.
#[cfg(unix)]
mod platform {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
    use rustix::io::Errno;

    use super::{EntryKind, not_a_file};

    pub(super) type Handle = OwnedFd;

    const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

    pub(super) fn root(path: &Path) -> io::Result<Handle> {
        Ok(openat(CWD, path, READ | OFlags::DIRECTORY, Mode::empty())?)
    }

    pub(super) fn entries(directory: &Handle) -> io::Result<Vec<(OsString, EntryKind)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                // Not every file system stores the kind with the name.
                FileType::Unknown => {
                    let status = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(status.st_mode)
                }
                known => known,
            };
            let kind = match kind {
                FileType::Directory => EntryKind::Directory,
                FileType::RegularFile => EntryKind::File,
                _ => EntryKind::Other,
            };
            entries.push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
        Ok(entries)
    }

    pub(super) fn directory(parent: &Handle, name: &str) -> io::Result<Handle> {
        open(parent, name, OFlags::DIRECTORY)
    }

    pub(super) fn file(parent: &Handle, name: &str) -> io::Result<File> {
        // Opening a FIFO would wait for a writer, and opening a terminal could make it this process's own.
        let file = File::from(open(parent, name, OFlags::NONBLOCK | OFlags::NOCTTY)?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(not_a_file())
        }
    }

    fn open(parent: &Handle, name: &str, flags: OFlags) -> io::Result<Handle> {
        let flags = READ | OFlags::NOFOLLOW | flags;
        openat(parent, name, flags, Mode::empty()).map_err(|error| match error {
            // The errors for links, whose number depends on the system, and for sockets.
            Errno::LOOP | Errno::MLINK | Errno::NOTDIR | Errno::NXIO => not_a_file(),
            error => error.into(),
        })
    }
}

/// Names are resolved by path. On Windows, nobody can rename, delete or replace a file or directory that is open without
/// `FILE_SHARE_DELETE`; therefore each directory on the path stays open in this way while its entries are opened.
#[cfg(not(unix))]
mod platform {
    use std::ffi::OsString;
    use std::fs::{self, File, FileType, OpenOptions};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::{EntryKind, not_a_file};

    #[derive(Debug)]
    pub(super) struct Handle {
        path: PathBuf,
        _held: File,
    }

    pub(super) fn root(path: &Path) -> io::Result<Handle> {
        hold(path.canonicalize()?, EntryKind::Directory)
    }

    pub(super) fn entries(directory: &Handle) -> io::Result<Vec<(OsString, EntryKind)>> {
        let entries = fs::read_dir(&directory.path)?;
        let entries = entries.map(|entry| {
            let entry = entry?;
            Ok((entry.file_name(), kind_of(entry.file_type()?)))
        });
        entries.collect()
    }

    pub(super) fn directory(parent: &Handle, name: &str) -> io::Result<Handle> {
        hold(parent.path.join(name), EntryKind::Directory)
    }

    pub(super) fn file(parent: &Handle, name: &str) -> io::Result<File> {
        let held = hold(parent.path.join(name), EntryKind::File)?;
        // Not `held` itself, because the contents of files in cloud storage are available only to those who follow
        // reparse points.
        File::open(&held.path)
    }

    /// Opens what is at this path, without following a link, and checks its kind.
    fn hold(path: PathBuf, kind: EntryKind) -> io::Result<Handle> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(windows)]
        {
            use std::os::windows::fs::OpenOptionsExt as _;

            const FILE_SHARE_READ: u32 = 1;
            const FILE_SHARE_WRITE: u32 = 2;
            const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
            // Without this flag, directories cannot be opened.
            const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
            options
                .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
                .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS);
        }
        let held = options.open(&path)?;
        if kind_of(held.metadata()?.file_type()) == kind {
            Ok(Handle { path, _held: held })
        } else {
            Err(not_a_file())
        }
    }

    fn kind_of(kind: FileType) -> EntryKind {
        match () {
            () if kind.is_dir() => EntryKind::Directory,
            () if kind.is_file() => EntryKind::File,
            () => EntryKind::Other,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;
    use std::{fs, thread};

    use super::*;

    /// A folder with `in/data`, `in/deep/data` and a secret outside of `in`, which is removed after the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("mcp-skills-open-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            for (directory, text) in [("in", "inside"), ("in/deep", "inside"), ("out", "secret")] {
                fs::create_dir_all(path.join(directory)).unwrap();
                fs::write(path.join(directory).join("data"), text).unwrap();
            }
            Self(path)
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.join(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn text(file: io::Result<File>) -> Result<String, String> {
        let mut text = String::new();
        let mut file = file.map_err(|error| error.to_string())?;
        file.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn links_that_take_the_place_of_an_entry_are_refused() {
        let scratch = Scratch::new("links");
        let root = OpenDirectory::root(&scratch.at("in")).unwrap();
        let mut entries = root.entries().unwrap();
        entries.sort();
        let expected = [("data", EntryKind::File), ("deep", EntryKind::Directory)];
        assert_eq!(entries, expected.map(|(name, kind)| (name.into(), kind)));
        assert_eq!(text(root.file("data")), Ok("inside".to_owned()));
        let deep = root.directory("deep").unwrap();

        fs::remove_file(scratch.at("in/data")).unwrap();
        symlink(scratch.at("out/data"), scratch.at("in/data")).unwrap();
        fs::rename(scratch.at("in/deep"), scratch.at("moved")).unwrap();
        symlink(scratch.at("out"), scratch.at("in/deep")).unwrap();
        assert_eq!(text(root.file("data")), Err(NOT_A_FILE.to_owned()));
        let replaced = root.directory("deep").unwrap_err();
        assert_eq!(replaced.to_string(), NOT_A_FILE);
        // A directory that is already open stays the one that was opened.
        assert_eq!(text(deep.file("data")), Ok("inside".to_owned()));
        // The folder itself may be reached through a link.
        let linked = OpenDirectory::root(&scratch.at("in/deep")).unwrap();
        assert_eq!(text(linked.file("data")), Ok("secret".to_owned()));
    }

    #[test]
    fn special_files_are_refused_at_once() {
        let scratch = Scratch::new("special");
        let made = Command::new("mkfifo").arg(scratch.at("in/fifo")).status();
        assert!(made.unwrap().success());
        let _socket = UnixListener::bind(scratch.at("in/socket")).unwrap();
        let root = OpenDirectory::root(&scratch.at("in")).unwrap();
        let (sender, refusals) = mpsc::channel();
        let names = ["fifo", "socket", "deep"];
        let opening = thread::spawn(move || {
            for name in names {
                sender.send(text(root.file(name))).unwrap();
            }
        });
        for name in names {
            let refused = refusals.recv_timeout(Duration::from_secs(30));
            assert_eq!(refused, Ok(Err(NOT_A_FILE.to_owned())), "{name}");
        }
        opening.join().unwrap();
    }
}
