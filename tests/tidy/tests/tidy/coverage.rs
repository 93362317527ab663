//! Checks that each requirement of `docs/requirements.md` has a test, which names it in a comment `Covers: ID, …`, or a
//! reason in `tests/coverage/open.txt`, and that `tests/coverage/modules.txt` knows the modules that implement it.
//!
//! `.ci/coverage` makes a page from the same: the module of each requirement, and the tests that check it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::sources::{crates, root};

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the ids, in the order of the document, with the beginning of each requirement's text.
fn requirements() -> Vec<(String, String)> {
    text("docs/requirements.md")
        .lines()
        .filter_map(|line| {
            let (id, rest) = line.strip_prefix("- **")?.split_once("**")?;
            let is_id = id.split_once('-').is_some_and(|(area, number)| {
                area.chars().all(|letter| letter.is_ascii_uppercase())
                    && number.chars().all(|digit| digit.is_ascii_digit())
            });
            is_id.then(|| (id.to_owned(), rest.trim().to_owned()))
        })
        .collect()
}

/// Reads the lines `KEY rest` of a data file. A key is an id, or an area such as `HTTP`.
fn table(path: &str) -> BTreeMap<String, String> {
    text(path)
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (key, rest) = line
                .split_once(' ')
                .unwrap_or_else(|| panic!("{path}: {line}"));
            (key.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

/// Looks up an id, or its area if the id is missing.
fn look_up<'a>(table: &'a BTreeMap<String, String>, id: &str) -> Option<&'a String> {
    table
        .get(id)
        .or_else(|| table.get(id.split('-').next().unwrap_or_default()))
}

/// Returns the tests that name each id.
fn covered() -> BTreeMap<String, BTreeSet<String>> {
    let mut covered: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let others = [
        "examples/tests",
        "tests/fixtures/tests",
        "tests/tests",
        "tests/interop",
        "mcp-runtime/src",
        "mcp-macros/src",
    ];
    for folder in others.map(str::to_owned).into_iter().chain(crates("src")) {
        for path in files(&root().join(folder)) {
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let name = path
                .strip_prefix(root())
                .unwrap_or(&path)
                .with_extension("")
                .display()
                .to_string()
                .replace('\\', "/");
            let mut ids: Vec<String> = Vec::new();
            for line in text.lines().map(str::trim) {
                let comment = line.strip_prefix("// ").or_else(|| line.strip_prefix("# "));
                if let Some(list) = comment.and_then(|comment| comment.strip_prefix("Covers: ")) {
                    ids.extend(
                        list.split(',')
                            .map(|id| id.trim().trim_end_matches('.').to_owned()),
                    );
                } else if let Some(function) = ["fn ", "async fn ", "async def "]
                    .iter()
                    .find_map(|start| line.strip_prefix(start))
                {
                    let function = function.split(['(', '<']).next().unwrap_or_default();
                    for id in ids.drain(..) {
                        covered
                            .entry(id)
                            .or_default()
                            .insert(format!("`{name}::{function}`"));
                    }
                }
            }
        }
    }
    covered
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "node_modules") {
                found.extend(files(&path));
            }
        } else if path
            .extension()
            .is_some_and(|kind| kind == "rs" || kind == "py")
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_requirement_is_tested_or_listed_as_open() {
    let requirements = requirements();
    assert!(requirements.len() > 250, "the list of requirements is read");
    let modules = table("tests/coverage/modules.txt");
    let open = table("tests/coverage/open.txt");
    let covered = covered();
    let known: BTreeSet<&str> = requirements.iter().map(|(id, _)| id.as_str()).collect();
    let mut faults = Vec::new();
    for id in covered.keys().filter(|id| !known.contains(id.as_str())) {
        faults.push(format!("a test covers {id}, which does not exist"));
    }
    for path in modules.values().flat_map(|list| list.split(", ")) {
        if !root().join(path).exists() {
            faults.push(format!(
                "tests/coverage/modules.txt names {path}, which does not exist"
            ));
        }
    }
    let (mut rows, mut rest) = (String::new(), String::new());
    let (mut tested, mut untested) = (0, 0);
    for (id, _) in &requirements {
        let tests = covered.get(id);
        let module = look_up(&modules, id);
        if let Some(tests) = tests {
            tested += 1;
            if open.contains_key(id) {
                faults.push(format!("{id} has a test and is listed as open"));
            }
            let modules = module.map(|list| {
                list.split(", ")
                    .map(|path| format!("`{path}`"))
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
            if modules.is_none() {
                faults.push(format!(
                    "{id} has a test but no module in tests/coverage/modules.txt"
                ));
            }
            writeln!(
                rows,
                "| {id} | {} | {} |",
                modules.unwrap_or_default(),
                tests.join("<br>")
            )
            .unwrap();
        } else if let Some(reason) = look_up(&open, id) {
            untested += 1;
            writeln!(rest, "| {id} | {reason} |").unwrap();
        } else {
            faults.push(format!(
                "{id} has neither a test nor an entry in tests/coverage/open.txt"
            ));
        }
    }
    let page = format!(
        "# Coverage of the specification\n\n\
         {tested} requirements have tests; {untested} are open or need none.\n\n\
         ## Tested\n\n| Requirement | Module | Tests |\n|---|---|---|\n{rows}\n\
         ## Open, or nothing to test\n\n| Requirement | Why |\n|---|---|\n{rest}"
    );
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    if let Some(path) = std::env::var_os("COVERAGE_PAGE") {
        std::fs::write(path, page).unwrap();
    }
}
