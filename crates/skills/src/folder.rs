//! Reads skills from a folder.

use std::io::Read as _;
use std::path::Path;

use crate::name::join;
use crate::open::{EntryKind, NOT_A_FILE, OpenDirectory};
use crate::problem::SkillProblem;
use crate::skill::{MAX_BYTES, MAX_FILES, SKILL_FILE, SkillFiles};

/// Maximum nesting depth of directories, counting the directories above and inside a skill.
const MAX_DEPTH: usize = 16;

/// The skills in a folder.
#[derive(Debug, Default)]
pub struct FoundSkills {
    /// The skills that could be read, sorted by path. These skills have not been checked.
    pub skills: Vec<SkillFiles>,
    /// The files and directories that could not be read or do not belong to any skill.
    pub problems: Vec<SkillProblem>,
}

/// Reads all skills in a folder and its subfolders. Each directory with a `SKILL.md` is a skill; other directories
/// group skills. Hidden files and directories are skipped. Links are refused, even if they appear while the folder is
/// read.
///
/// `shown` is the path of the folder as authors see it in problems.
#[must_use]
pub fn read(folder: &Path, shown: &str) -> FoundSkills {
    let mut found = FoundSkills::default();
    let root = match OpenDirectory::root(folder) {
        Ok(open) => Directory {
            open,
            shown: shown.to_owned(),
            relative: String::new(),
            depth: 0,
        },
        Err(error) => {
            found
                .problems
                .push(SkillProblem::new(shown, error.to_string()));
            return found;
        }
    };
    match root.entries() {
        Ok(entries) if entries.iter().any(Entry::is_skill_file) => {
            found.problems.push(SkillProblem::new(
                join(shown, SKILL_FILE),
                "a skill is a directory in the folder, not the folder itself; use the folder above it",
            ));
        }
        Ok(entries) => found.search_below(&root, &entries),
        Err(problem) => found.problems.push(problem),
    }
    found
}

impl FoundSkills {
    /// Searches a directory that either is a skill or groups skills.
    fn search(&mut self, directory: Directory) {
        let entries = match directory.entries() {
            Ok(entries) => entries,
            Err(problem) => return self.problems.push(problem),
        };
        if entries.iter().any(Entry::is_skill_file) {
            return match read_skill(directory, &entries) {
                Ok(skill) => self.skills.push(skill),
                Err(problem) => self.problems.push(problem),
            };
        }
        let mut files = entries.iter().filter(|entry| !entry.is_directory);
        if let Some(misspelt) = files.clone().find(|file| file.is_nearly_skill_file()) {
            let at = join(&directory.shown, &misspelt.name);
            let text = format!("this file must be named `{SKILL_FILE}`");
            return self.problems.push(SkillProblem::new(at, text));
        }
        let before = self.skills.len() + self.problems.len();
        self.search_below(&directory, &entries);
        let is_barren = before == self.skills.len() + self.problems.len();
        if is_barren && files.next().is_some() {
            let text = format!("this directory has no `{SKILL_FILE}`");
            self.problems.push(SkillProblem::new(directory.shown, text));
        }
    }

    /// Searches the subdirectories among a directory's entries.
    fn search_below(&mut self, directory: &Directory, entries: &[Entry]) {
        for entry in entries.iter().filter(|entry| entry.is_directory) {
            match directory.below(&entry.name) {
                Ok(below) => self.search(below),
                Err(problem) => self.problems.push(problem),
            }
        }
    }
}

/// A directory that is being read.
struct Directory {
    open: OpenDirectory,
    /// The path as authors see it.
    shown: String,
    /// The path relative to the folder that contains the skills or, while a skill's files are being read, relative to
    /// the skill.
    relative: String,
    /// The number of directories above this directory in the folder.
    depth: usize,
}

impl Directory {
    /// Opens a directory in this one.
    fn below(&self, name: &str) -> Result<Self, SkillProblem> {
        let shown = join(&self.shown, name);
        let open = self.open.directory(name);
        let open = open.map_err(|error| SkillProblem::new(&shown, error.to_string()))?;
        Ok(Self {
            open,
            shown,
            relative: join(&self.relative, name),
            depth: self.depth + 1,
        })
    }

    /// Reads at most `room` bytes of a file, even if the file grows in the meantime.
    fn read(&self, name: &str, room: u64) -> Result<Vec<u8>, SkillProblem> {
        let mut contents = Vec::new();
        let file = self.open.file(name);
        match file.and_then(|file| file.take(room).read_to_end(&mut contents)) {
            Ok(_) => Ok(contents),
            Err(error) => Err(SkillProblem::new(
                join(&self.shown, name),
                error.to_string(),
            )),
        }
    }

    /// Returns the entries, sorted by name. Hidden entries are skipped.
    ///
    /// # Errors
    ///
    /// Fails if the directory is nested too deeply, cannot be read, or contains a link or an entry whose name is not
    /// UTF-8.
    fn entries(&self) -> Result<Vec<Entry>, SkillProblem> {
        let fail = |text: String| SkillProblem::new(&self.shown, text);
        if self.depth > MAX_DEPTH {
            return Err(fail(format!(
                "directories are nested more than {MAX_DEPTH} levels deep"
            )));
        }
        let mut entries = Vec::new();
        let found = self.open.entries();
        for (name, kind) in found.map_err(|error| fail(error.to_string()))? {
            let at = |name| join(&self.shown, name);
            let Some(name) = name.to_str() else {
                let at = at(&name.display().to_string());
                return Err(SkillProblem::new(at, "the name is not UTF-8"));
            };
            if name.starts_with('.') {
                continue;
            }
            if kind == EntryKind::Other {
                return Err(SkillProblem::new(at(name), NOT_A_FILE));
            }
            entries.push(Entry {
                name: name.to_owned(),
                is_directory: kind == EntryKind::Directory,
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

/// An entry in a directory.
struct Entry {
    name: String,
    is_directory: bool,
}

impl Entry {
    /// Returns `true` if this is the file that makes its directory a skill. Names are compared exactly on every file
    /// system.
    fn is_skill_file(&self) -> bool {
        self.name == SKILL_FILE && !self.is_directory
    }

    fn is_nearly_skill_file(&self) -> bool {
        self.name.eq_ignore_ascii_case(SKILL_FILE)
    }
}

/// Reads the files of a skill.
fn read_skill(mut directory: Directory, entries: &[Entry]) -> Result<SkillFiles, SkillProblem> {
    let mut skill = SkillFiles::new(std::mem::take(&mut directory.relative));
    skill.shown.clone_from(&directory.shown);
    let mut room = MAX_BYTES.saturating_add(1);
    read_files(&mut skill, &directory, entries, &mut room)?;
    Ok(skill)
}

/// Reads all files in a directory and its subdirectories. Stops after the first file that exceeds a limit; the excess
/// is reported when the skill is checked.
fn read_files(
    skill: &mut SkillFiles,
    directory: &Directory,
    entries: &[Entry],
    room: &mut u64,
) -> Result<(), SkillProblem> {
    for entry in entries {
        if entry.is_directory {
            let below = directory.below(&entry.name)?;
            let entries = below.entries()?;
            read_files(skill, &below, &entries, room)?;
        } else if *room > 0 && skill.files.len() <= MAX_FILES {
            let contents = directory.read(&entry.name, *room)?;
            *room = room.saturating_sub(contents.len() as u64);
            let path = join(&directory.relative, &entry.name);
            skill.files.insert(path, contents.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use bytes::Bytes;

    use super::*;

    /// A directory that is created for one test and removed afterwards.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("mcp-skills-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, path: &str, contents: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }

        /// Returns the paths of the skills, and the problems.
        fn read(&self) -> (Vec<String>, Vec<String>) {
            let found = read(&self.0, "s");
            let problems = found.problems.iter().map(SkillProblem::to_string);
            let skills = found.skills.into_iter().map(|skill| skill.path);
            (skills.collect(), problems.collect())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn directories_with_a_skill_file_are_skills_and_others_group_them() {
        let scratch = Scratch::new("groups");
        for path in [
            "README.md",
            "group/README.md",
            "group/b/SKILL.md",
            "a/SKILL.md",
            "a/.hidden",
            "a/deep/file",
        ] {
            scratch.write(path, path);
        }
        fs::create_dir(scratch.0.join("empty")).unwrap();
        assert_eq!(
            scratch.read(),
            (vec!["a".to_owned(), "group/b".to_owned()], vec![])
        );
        let found = read(&scratch.0, "s");
        let files: Vec<_> = found.skills[0].files.keys().collect();
        assert_eq!(files, ["SKILL.md", "deep/file"]);
        assert_eq!(found.skills[1].shown, "s/group/b");
    }

    #[test]
    fn files_outside_of_skills_are_reported() {
        let scratch = Scratch::new("outside");
        scratch.write("a/notes.md", "");
        scratch.write("b/c/notes.md", "");
        scratch.write("d/skill.md", "");
        scratch.write(&format!("{}/f", vec!["x"; 18].join("/")), "");
        let deep = vec!["x"; 17].join("/");
        let expected = vec![
            "`s/a`: this directory has no `SKILL.md`".to_owned(),
            "`s/b/c`: this directory has no `SKILL.md`".to_owned(),
            "`s/d/skill.md`: this file must be named `SKILL.md`".to_owned(),
            format!("`s/{deep}`: directories are nested more than 16 levels deep"),
        ];
        assert_eq!(scratch.read(), (vec![], expected));
        scratch.write("SKILL.md", "");
        assert_eq!(
            scratch.read().1,
            [
                "`s/SKILL.md`: a skill is a directory in the folder, not the folder itself; use the folder above it"
            ]
        );
        assert!(!read(&scratch.0.join("none"), "none").problems.is_empty());
    }

    #[test]
    fn reading_skills_stops_at_the_limits() {
        let scratch = Scratch::new("limits");
        for index in 0..MAX_FILES + 5 {
            scratch.write(&format!("many/f{index}"), "");
        }
        scratch.write("many/SKILL.md", "");
        let big = File::create(scratch.0.join("big")).unwrap();
        big.set_len(MAX_BYTES * 4).unwrap();
        fs::create_dir(scratch.0.join("large")).unwrap();
        fs::rename(scratch.0.join("big"), scratch.0.join("large/big")).unwrap();
        scratch.write("large/SKILL.md", "x");
        let found = read(&scratch.0, "s");
        let sizes = found.skills.iter().map(|skill| {
            let bytes: usize = skill.files.values().map(Bytes::len).sum();
            (skill.files.len(), bytes as u64)
        });
        assert_eq!(
            sizes.collect::<Vec<_>>(),
            [(2, MAX_BYTES + 1), (MAX_FILES + 1, 0)]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_and_names_that_are_not_utf_8_are_refused() {
        use std::os::unix::ffi::OsStrExt as _;

        let scratch = Scratch::new("links");
        scratch.write("a/SKILL.md", "");
        let link = scratch.0.join("a/link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let (skills, problems) = scratch.read();
        assert!(skills.is_empty() && problems[0].starts_with("`s/a/link`: it is a link"));
        fs::remove_file(link).unwrap();
        scratch.write("a/b/c", "");
        let strange = scratch
            .0
            .join("a/b")
            .join(std::ffi::OsStr::from_bytes(b"\xff"));
        fs::write(strange, "").unwrap();
        let (skills, problems) = scratch.read();
        assert!(skills.is_empty() && problems[0].ends_with("the name is not UTF-8"));
    }

    /// Another thread swaps a file and a directory for links all the time. The test ends after two seconds.
    #[cfg(unix)]
    #[test]
    fn no_file_outside_is_read_while_entries_are_replaced_by_links() {
        use std::os::unix::fs::symlink;
        use std::sync::mpsc::{self, TryRecvError};
        use std::time::{Duration, Instant};

        let scratch = Scratch::new("swapped");
        for (path, text) in [
            ("in/a/SKILL.md", "inside"),
            ("in/a/data", "inside"),
            ("in/a/deep/data", "inside"),
            ("out/data", "secret"),
        ] {
            scratch.write(path, text);
        }
        let root = scratch.0.clone();
        let (ended, end) = mpsc::channel::<()>();
        let swapping = std::thread::spawn(move || {
            let at = |path: &str| root.join(path);
            while end.try_recv() == Err(TryRecvError::Empty) {
                symlink(at("out/data"), at("link")).unwrap();
                fs::rename(at("link"), at("in/a/data")).unwrap();
                fs::rename(at("in/a/deep"), at("moved")).unwrap();
                symlink(at("out"), at("in/a/deep")).unwrap();
                fs::write(at("new"), "inside").unwrap();
                fs::rename(at("new"), at("in/a/data")).unwrap();
                fs::remove_file(at("in/a/deep")).unwrap();
                fs::rename(at("moved"), at("in/a/deep")).unwrap();
            }
        });
        let until = Instant::now() + Duration::from_secs(2);
        let mut refused = 0;
        while Instant::now() < until {
            let found = read(&scratch.0.join("in"), "s");
            refused += found.problems.len();
            for skill in found.skills {
                for (path, contents) in skill.files {
                    assert_eq!(contents, "inside", "{path}");
                }
            }
        }
        drop(ended);
        swapping.join().unwrap();
        assert!(refused > 0);
        // Each swap ends with the files in their places.
        let found = read(&scratch.0.join("in"), "s");
        assert_eq!(found.skills[0].files.len(), 3);
    }
}
