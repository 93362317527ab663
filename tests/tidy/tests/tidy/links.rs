//! Checks the links between the pages of the guide, the README and the other Markdown files: files, headings and
//! images.
//!
//! Links to items are checked where they are made, by rustdoc (`mcp-runtime/src/guide.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::sources::{Source, crates, files, root};

/// The files whose links are checked. Pages link to each other only within `docs/`.
const PAGES: [&str; 5] = [
    "ARCHITECTURE.md",
    "architecture",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
];

/// The readmes of the packages. Their links are relative, too; `.ci/release` makes them absolute in the packages,
/// because a registry's page about a package shows its readme.
fn readmes() -> Vec<String> {
    let others = ["README.md", "mcp-dev/README.md", "mcp-macros/README.md"];
    let others = others.map(str::to_owned).into_iter();
    others.chain(crates("README.md")).collect()
}

/// Returns the lines outside of code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push((number, line));
        }
    }
    lines
}

/// Returns the anchor that Markdown viewers give to a heading.
fn anchor(heading: &str) -> String {
    let letters = heading
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns the anchors of a page. A heading that occurs again has a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text)
        .into_iter()
        .filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let name = anchor(line.trim_start_matches('#'));
            let time = times.entry(name.clone()).or_default();
            *time += 1;
            if *time == 1 {
                name
            } else {
                format!("{name}-{}", *time - 1)
            }
        })
        .collect()
}

/// Returns the targets of the links of a page that are paths, with the line of each.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Code in backticks has no links.
        let line: String = line.split('`').step_by(2).collect();
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// Resolves `..` in a path without looking at the disk.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = clean.pop(),
            part => clean.push(part),
        }
    }
    clean
}

/// Returns what is wrong with the links of the pages.
fn broken(pages: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for page in pages {
        let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
        for (line, target) in targets(&page.text) {
            let (file, fragment) = target
                .split_once('#')
                .map_or((&*target, None), |(file, name)| (file, Some(name)));
            let path = if file.is_empty() {
                PathBuf::from(&page.path)
            } else {
                clean(&folder.join(file))
            };
            let found = pages.iter().find(|page| Path::new(&page.path) == path);
            let problem = match (found, fragment) {
                (Some(found), Some(name)) if !anchors(&found.text).contains(name) => {
                    "there is no such heading"
                }
                (None, _) if !root().join(&path).exists() => "there is no such file",
                _ => continue,
            };
            broken.push(format!("{}:{line}: {target}: {problem}", page.path));
        }
    }
    broken
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut pages = files(&PAGES, "md");
    let readmes = readmes();
    let readmes: Vec<&str> = readmes.iter().map(String::as_str).collect();
    pages.extend(files(&readmes, "md"));
    let broken = broken(&pages);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_package_has_a_readme_whose_links_are_checked() {
    for folder in std::fs::read_dir(root()).unwrap() {
        let folder = folder.unwrap();
        let Ok(manifest) = std::fs::read_to_string(folder.path().join("Cargo.toml")) else {
            continue;
        };
        let Some(readme) = manifest
            .lines()
            .find_map(|line| line.strip_prefix("readme = "))
        else {
            continue;
        };
        let path = Path::new(&folder.file_name()).join(readme.trim_matches('"'));
        let path = clean(&path);
        let is_known = readmes().iter().any(|known| Path::new(known) == path);
        assert!(is_known, "{} is not among the readmes", path.display());
    }
}

#[test]
fn broken_links_are_found() {
    let page = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let pages = [
        page(
            "docs/a.md",
            "# A\n[b](b.md) [c](c.md)\n[x](b.md#over-http-1) [y](#a) `[z](z.md)`\n```\n[z](z.md)\n```\n[w](b.md#over)",
        ),
        page(
            "docs/b.md",
            "## Over `HTTP`!\n## Over HTTP\n[up](../README.md#none)\n[main](../Cargo.toml)",
        ),
        page("README.md", "# R"),
    ];
    assert_eq!(
        broken(&pages),
        [
            "docs/a.md:2: c.md: there is no such file",
            "docs/a.md:7: b.md#over: there is no such heading",
            "docs/b.md:3: ../README.md#none: there is no such heading",
        ]
    );
}

#[test]
fn every_page_is_a_module_and_in_the_contents() {
    let modules = std::fs::read_to_string(root().join("mcp-runtime/src/guide.rs")).unwrap();
    let contents = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    for page in files(&["docs"], "md") {
        let name = page.path.trim_start_matches("docs/");
        if name == "README.md" || name == "requirements.md" {
            continue;
        }
        assert!(
            modules.contains(&format!("= \"{name}\"")),
            "mcp-runtime/src/guide.rs has no module for {name}"
        );
        assert!(
            contents.contains(&format!("]({name})")),
            "docs/README.md has no link to {name}"
        );
    }
}

/// Returns the paths below the root that these pages name in backticks and that do not exist.
fn missing_paths(pages: &[Source]) -> Vec<String> {
    let mut missing = Vec::new();
    for page in pages {
        for path in page.text.split('`').skip(1).step_by(2) {
            let is_path = [
                "crates/",
                "mcp-runtime/",
                "mcp-macros/",
                "mcp-dev/",
                "tests/",
                "examples/",
                "docs/",
                "fuzz/",
                "benches/",
                ".ci/",
            ]
            .iter()
            .any(|start| path.starts_with(start));
            let is_pattern = path.contains(['*', '{', ' ', '…']);
            if is_path && !is_pattern && !root().join(path).exists() {
                missing.push(format!("{}: `{path}`", page.path));
            }
        }
    }
    missing
}

#[test]
fn the_map_names_only_files_and_folders_that_exist() {
    let missing = missing_paths(&files(&["ARCHITECTURE.md", "architecture"], "md"));
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
    let page = Source {
        path: "a.md".to_owned(),
        text: "`crates/core/src/` and `crates/none/src/`".to_owned(),
    };
    assert_eq!(missing_paths(&[page]), ["a.md: `crates/none/src/`"]);
}
