//! Compile errors of the attributes, one fixture for each mistake, and functions that the attributes accept.

use std::fs;
use std::path::Path;

#[test]
fn mistakes_are_explained() {
    make_pages().expect("the folder of the fixtures can be written");
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*/*.rs");
}

/// Makes the pages that fixtures embed, in the folder of the package that `trybuild` makes of them.
fn make_pages() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tests/trybuild/tests/ui");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("chart.html"), "<!doctype html>")?;
    fs::write(folder.join("binary.html"), [0xff, 0xfe])?;
    fs::File::create(folder.join("large.html"))?.set_len(16 << 20)
}
