//! Compile errors of the attributes, one fixture for each mistake.
//!
//! Without fixtures that have to compile, no dependency is compiled further than its types.

use std::fs::{self, File};
use std::path::Path;

/// The package in which trybuild compiles the fixtures. Paths in `skills!` and `#[app]` are relative to it.
const PACKAGE: &str = concat!(
    env!("CARGO_TARGET_TMPDIR"),
    "/../tests/trybuild/",
    env!("CARGO_PKG_NAME")
);

#[test]
fn mistakes_are_explained() {
    copy(Path::new("skills"), &Path::new(PACKAGE).join("skills"));
    make_skills(&Path::new(PACKAGE).join("skills/made"));
    make_pages().expect("the folder of the fixtures can be written");
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/*/*.rs");
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// Makes the folders that do not belong in a repository: large ones, and one with a link.
fn make_skills(made: &Path) {
    let skill = |path: &str| {
        let skill = made.join(path);
        fs::create_dir_all(&skill).unwrap();
        let name = skill.file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\ndescription: A fixture.\n---\n");
        fs::write(skill.join("SKILL.md"), text).unwrap();
        skill
    };
    let large = skill("too_large/large");
    for name in ["half", "rest"] {
        let file = File::create(large.join(name)).unwrap();
        file.set_len(8 << 20).unwrap();
    }
    let many = skill("too_many/many");
    for index in 0..512 {
        File::create(many.join(format!("file-{index:03}"))).unwrap();
    }
    let link = skill("links/linked").join("passwords");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
    #[cfg(windows)]
    std::os::windows::fs::symlink_file("C:\\Windows\\win.ini", link).unwrap();
}

/// Makes the pages that fixtures embed.
fn make_pages() -> std::io::Result<()> {
    let folder = Path::new(PACKAGE).join("ui");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("chart.html"), "<!doctype html>")?;
    fs::write(folder.join("binary.html"), [0xff, 0xfe])?;
    File::create(folder.join("large.html"))?.set_len(16 << 20)
}
