//! Checks that a room (a crate, or a folder of the runtime) grows only on purpose. `tests/tidy/rooms.txt` has the most
//! lines of code and the most files that each may have, without tests.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tidy::code_lines::Build;
use tidy::generated::check_generated;

use crate::sources::{files, product, root};

const TABLE: &str = "tests/tidy/rooms.txt";

const HEADER: &str = "\
# The most lines of code and the most files that each room may have. Comments, blank lines and tests do not count.
# A room above its bound fails, and so does one so far below (more than 3 % and 50 lines, or 2 files) that the bound
# should be lowered. `.ci/renew lists` writes these lines anew, and no others; say in the commit what the room grew for.

";

/// Bounds of lines are multiples of this, so that a change of a few lines rarely needs a new one.
const LINES_STEP: usize = 50;

/// A room may be below its bound by so many lines, or by so many percent if that is more.
const SPARE_LINES: usize = 50;
const SPARE_PERCENT: usize = 3;
const SPARE_FILES: usize = 2;

/// Lines of code and files: those of a room, or their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    lines: usize,
    files: usize,
}

impl Size {
    /// Returns the bounds that a room of this size should have, given its present ones: the same if they fit.
    fn bounds(self, present: Option<Size>) -> Size {
        let fits = |measured: usize, spare: usize, bound: usize| {
            (measured..=measured + spare).contains(&bound)
        };
        let lines = present.map(|present| present.lines).filter(|&bound| {
            fits(
                self.lines,
                SPARE_LINES.max(bound * SPARE_PERCENT / 100),
                bound,
            )
        });
        let files = present
            .map(|present| present.files)
            .filter(|&bound| fits(self.files, SPARE_FILES, bound));
        Size {
            lines: lines.unwrap_or(self.lines.next_multiple_of(LINES_STEP)),
            files: files.unwrap_or(self.files),
        }
    }
}

/// Returns the room of a file: its crate, or in the runtime its folder, where the files beside the folders are one room.
fn room(path: &str) -> String {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["crates", "core", "src", _] => "crates/core/src/*.rs".to_owned(),
        ["crates", "core", "src", folder, ..] => format!("crates/core/src/{folder}"),
        ["crates", name, ..] => format!("crates/{name}"),
        ["mcp-runtime", "src", _] => "mcp-runtime/src/*.rs".to_owned(),
        ["mcp-runtime", "src", folder, ..] => format!("mcp-runtime/src/{folder}"),
        [name, ..] => (*name).to_owned(),
        [] => String::new(),
    }
}

fn measured() -> BTreeMap<String, Size> {
    let mut rooms = BTreeMap::<_, Size>::new();
    let page = files(&["mcp-dev/src"], "rs");
    let page = page.into_iter().filter(|source| !source.is_test());
    for source in product().into_iter().chain(page) {
        let size = rooms.entry(room(&source.path)).or_default();
        size.lines += Build::Any.count(&source.text);
        size.files += 1;
    }
    rooms
}

/// Reads the bounds. A line that cannot be read counts as missing.
fn present(table: &str) -> BTreeMap<&str, Size> {
    let lines = table.lines().filter_map(|line| {
        let mut cells = line.split_whitespace();
        let room = cells.next()?;
        let [lines, files] = [cells.next()?.parse().ok()?, cells.next()?.parse().ok()?];
        Some((room, Size { lines, files }))
    });
    lines.collect()
}

fn table(rooms: &BTreeMap<String, Size>, present: &BTreeMap<&str, Size>) -> String {
    let mut text = format!("{HEADER}{:28}{:>6}{:>6}\n", "# room", "lines", "files");
    for (room, size) in rooms {
        let Size { lines, files } = size.bounds(present.get(room.as_str()).copied());
        writeln!(text, "{room:28}{lines:>6}{files:>6}").unwrap();
    }
    text
}

#[test]
fn the_sizes_of_folders_match_the_recorded_ones() {
    let present_table = std::fs::read_to_string(root().join(TABLE)).unwrap_or_default();
    check_generated(TABLE, &table(&measured(), &present(&present_table)));
}

#[test]
fn a_size_bound_is_renewed_only_if_the_size_does_not_fit() {
    let size = |lines, files| Size { lines, files };
    for (measured, bound, expected) in [
        (size(101, 3), None, size(150, 3)),
        (size(150, 3), Some(size(150, 3)), size(150, 3)),
        // Above the bound.
        (size(151, 3), Some(size(150, 3)), size(200, 3)),
        (size(150, 4), Some(size(150, 3)), size(150, 4)),
        // Below it, but not far enough.
        (size(100, 1), Some(size(150, 3)), size(150, 3)),
        (size(9_700, 3), Some(size(10_000, 3)), size(10_000, 3)),
        // Far below it.
        (size(99, 1), Some(size(150, 4)), size(100, 1)),
        (size(9_699, 3), Some(size(10_000, 3)), size(9_700, 3)),
    ] {
        assert_eq!(measured.bounds(bound), expected, "{measured:?} {bound:?}");
    }
}
