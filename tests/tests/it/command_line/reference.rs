//! docs/command-line.md describes every command and option of `--help`, and no others.

use std::collections::BTreeSet;
use std::fs;

use crate::command_line::run;

/// A command and its option. Options for serving have an empty command.
type CommandOption = (String, String);

/// Returns the commands in a help text.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Returns the options in the help text of a command, `--help` excluded.
fn options(command: &str, help: &str) -> BTreeSet<CommandOption> {
    let lines = help.lines().map(str::trim_start);
    lines
        .filter(|line| line.starts_with("--") || line.starts_with('-') && line.contains(", --"))
        .filter_map(|line| line.split([' ', '=']).find(|word| word.starts_with("--")))
        .filter(|option| *option != "--help")
        .map(|option| (command.to_owned(), option.to_owned()))
        .collect()
}

/// Returns the code in backticks in a cell of a table.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns the options in the tables of the page. `all` stands for the commands with `--protocol-version`.
fn documented(page: &str, all: &BTreeSet<String>) -> BTreeSet<CommandOption> {
    let mut found = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("| `-")) {
        let cells: Vec<_> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let names = code(cells[0]).filter_map(|words| words.split(' ').next());
        for option in names.filter(|name| name.starts_with("--") && *name != "--help") {
            let mut commands: Vec<String> = match cells.as_slice() {
                [_, _] => vec![String::new()],
                [_, commands, _] => code(commands).map(str::to_owned).collect(),
                _ => panic!("{line}"),
            };
            if cells[1] == "all" {
                commands.extend(all.iter().cloned());
            }
            found.extend(
                commands
                    .into_iter()
                    .map(|command| (command, option.to_owned())),
            );
        }
    }
    found
}

#[test]
fn the_page_has_the_commands_and_options_of_the_help() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command-line.md");
    let page = fs::read_to_string(page).unwrap();
    let help = run("garden", &["--help"]).out;
    let mut expected = options("", &help);
    for command in commands(&help) {
        assert!(
            page.contains(&format!("`{command}`")) || page.contains(&format!("`{command} ")),
            "the page lacks `{command}`"
        );
        if command != "help" {
            expected.extend(options(&command, &run("garden", &[&command, "--help"]).out));
        }
    }
    // Only servers with tasks have commands for them.
    let tasks = run("ledger", &["tasks", "--help"]).out;
    expected.extend(options("tasks", &tasks));
    for command in commands(&tasks) {
        if command != "help" {
            let help = run("ledger", &["tasks", &command, "--help"]).out;
            let command = format!("tasks {command}");
            assert!(
                page.contains(&format!("| `{command} ")),
                "the page lacks `{command}`"
            );
            expected.extend(options(&command, &help));
        }
    }
    assert!(
        expected.len() > 60,
        "the help was not understood: {expected:?}"
    );
    let all = expected
        .iter()
        .filter(|(_, option)| option == "--protocol-version");
    let all = all.map(|(command, _)| command.clone()).collect();
    let mut documented = documented(&page, &all);
    if !expected.iter().any(|(command, _)| command == "bundle") {
        // The example was built without feature `ship`.
        documented.retain(|(command, _)| !["bundle", "manifest", "recipe"].contains(&&**command));
    }
    let lacks: Vec<_> = expected.difference(&documented).collect();
    let more: Vec<_> = documented.difference(&expected).collect();
    assert!(
        lacks.is_empty() && more.is_empty(),
        "the page lacks {lacks:?} and has {more:?}"
    );
}
