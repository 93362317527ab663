//! Writes a ZIP archive whose bytes depend on nothing but the files in it: no times, no owners, sorted by name.
//!
//! Source: PKWARE, `APPNOTE.TXT` 6.3.10. Archives of 4 GiB and more are refused.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A file in an archive.
pub(super) struct ArchivedFile {
    pub(super) contents: Vec<u8>,
    /// `true` if users may run it.
    pub(super) is_executable: bool,
}

/// Version 2.0 of the format: directories and deflate.
const VERSION: u16 = 20;
/// Names are in UTF-8.
const FLAGS: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// The first time that the format knows, midnight of 1 January 1980.
const TIME: u16 = 0;
const DATE: u16 = (1 << 5) | 1;
/// The system whose permissions the archive has: Unix.
const UNIX: u16 = 3 << 8;

/// Returns the bytes of an archive with these files, which have their paths in it as names.
///
/// # Errors
///
/// Fails if the archive or a file is too large for the format.
pub(super) fn zip(files: &BTreeMap<String, ArchivedFile>) -> io::Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, file) in files {
        let offset = four(archive.len())?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&file.contents)?;
        let deflated = encoder.finish()?;
        let mut crc = Crc::new();
        crc.update(&file.contents);
        // The part that a file's header has in common with its entry in the directory.
        let mut common = Vec::new();
        for number in [VERSION, FLAGS, DEFLATED, TIME, DATE] {
            common.extend(number.to_le_bytes());
        }
        common.extend(crc.sum().to_le_bytes());
        common.extend(four(deflated.len())?);
        common.extend(four(file.contents.len())?);
        common.extend(two(name.len())?);
        // No extra fields.
        common.extend([0; 2]);

        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(deflated);

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
        directory.extend(offset);
        directory.extend(name.as_bytes());
    }
    let offset = four(archive.len())?;
    let size = four(directory.len())?;
    let count = two(files.len())?;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06");
    // One disk.
    archive.extend([0; 4]);
    archive.extend(count);
    archive.extend(count);
    archive.extend(size);
    archive.extend(offset);
    // No comment.
    archive.extend([0; 2]);
    Ok(archive)
}

fn two(number: usize) -> io::Result<[u8; 2]> {
    let number = u16::try_from(number).map_err(|_| too_large())?;
    Ok(number.to_le_bytes())
}

fn four(number: usize) -> io::Result<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| too_large())?;
    Ok(number.to_le_bytes())
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the files are too large for a bundle",
    )
}
