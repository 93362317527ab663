//! Tests with every client's file as people write it: with comments, trailing commas, CRLF and a byte order mark.

use serde_json::{Value, json};

use super::change::Change;
use super::hosts::{HOSTS, HostApplication};
use super::plain_json;
use super::uninstall::without_entry;
use crate::server::command_line::install::entry::{LocalServer, RemoteServer, ServerEntry};

fn local(host: &HostApplication, arguments: &[&str]) -> ServerEntry {
    let environment = json!({"A": "b \"c\""});
    ServerEntry {
        members: (host.local)(&LocalServer {
            executable: "/bin/garden".to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            environment: environment.as_object().unwrap().clone(),
        }),
        keeps_arguments: arguments.is_empty(),
    }
}

fn remote(host: &HostApplication) -> Option<ServerEntry> {
    let server = RemoteServer {
        url: "https://example.com/mcp".to_owned(),
        headers: json!({"X-Key": "1"}).as_object().unwrap().clone(),
    };
    host.remote.map(|entry| ServerEntry {
        members: entry(&server),
        keeps_arguments: true,
    })
}

fn enter(host: &HostApplication, text: &str, entry: &ServerEntry) -> Result<String, String> {
    let document = host.format.parse(text)?;
    let changes = Change::to_enter(host.servers, "garden", entry, &document);
    host.format.edit(text, &changes)
}

fn remove(host: &HostApplication, text: &str) -> String {
    let change = Change::to_remove(host.servers, "garden");
    host.format.edit(text, &[change]).unwrap()
}

fn entry_in(host: &HostApplication, text: &str) -> Value {
    host.format.parse(text).unwrap()[host.servers]["garden"].clone()
}

#[cfg(feature = "ship")]
mod with_comments {
    use super::*;
    use crate::server::command_line::install::document::ConfigFormat;

    /// Returns a file in the client's format, with comments and everything else that the format allows.
    fn file_of(host: &HostApplication) -> String {
        let servers = host.servers;
        match host.format {
            ConfigFormat::Json => format!(
                "// mine, written by hand\n{{\n    /* one line */ \"theme\": \"dark\", // behind\n    \"{servers}\": {{\n        // the other one\n        \
                 \"other\": {{ \"command\": \"x\", \"args\": [1,  2,], }}, // stays\n    }},\n    \"size\": 1.50,\n}}\n// end\n"
            ),
            ConfigFormat::Toml => format!(
                "# mine, written by hand\nmodel = \"m\"   # behind\n\n[{servers}.other]  # the other one\ncommand = \"x\"\nargs = [ 1,  2, ]\n\n\
                 [tools]\nweb = true # stays\n# end\n"
            ),
            ConfigFormat::YamlMap | ConfigFormat::YamlList => String::new(),
        }
    }

    fn edited_hosts() -> impl Iterator<Item = &'static HostApplication> {
        HOSTS.iter().filter(|host| !host.format.is_only_created())
    }

    /// Asserts that all lines of the old text are in the new one, in order and byte for byte.
    fn assert_keeps_lines(host: &HostApplication, before: &str, after: &str) {
        let mut lines = after.split_inclusive('\n');
        for line in before.split_inclusive('\n') {
            assert!(
                lines.any(|other| other == line),
                "{}: {line:?} is gone from\n{after}",
                host.name
            );
        }
    }

    #[test]
    fn every_file_keeps_its_lines() {
        for host in edited_hosts() {
            let plain = file_of(host);
            let windows = plain.replace('\n', "\r\n");
            for before in [
                plain.clone(),
                windows.clone(),
                format!("\u{feff}{plain}"),
                format!("\u{feff}{windows}"),
            ] {
                let entry = local(host, &["--verbose"]);
                let after = enter(host, &before, &entry).unwrap();
                assert_keeps_lines(host, &before, &after);
                assert_eq!(
                    after.starts_with('\u{feff}'),
                    before.starts_with('\u{feff}')
                );
                if before.contains("\r\n") {
                    assert_eq!(
                        after.matches('\n').count(),
                        after.matches("\r\n").count(),
                        "{after:?}"
                    );
                }
                assert_eq!(
                    entry_in(host, &after),
                    Value::Object(entry.members.clone()),
                    "{after}"
                );
                // Adding the entry again changes nothing. If no arguments are given, the entry's arguments are kept.
                assert_eq!(enter(host, &after, &entry).unwrap(), after);
                assert_eq!(enter(host, &after, &local(host, &[])).unwrap(), after);
                // Removing the entry restores the original text.
                assert_eq!(remove(host, &after), before, "{}", host.name);
                let Some(remote) = remote(host) else {
                    continue;
                };
                // For the other kind of server, nothing remains of the first entry.
                let moved = enter(host, &after, &remote).unwrap();
                assert_keeps_lines(host, &before, &moved);
                assert_eq!(
                    entry_in(host, &moved),
                    Value::Object(remote.members),
                    "{moved}"
                );
                let back = enter(host, &moved, &entry).unwrap();
                assert_eq!(
                    entry_in(host, &back),
                    Value::Object(entry.members),
                    "{back}"
                );
            }
        }
    }

    #[test]
    fn a_file_that_has_no_servers_yet_gets_them() {
        for host in edited_hosts() {
            let texts: &[&str] = match host.format {
                ConfigFormat::Toml => &["", "\n", "# mine\n", "a = 1", "a = 1\r\n", "[b]\nc = 1"],
                _ => &[
                    "",
                    "\n",
                    "// mine\n",
                    "{}",
                    "{\"a\": 1}",
                    "{\r\n  \"a\": 1,\r\n}",
                ],
            };
            for before in texts {
                let entry = local(host, &[]);
                let after = enter(host, before, &entry).unwrap();
                assert_eq!(
                    entry_in(host, &after),
                    Value::Object(entry.members),
                    "{after}"
                );
                for kept in ["\"a\": 1", "a = 1", "# mine", "// mine", "c = 1", "\r\n"] {
                    let is_kept = after.contains(kept) || !before.contains(kept);
                    assert!(is_kept, "{before:?} {after:?}");
                }
            }
        }
    }

    /// The file is restored byte for byte, whatever had to be created for the entry.
    #[test]
    fn uninstalling_restores_any_file_byte_for_byte() {
        for host in edited_hosts() {
            let texts: &[&str] = match host.format {
                ConfigFormat::Toml => &[
                    "",
                    "\n",
                    "# mine\n",
                    "a = 1",
                    "a = 1\r\n",
                    "\u{feff}[b]\nc = 1\n# d = 2\n",
                    "[a]\nb = 1\n\n# mine\n[c]\n",
                ],
                _ => &[
                    "",
                    "\n",
                    "// mine\n",
                    "{}",
                    "{ }\r\n",
                    "{\"a\": 1}",
                    "{\"a\": 1, /* b */ }",
                    "\u{feff}{\r\n\t\"a\": 1, // b\r\n}\r\n// c",
                ],
            };
            for before in texts {
                for entry in [Some(local(host, &["-v"])), remote(host)] {
                    let Some(entry) = entry else { continue };
                    let after = enter(host, before, &entry).unwrap();
                    let backups = ["{", *before];
                    let removed = without_entry(host, "garden", &after, backups.into_iter());
                    assert_eq!(removed.unwrap(), *before, "{}: {after:?}", host.name);
                    // The entry is also removed if there is no backup.
                    let removed = without_entry(host, "garden", &after, [].into_iter()).unwrap();
                    assert_eq!(entry_in(host, &removed), Value::Null);
                }
            }
        }
    }

    /// A backup never overrides changes that the user has made since.
    #[test]
    fn uninstalling_keeps_later_changes_of_the_user() {
        let host = HOSTS.iter().find(|host| host.name == "zed").unwrap();
        let before = "{\"a\": 1}".to_owned();
        let after = enter(host, &before, &local(host, &[])).unwrap();
        let changed = after.replace("\"a\": 1", "\"a\": 2");
        let removed = without_entry(host, "garden", &changed, [&*before].into_iter()).unwrap();
        assert!(removed.contains("\"a\": 2"), "{removed}");
    }

    /// A comment refers to the lines around it, so it stays in place.
    #[test]
    fn comments_at_the_end_stay_with_their_table() {
        let host = HOSTS.iter().find(|host| host.name == "codex").unwrap();
        let before = "[a]\nb = 1\n# c = 2\n";
        let after = enter(host, before, &local(host, &[])).unwrap();
        assert!(after.starts_with(before), "{after}");
        assert_eq!(remove(host, &after), before);
        let mine = after.replace("[mcp_servers", "# about it\n[mcp_servers");
        assert_eq!(remove(host, &mine), format!("{before}\n# about it\n"));
        let windows = before.replace('\n', "\r\n");
        let after_windows = enter(host, &windows, &local(host, &[])).unwrap();
        assert!(after_windows.starts_with(&windows), "{after_windows}");
        assert_eq!(remove(host, &after_windows), windows);
        let below = format!("{after}# d = 3\n\n[e]\nf = 1\n");
        assert_eq!(
            remove(host, &below),
            format!("{before}# d = 3\n\n[e]\nf = 1\n")
        );
    }

    #[test]
    fn members_that_the_user_added_stay() {
        for host in edited_hosts() {
            let before = match host.format {
                ConfigFormat::Toml => format!(
                    "[{}.garden]\ncommand = \"/old\" # moved\nenabled_tools = [\"a\"]\n[{}.garden.env]\n# secret\nKEY = \"k\"\n",
                    host.servers, host.servers
                ),
                _ => format!(
                    "{{\"{}\": {{\"garden\": {{\n  \"disabled\": true, // mine\n  \"tools\": [\"add\"],\n  \"command\": \"/old\", // moved\n}}}}}}",
                    host.servers
                ),
            };
            let after = enter(host, &before, &local(host, &[])).unwrap();
            let entry = entry_in(host, &after);
            assert!(!after.contains("/old"), "{after}");
            // Members of an entry without `transport` move into it, and their comments do not.
            let moves = entry.get("transport").is_some();
            assert!(moves || after.contains("moved"), "{after}");
            if host.format == ConfigFormat::Toml {
                assert_eq!(entry["env"], json!({"KEY": "k", "A": "b \"c\""}), "{after}");
                assert_eq!(entry["enabled_tools"], json!(["a"]), "{after}");
            } else {
                assert_eq!(entry["disabled"], true, "{after}");
                assert_eq!(entry["tools"], json!(["add"]), "{after}");
            }
        }
    }

    #[test]
    fn inline_tables_are_edited_in_place() {
        let host = HOSTS.iter().find(|host| host.name == "codex").unwrap();
        for before in [
            "mcp_servers = { other = { command = \"x\" } } # mine\na = 1\n",
            "mcp_servers.other = { command = \"x\" } # mine\na = 1\n",
            "mcp_servers.garden.command = \"/old\" # mine\na = 1\n",
        ] {
            let entry = local(host, &[]);
            let after = enter(host, before, &entry).unwrap();
            assert_eq!(
                entry_in(host, &after),
                Value::Object(entry.members),
                "{after}"
            );
            assert!(
                after.contains("# mine\n") && after.contains("a = 1"),
                "{after}"
            );
        }
    }

    #[test]
    fn mixed_line_ends_stay() {
        let host = HOSTS.iter().find(|host| host.name == "codex").unwrap();
        let before = "a = 1\r\nb = 2\n[c]\r\nd = 3\n";
        let after = enter(host, before, &local(host, &[])).unwrap();
        assert_keeps_lines(host, before, &after);
        assert_eq!(remove(host, &after), before);
    }

    #[test]
    fn a_file_that_cannot_be_edited_is_refused() {
        for host in edited_hosts() {
            let servers = host.servers;
            let texts = match host.format {
                ConfigFormat::Toml => vec![
                    "a = ".to_owned(),
                    format!("{servers} = 1"),
                    format!("[[{servers}]]\n"),
                    "a = 1\na = 2".to_owned(),
                ],
                _ => vec![
                    "{".to_owned(),
                    "[]".to_owned(),
                    "{'a': 1}".to_owned(),
                    "{a: 1}".to_owned(),
                    "{} {}".to_owned(),
                    format!("{{\"{servers}\": []}}"),
                    format!("{{\"{servers}\": null}}"),
                    // It is unknown which of the two the client would read.
                    format!("{{\"{servers}\": {{\"a\": 1}}, \"{servers}\": {{\"b\": 2}}}}"),
                ],
            };
            for text in texts {
                let edited = enter(host, &text, &local(host, &[]));
                assert!(edited.is_err(), "{}: {text} became {edited:?}", host.name);
            }
        }
    }
}

#[test]
fn the_text_to_paste_is_the_entry() {
    let snippet = |name: &str| {
        let host = HOSTS.iter().find(|host| host.name == name).unwrap();
        let entry = local(host, &["-v"]);
        host.format
            .snippet(host.servers, "my garden", &entry.members)
    };
    assert_eq!(
        snippet("codex"),
        "[mcp_servers.\"my garden\"]\ncommand = \"/bin/garden\"\nargs = [\"-v\"]\nenv = { \"A\" = \"b \\\"c\\\"\" }"
    );
    assert_eq!(
        snippet("goose"),
        "extensions:\n  \"my garden\":\n    name: \"my garden\"\n    type: \"stdio\"\n    enabled: true\n    cmd: \"/bin/garden\"\n    \
         args: [\"-v\"]\n    envs: {\"A\":\"b \\\"c\\\"\"}\n    timeout: 300"
    );
    assert!(snippet("cursor").contains("\"my garden\": {"));
    #[cfg(feature = "ship")]
    for host in HOSTS
        .iter()
        .filter(|host| ["codex", "opencode"].contains(&host.name))
    {
        let entry = local(host, &["-v"]);
        let text = host.format.snippet(host.servers, "garden", &entry.members);
        assert_eq!(entry_in(host, &text), Value::Object(entry.members));
    }
}

#[test]
fn plain_files_need_no_library() {
    for host in HOSTS
        .iter()
        .filter(|host| host.name != "codex" && host.name != "goose")
    {
        let before = format!(
            "{{\n  \"{}\": {{\n    \"other\": {{}}\n  }},\n  \"a\": 1.50\n}}\n",
            host.servers
        );
        let document = plain_json::parse_json(&before).unwrap();
        let entry = local(host, &[]);
        let changes = Change::to_enter(host.servers, "garden", &entry, &document);
        let after = plain_json::edit_json(&before, &changes).unwrap();
        assert_eq!(
            plain_json::parse_json(&after).unwrap()[host.servers]["garden"],
            Value::Object(entry.members)
        );
        let removed = plain_json::edit_json(&after, &[Change::to_remove(host.servers, "garden")]);
        assert_eq!(removed.unwrap(), before);
    }
}
