//! Counts the lines of the core that name an add-on. The core should know none of them, so that each can be deleted:
//! the counts in `tests/tidy/add_ons.txt` may only go down.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tidy::generated::check_generated;

use crate::sources::{Source, product, root};

const TABLE: &str = "tests/tidy/add_ons.txt";

const HEADER: &str = "\
# How many lines of the core name each add-on, which `tests/tidy/tests/tidy/add_ons.rs` defines. A count may only go down; after that,
# `.ci/renew lists` writes it anew.

";

/// The folders and files of the core.
const CORE: [&str; 8] = [
    "crates/core/src/context/",
    "crates/core/src/dispatch/",
    "crates/core/src/handler/",
    "crates/core/src/observe/",
    "crates/core/src/registry/",
    "crates/core/src/seal/",
    "mcp-runtime/src/server/builder.rs",
    "mcp-runtime/src/server/start.rs",
];

/// An add-on: the words by which a line names it, and the files inside the core's folders that are its own.
struct AddOn {
    name: &'static str,
    words: &'static [&'static str],
    own: &'static [&'static str],
}

const ADD_ONS: [AddOn; 11] = [
    AddOn {
        name: "apps",
        words: &["apps", "\"ui\"", "page_uri"],
        own: &[],
    },
    AddOn {
        name: "http",
        words: &["feature = \"http\""],
        own: &["context/http_parts.rs"],
    },
    AddOn {
        name: "idempotency",
        words: &["dempotency", "idempotent_by", "IdempotentCalls"],
        own: &[],
    },
    AddOn {
        name: "instances",
        words: &["elay", "hared_rates", "SharedRates", "shared_definitions"],
        own: &[],
    },
    AddOn {
        name: "jobs",
        words: &["JOB_", "JobTools", "job_"],
        own: &[],
    },
    AddOn {
        name: "spill",
        words: &[
            "KeptResults",
            "LargeResult",
            "kept_results",
            "spill",
            "Spill",
        ],
        own: &[],
    },
    AddOn {
        name: "tags",
        words: &["TagSelection", "TagSettings", "tag_", "tags"],
        own: &["handler/tags.rs"],
    },
    AddOn {
        name: "tasks",
        words: &[
            "LINKED_TASKS",
            "LinkedTasks",
            "Member::Task",
            "TaskOptions",
            "TaskStore",
            "TaskTtl",
            "around_tasks",
            "can_be_task",
            "extension::tasks",
            "linked_tasks",
            "start_task",
            "task_middleware",
            "task_options",
            "task_start",
            "task_store",
            "task_ttl",
            "tasks_of_tools",
            "with_tasks",
        ],
        own: &[],
    },
    AddOn {
        name: "telemetry",
        words: &["telemetry"],
        own: &[],
    },
    AddOn {
        name: "testing",
        words: &["feature = \"testing\"", "testing::"],
        own: &[],
    },
    AddOn {
        name: "tool-search",
        words: &["SearchTools", "ToolSearch", "tool_search"],
        own: &[],
    },
];

impl AddOn {
    fn is_own(&self, path: &str) -> bool {
        let path = (path.strip_prefix("crates/core/src/"))
            .or_else(|| path.strip_prefix("mcp-runtime/src/"))
            .unwrap_or(path);
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// Returns the places where a file of the core names the add-on.
    fn places(&self, source: &Source) -> Vec<String> {
        if self.is_own(&source.path) {
            return Vec::new();
        }
        let code = source
            .text
            .split("#[cfg(test)]\nmod ")
            .next()
            .unwrap_or_default();
        let lines = code.lines().enumerate();
        let named = lines.filter(|(_, line)| self.words.iter().any(|word| line.contains(word)));
        named
            .map(|(number, line)| format!("{}:{}: {}", source.path, number + 1, line.trim()))
            .collect()
    }
}

fn measured() -> BTreeMap<&'static str, Vec<String>> {
    let core = product()
        .into_iter()
        .filter(|source| CORE.iter().any(|part| source.path.starts_with(part)));
    let core: Vec<_> = core.collect();
    let places = |add_on: &AddOn| {
        core.iter()
            .flat_map(|source| add_on.places(source))
            .collect()
    };
    ADD_ONS
        .iter()
        .map(|add_on| (add_on.name, places(add_on)))
        .collect()
}

#[test]
fn the_number_of_add_on_names_in_the_core_does_not_grow() {
    let table = std::fs::read_to_string(root().join(TABLE)).unwrap_or_default();
    let bounds: BTreeMap<&str, usize> = table
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, count)| Some((name, count.trim().parse().ok()?)))
        .collect();
    let measured = measured();
    for (name, places) in &measured {
        if let Some(bound) = bounds.get(name) {
            assert!(
                places.len() <= *bound,
                "the core names `{name}` in {} lines instead of at most {bound}; let it plug in from outside:\n{}",
                places.len(),
                places.join("\n")
            );
        }
    }
    let mut text = HEADER.to_owned();
    for (name, places) in &measured {
        writeln!(text, "{name:12}{:>5}", places.len()).unwrap();
    }
    check_generated(TABLE, &text);
}

#[test]
fn the_places_that_a_deletion_edits_exist() {
    let read = |path: &str| {
        std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let table = read("tests/removable/add_ons.txt");
    let mut places = 0;
    for (kind, rest) in table.lines().filter_map(|line| line.split_once(' ')) {
        let Some((path, text)) = rest.split_once(": ").filter(|_| kind != "#") else {
            continue;
        };
        let found = match kind {
            "line" => read(path).matches(&format!("{text}\n")).count(),
            "edit" => {
                let (old, _) = text.split_once(" => ").expect("an edit has ` => `");
                read(path).matches(old).count()
            }
            _ => continue,
        };
        assert_eq!(found, 1, "{path} does not have once: {text}");
        places += 1;
    }
    assert!(places > 20, "{places}");
}
