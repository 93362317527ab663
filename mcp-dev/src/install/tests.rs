//! Tests with files as people write them: with comments, trailing commas, CRLF and a byte order mark.

use serde_json::{Value, json};

use super::edit::{Change, Format, edit};

const SERVERS: &str = "servers";

fn entry() -> Value {
    json!({"command": "/bin/garden", "args": ["-v"], "env": {"A": "b \"c\""}})
}

fn change(path: &[&str], value: Option<Value>) -> Change {
    Change {
        path: path.iter().map(|&name| name.to_owned()).collect(),
        value,
    }
}

/// Adds the entry to the text of a file.
fn enter(format: Format, text: &str) -> Result<String, String> {
    let changes = [change(&[SERVERS, "garden"], Some(entry()))];
    let (text, value) = edit(format, text, &changes)?;
    assert_eq!(value[SERVERS]["garden"], entry(), "{text}");
    Ok(text)
}

fn remove(format: Format, text: &str) -> String {
    let changes = [change(&[SERVERS, "garden"], None)];
    let (text, value) = edit(format, text, &changes).unwrap();
    assert_eq!(value[SERVERS].get("garden"), None, "{text}");
    text
}

/// Returns a file with comments and everything else that the format allows.
fn file_in(format: Format) -> String {
    match format {
        Format::Json => format!(
            "// mine, written by hand\n{{\n    /* one line */ \"theme\": \"dark\", // behind\n    \"{SERVERS}\": {{\n        // the other one\n        \
             \"other\": {{ \"command\": \"x\", \"args\": [1,  2,], }}, // stays\n    }},\n    \"size\": 1.50,\n}}\n// end\n"
        ),
        Format::Toml => format!(
            "# mine, written by hand\nmodel = \"m\"   # behind\n\n[{SERVERS}.other]  # the other one\ncommand = \"x\"\nargs = [ 1,  2, ]\n\n\
             [tools]\nweb = true # stays\n# end\n"
        ),
    }
}

/// Asserts that all lines of the old text are in the new one, in order and byte for byte.
fn assert_keeps_lines(before: &str, after: &str) {
    let mut lines = after.split_inclusive('\n');
    for line in before.split_inclusive('\n') {
        assert!(
            lines.any(|other| other == line),
            "{line:?} is gone from\n{after}"
        );
    }
}

#[test]
fn every_file_keeps_its_lines() {
    for format in [Format::Json, Format::Toml] {
        let plain = file_in(format);
        for before in [plain.clone(), plain.replace('\n', "\r\n")] {
            let after = enter(format, &before).unwrap();
            assert_keeps_lines(&before, &after);
            if before.contains("\r\n") {
                assert_eq!(
                    after.matches('\n').count(),
                    after.matches("\r\n").count(),
                    "{after:?}"
                );
            }
            // Removing the entry restores the original text.
            assert_eq!(remove(format, &after), before);
            // One member of an entry changes without the others.
            let path = [SERVERS, "garden", "command"];
            let changes = [change(&path, Some("/new".into()))];
            let (moved, value) = edit(format, &after, &changes).unwrap();
            assert_keeps_lines(&before, &moved);
            assert_eq!(value[SERVERS]["garden"]["command"], "/new");
            assert_eq!(value[SERVERS]["garden"]["args"], json!(["-v"]));
        }
    }
}

#[test]
fn a_file_that_has_no_servers_yet_gets_them() {
    for (format, texts) in [
        (
            Format::Toml,
            &["", "\n", "# mine\n", "a = 1", "a = 1\r\n", "[b]\nc = 1"][..],
        ),
        (
            Format::Json,
            &[
                "",
                "\n",
                "// mine\n",
                "{}",
                "{\"a\": 1}",
                "{\r\n  \"a\": 1,\r\n}",
            ],
        ),
    ] {
        for before in texts {
            let after = enter(format, before).unwrap();
            for kept in ["\"a\": 1", "a = 1", "# mine", "// mine", "c = 1", "\r\n"] {
                let is_kept = after.contains(kept) || !before.contains(kept);
                assert!(is_kept, "{before:?} {after:?}");
            }
        }
    }
}

/// A comment refers to the lines around it, so it stays in place.
#[test]
fn comments_at_the_end_stay_with_their_table() {
    let before = "[a]\nb = 1\n# c = 2\n";
    let after = enter(Format::Toml, before).unwrap();
    assert!(after.starts_with(before), "{after}");
    assert_eq!(remove(Format::Toml, &after), before);
    let mine = after.replace("[servers", "# about it\n[servers");
    assert_eq!(
        remove(Format::Toml, &mine),
        format!("{before}\n# about it\n")
    );
    let windows = before.replace('\n', "\r\n");
    let after_windows = enter(Format::Toml, &windows).unwrap();
    assert!(after_windows.starts_with(&windows), "{after_windows}");
    assert_eq!(remove(Format::Toml, &after_windows), windows);
    let below = format!("{after}# d = 3\n\n[e]\nf = 1\n");
    assert_eq!(
        remove(Format::Toml, &below),
        format!("{before}# d = 3\n\n[e]\nf = 1\n")
    );
}

#[test]
fn comments_behind_a_changed_value_stay() {
    for (format, before) in [
        (
            Format::Toml,
            "[servers.garden]\ncommand = \"/old\" # moved\nenabled_tools = [\"a\"]\n[servers.garden.env]\n# secret\nKEY = \"k\"\n",
        ),
        (
            Format::Json,
            "{\"servers\": {\"garden\": {\n  \"disabled\": true, // mine\n  \"command\": \"/old\", // moved\n  \"env\": {\"KEY\": \"k\"},\n}}}",
        ),
    ] {
        let changes = [
            change(&[SERVERS, "garden", "command"], Some("/new".into())),
            change(&[SERVERS, "garden", "env", "A"], Some("b".into())),
        ];
        let (after, value) = edit(format, before, &changes).unwrap();
        assert!(
            !after.contains("/old") && after.contains("moved"),
            "{after}"
        );
        let env = &value[SERVERS]["garden"]["env"];
        assert_eq!(*env, json!({"KEY": "k", "A": "b"}), "{after}");
    }
}

#[test]
fn inline_tables_are_edited_in_place() {
    for before in [
        "servers = { other = { command = \"x\" } } # mine\na = 1\n",
        "servers.other = { command = \"x\" } # mine\na = 1\n",
    ] {
        let after = enter(Format::Toml, before).unwrap();
        assert!(
            after.contains("# mine\n") && after.contains("a = 1"),
            "{after}"
        );
    }
}

#[test]
fn mixed_line_ends_stay() {
    let before = "a = 1\r\nb = 2\n[c]\r\nd = 3\n";
    let after = enter(Format::Toml, before).unwrap();
    assert_keeps_lines(before, &after);
    assert_eq!(remove(Format::Toml, &after), before);
}

#[test]
fn a_file_that_cannot_be_edited_is_refused() {
    for (format, text) in [
        (Format::Toml, "a = "),
        (Format::Toml, "servers = 1"),
        (Format::Toml, "[[servers]]\n"),
        (Format::Toml, "a = 1\na = 2"),
        (Format::Json, "{"),
        (Format::Json, "[]"),
        (Format::Json, "{'a': 1}"),
        (Format::Json, "{a: 1}"),
        (Format::Json, "{} {}"),
        (Format::Json, "{\"servers\": []}"),
        (Format::Json, "{\"servers\": null}"),
    ] {
        let edited = enter(format, text);
        assert!(edited.is_err(), "{text} became {edited:?}");
    }
}

#[cfg(unix)]
mod commands {
    use std::path::PathBuf;

    use crate::install::{Request, commands, run};
    use crate::target::Target;

    /// Runs a command with a server that writes its arguments to a file, which is returned.
    async fn arguments(name: &str, words: &[&str], description: &str) -> Result<String, String> {
        let folder = format!("mcp-dev-install-{name}-{}", std::process::id());
        let folder: PathBuf = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let script = folder.join("server.sh");
        let body = format!(
            "[ \"$1\" != --describe ] || exec echo '{description}'\nprintf '%s\\n' \"$@\" >\"$0.out\"\n[ \"$2\" != cursor ]\n"
        );
        std::fs::write(&script, body).unwrap();
        let command = clap::Command::new("mcp-dev").subcommands(commands());
        let words = std::iter::once(&"mcp-dev").chain(words);
        let mut matches = command.try_get_matches_from(words).unwrap();
        let (name, matches) = matches.remove_subcommand().unwrap();
        let server = vec!["sh".to_owned(), script.display().to_string()];
        let ran = run(&Request { name, matches }, Target::Command(server)).await;
        let written = std::fs::read_to_string(folder.join("server.sh.out"));
        std::fs::remove_dir_all(folder).unwrap();
        match ran {
            Ok(true) => Ok(written.unwrap()),
            Ok(false) => Err("failed".to_owned()),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    const DESCRIPTION: &str = r#"{"format": 1, "debug": false, "server": {"name": "x", "version": "1"}, "settings": [],
        "http": null, "keepsData": false, "tools": [], "prompts": []}"#;

    #[tokio::test]
    async fn a_server_gets_its_arguments_and_the_editor() {
        let words = [
            "install",
            "zed",
            "--env",
            "A=b c",
            "--env=C=",
            "--arg=-q",
            "--dry-run",
        ];
        let given = arguments("given", &words, DESCRIPTION).await.unwrap();
        let (given, editor) = given.split_once("--editor\n").unwrap();
        assert_eq!(
            given,
            "install\nzed\n--env=A=b c\n--env=C=\n--arg=-q\n--dry-run\n"
        );
        let this = std::env::current_exe().unwrap();
        assert_eq!(editor.trim_end(), this.display().to_string());
        let given = arguments("json", &["installed", "--json"], DESCRIPTION).await;
        assert!(given.unwrap().starts_with("installed\n--json\n--editor\n"));
    }

    #[tokio::test]
    async fn a_command_that_fails_and_another_program_fail() {
        let words = ["uninstall", "cursor"];
        let failed = arguments("failed", &words, DESCRIPTION).await;
        assert_eq!(failed.unwrap_err(), "failed");
        let other = arguments("other", &words, "hello").await.unwrap_err();
        assert!(other.contains("did not print a description"), "{other}");
    }
}
