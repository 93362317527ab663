//! Reading a folder and writing its archive. An archive has its name only once it is complete.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use mcp_runtime::prelude::*;
use tempfile::NamedTempFile;
use walkdir::WalkDir;

/// A failure. Models read the variants that are exposed; the others are only logged.
#[expose]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[expose]
    #[error("there is an archive of this name; choose another")]
    Exists,
    #[expose]
    #[error("cancelled; nothing was written")]
    Cancelled,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Walk(#[from] walkdir::Error),
}

/// A folder, as it was when the job began.
#[data]
pub struct Plan {
    folder: PathBuf,
    pub files: u64,
    pub bytes: u64,
}

/// A complete archive.
#[data]
pub struct Archive {
    path: PathBuf,
    files: u64,
    /// Size of the archive
    bytes: u64,
}

impl Plan {
    pub fn of(folder: &Path) -> Result<Self, Error> {
        let mut plan = Self {
            folder: folder.to_owned(),
            files: 0,
            bytes: 0,
        };
        for entry in WalkDir::new(folder) {
            let entry = entry?;
            if entry.file_type().is_file() {
                plan.files += 1;
                plan.bytes += entry.metadata()?.len();
            }
        }
        Ok(plan)
    }
}

/// Writes the regular files of a folder. Until it is done, and if it fails, there is only a temporary file, which is
/// removed.
pub fn write(ctx: &Context, plan: &Plan, target: &Path) -> Result<Archive, Error> {
    let directory = target.parent().unwrap_or(Path::new("."));
    let file = NamedTempFile::new_in(directory)?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    let (mut files, mut done) = (0, 0);
    for entry in WalkDir::new(&plan.folder).sort_by_file_name() {
        let entry = entry?;
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry
            .path()
            .strip_prefix(&plan.folder)
            .unwrap_or(entry.path());
        let file = File::open(entry.path())?;
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&file.metadata()?);
        // A file that grows meanwhile is cut off where it ended.
        let size = header.size()?;
        let mut watched = Watched {
            file: file.take(size),
            ctx,
            plan,
            done: &mut done,
        };
        let appended = archive.append_data(&mut header, name, &mut watched);
        if ctx.is_cancelled() {
            return Err(Error::Cancelled);
        }
        appended?;
        files += 1;
    }
    let file = archive.into_inner()?.finish()?;
    let bytes = file.as_file().metadata()?.len();
    file.persist_noclobber(target)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists,
            _ => Error::Io(error.error),
        })?;
    Ok(Archive {
        path: target.to_owned(),
        files,
        bytes,
    })
}

/// A file that reports how much of the whole job is read, and that cannot be read further once the call is cancelled.
struct Watched<'a> {
    file: io::Take<File>,
    ctx: &'a Context,
    plan: &'a Plan,
    done: &'a mut u64,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ctx.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let read = self.file.read(buffer)?;
        *self.done += read as u64;
        self.ctx.progress((*self.done, self.plan.bytes)); // bursts are merged
        Ok(read)
    }
}
