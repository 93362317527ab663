//! Counts the lines of code that users compile: lines with a token, excluding comments, documentation and tests.
//!
//! Run it with `cargo run -p tidy --bin code_lines`. Code behind `#[cfg(feature = …)]` counts if the feature is on, so
//! each crate has a column for no features and one for all of them.

#![expect(clippy::print_stdout, reason = "its output is the table")]

use std::path::{Path, PathBuf};

use tidy::code_lines::Build;
use tidy::root;

const CRATES: [&str; 6] = [
    "crates/protocol",
    "crates/schema",
    "crates/skills",
    "crates/core",
    "mcp-runtime",
    "mcp-macros",
];

fn main() {
    let root = root();
    let (mut none, mut all) = (0, 0);
    println!("{:16}{:>12}{:>14}", "", "no features", "all features");
    for name in CRATES {
        let library = root.join(name).join("src/lib.rs");
        let counts =
            [Build::NoFeatures, Build::AllFeatures].map(|build| count_file(build, &library));
        println!("{name:16}{:>12}{:>14}", counts[0], counts[1]);
        none += counts[0];
        all += counts[1];
    }
    println!("{:16}{none:>12}{all:>14}", "together");
}

/// Counts the code of a file and of the modules that it declares.
fn count_file(build: Build, path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("{}: {error}", path.display());
    });
    let code = build.code(&text);
    let folder = folder_of_modules(path);
    let modules = code.modules.iter().map(|module| {
        let path = folder.join(module.join("/"));
        let file = path.with_extension("rs");
        let path = if file.is_file() {
            file
        } else {
            path.join("mod.rs")
        };
        count_file(build, &path)
    });
    code.lines.len() + modules.sum::<usize>()
}

/// Returns the folder that contains the modules of a file.
fn folder_of_modules(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default();
    if stem == "lib" || stem == "mod" {
        path.with_file_name("")
    } else {
        path.with_extension("")
    }
}
