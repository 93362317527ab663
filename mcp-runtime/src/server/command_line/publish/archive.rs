//! Writes a ZIP archive whose bytes depend only on the files in it: it does not contain times or owners, and files are
//! sorted by name.
//!
//! Files are read and compressed in pieces so that memory use does not depend on a program's size.
//!
//! Source: PKWARE, `APPNOTE.TXT` 6.3.10. Archives of 4 GiB or more are rejected.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use flate2::write::DeflateEncoder;
use flate2::{Compression, CrcReader};

/// A file in an archive.
pub(super) struct ArchivedFile {
    pub(super) contents: Contents,
    /// `true` if users may execute the file.
    pub(super) is_executable: bool,
}

/// The contents of a file.
pub(super) enum Contents {
    Bytes(Vec<u8>),
    /// Read from this file when the archive is written.
    File(PathBuf),
}

impl Contents {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(&**bytes),
            Self::File(path) => Box::new(File::open(path)?),
        })
    }
}

/// Version 2.0 of the format: directories and deflate.
const VERSION: u16 = 20;
/// A flag that indicates that names are in UTF-8.
const FLAGS: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// The earliest time that the format can represent, midnight on January 1, 1980.
const TIME: u16 = 0;
const DATE: u16 = (1 << 5) | 1;
/// The system whose permissions the archive contains: Unix.
const UNIX: u16 = 3 << 8;

/// Writes an archive with these files, whose names are their paths in it. `archive` must be empty.
///
/// # Errors
///
/// Fails if a file cannot be read, or if the archive or a file is too large for the format.
pub(super) fn zip(
    files: &BTreeMap<String, ArchivedFile>,
    archive: &mut (impl Write + Seek),
) -> io::Result<()> {
    let mut directory = Vec::new();
    for (name, file) in files {
        let start = archive.stream_position()?;
        // The header is rewritten once the sizes are known.
        archive.write_all(&[0; LOCAL_HEADER])?;
        archive.write_all(name.as_bytes())?;
        let contents_start = archive.stream_position()?;
        let mut contents = CrcReader::new(file.contents.open()?);
        let mut encoder = DeflateEncoder::new(&mut *archive, Compression::best());
        let size = io::copy(&mut contents, &mut encoder)?;
        encoder.finish()?;
        let end = archive.stream_position()?;
        // The part that a file's header has in common with its entry in the directory.
        let mut common = Vec::new();
        for number in [VERSION, FLAGS, DEFLATED, TIME, DATE] {
            common.extend(number.to_le_bytes());
        }
        common.extend(contents.crc().sum().to_le_bytes());
        common.extend(four(end - contents_start)?);
        common.extend(four(size)?);
        common.extend(two(name.len())?);
        // No extra fields.
        common.extend([0; 2]);

        archive.seek(SeekFrom::Start(start))?;
        archive.write_all(b"PK\x03\x04")?;
        archive.write_all(&common)?;
        archive.seek(SeekFrom::Start(end))?;

        directory.extend(b"PK\x01\x02");
        directory.extend((UNIX | VERSION).to_le_bytes());
        directory.extend(&common);
        // No comment, the first disk, no internal attributes.
        directory.extend([0; 6]);
        let mode: u32 = if file.is_executable {
            0o100_755
        } else {
            0o100_644
        };
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(four(start)?);
        directory.extend(name.as_bytes());
    }
    let offset = four(archive.stream_position()?)?;
    let size = four(directory.len() as u64)?;
    let count = two(files.len())?;
    directory.extend(b"PK\x05\x06");
    // One disk.
    directory.extend([0; 4]);
    directory.extend(count);
    directory.extend(count);
    directory.extend(size);
    directory.extend(offset);
    // No comment.
    directory.extend([0; 2]);
    archive.write_all(&directory)
}

/// The length of a file's header before its name.
const LOCAL_HEADER: usize = 30;

fn two(number: usize) -> io::Result<[u8; 2]> {
    let number = u16::try_from(number).map_err(|_| too_large())?;
    Ok(number.to_le_bytes())
}

fn four(number: u64) -> io::Result<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| too_large())?;
    Ok(number.to_le_bytes())
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the files are too large for a bundle",
    )
}
