//! Reads skills from a directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::extension::skills::skill::{MAX_BYTES, MAX_FILES, SKILL_FILE, Skill};

/// Maximum depth of directories above and inside of a skill.
const MAX_DEPTH: usize = 16;

/// Reads all skills below a directory, which are the directories with a `SKILL.md`. Returns the skills, and a message for
/// each that cannot be read. Hidden files and directories are left out.
pub(super) fn read(root: &Path) -> (Vec<Skill>, Vec<String>) {
    let mut found = Found::default();
    found.search(root, "", 0);
    (found.skills, found.problems)
}

#[derive(Default)]
struct Found {
    skills: Vec<Skill>,
    problems: Vec<String>,
}

impl Found {
    fn search(&mut self, directory: &Path, path: &str, depth: usize) {
        if !path.is_empty() && directory.join(SKILL_FILE).exists() {
            match read_skill(directory, path) {
                Ok(skill) => self.skills.push(skill),
                Err(problem) => self.problems.push(format!("skill `{path}`: {problem}")),
            }
            return;
        }
        let entries = match entries(directory) {
            Ok(entries) => entries,
            Err(problem) => return self.problems.push(problem),
        };
        for entry in entries.into_iter().filter(|entry| entry.is_directory) {
            let path = join(path, &entry.name);
            if depth < MAX_DEPTH {
                self.search(&directory.join(&entry.name), &path, depth + 1);
            } else {
                self.problems.push(format!(
                    "`{path}`: directories are more than {MAX_DEPTH} deep"
                ));
            }
        }
    }
}

struct Entry {
    name: String,
    is_directory: bool,
}

/// Returns the entries of a directory by name.
///
/// # Errors
///
/// Fails if the directory cannot be read, or has an entry whose name is not UTF-8 or that is a link.
fn entries(directory: &Path) -> Result<Vec<Entry>, String> {
    let at = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(at)? {
        let entry = entry.map_err(at)?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|name| {
            let (directory, name) = (directory.display(), name.display());
            format!("{directory}: the name `{name}` is not UTF-8")
        })?;
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().map_err(at)?;
        if kind.is_symlink() || !(kind.is_dir() || kind.is_file()) {
            return Err(format!(
                "{}: `{name}` is a link or a special file, which could lead out of the directory",
                directory.display()
            ));
        }
        entries.push(Entry {
            name,
            is_directory: kind.is_dir(),
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Reads all files of a skill, or fails.
fn read_skill(directory: &Path, path: &str) -> Result<Skill, String> {
    let mut skill = Skill {
        path: path.to_owned(),
        files: BTreeMap::new(),
    };
    let mut room = MAX_BYTES;
    read_files(&mut skill, directory, "", (&mut room, 0))?;
    Ok(skill)
}

fn read_files(
    skill: &mut Skill,
    directory: &Path,
    path: &str,
    (room, depth): (&mut u64, usize),
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("directories are more than {MAX_DEPTH} deep"));
    }
    for entry in entries(directory)? {
        let (below, relative) = (directory.join(&entry.name), join(path, &entry.name));
        if entry.is_directory {
            read_files(skill, &below, &relative, (room, depth + 1))?;
            continue;
        }
        if skill.files.len() == MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files"));
        }
        let contents = read_file(&below, *room)
            .map_err(|error| format!("file `{relative}`: {error}"))?
            .ok_or_else(|| format!("its files have more than {MAX_BYTES} bytes"))?;
        *room = room.saturating_sub(contents.len() as u64);
        skill.files.insert(relative, contents);
    }
    Ok(())
}

/// Reads a file of at most `room` bytes, or returns `None` if it is larger. A file that grows while it is read is too
/// large once it exceeds the limit.
fn read_file(path: &Path, room: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut contents = Vec::new();
    let mut file = File::open(path)?.take(room.saturating_add(1));
    file.read_to_end(&mut contents)?;
    Ok((contents.len() as u64 <= room).then_some(contents))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}
