//! Who else can read the keys that `install` writes into a file.

use std::fs;
use std::path::Path;

use crate::server::command_line::install::options::shown_path;

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
