//! Writes the modules of `src/lib.rs`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed={}", crates.display());
    let mut modules = String::new();
    for entry in fs::read_dir(&crates)? {
        let entry = entry?;
        let sources = entry.path().join("src");
        let library = fs::read_to_string(sources.join("lib.rs"))?;
        if library.contains("\n#![cfg(not(doctest))]\n") {
            write_modules(&sources, &out.join(entry.file_name()), &mut modules)?;
        }
    }
    fs::write(out.join("modules.rs"), modules)?;
    Ok(())
}

/// Writes a module for each file in the folder, and declares it.
fn write_modules(from: &Path, to: &Path, modules: &mut String) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            write_modules(&path, &copy, modules)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            fs::write(&copy, documentation(&fs::read_to_string(&path)?))?;
            let number = modules.lines().count();
            writeln!(
                modules,
                "#[path = r#\"{}\"#] mod file_{number};",
                copy.display()
            )?;
        }
    }
    Ok(())
}

/// Returns the documentation in the text of a file, in the same lines, with an item after each block of it.
fn documentation(text: &str) -> String {
    let mut found = Vec::new();
    let mut is_documented = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        found.push(match comment {
            Some(comment) => format!("///{comment}\n"),
            None if is_documented => format!("struct Item{number};\n"),
            None => "\n".to_owned(),
        });
        is_documented = comment.is_some();
    }
    found.concat()
}
