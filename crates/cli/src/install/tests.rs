//! Tests with the files of all clients.

use serde_json::{Value, json};

use super::change::Change;
use super::document::ConfigFormat;
use super::editor::TextEditor;
use super::hosts::{HOSTS, HostApplication};
use super::plain_json;
use super::uninstall::without_entry;
use crate::install::entry::{LocalServer, ServerEntry};

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

fn enter(host: &HostApplication, text: &str, entry: &ServerEntry) -> Result<String, String> {
    let document = host.format.parse(text, TextEditor::NONE)?;
    let changes = Change::to_enter(host.servers, "garden", entry, &document);
    host.format.edit(text, &changes, TextEditor::NONE)
}

/// The file is restored byte for byte, whatever had to be created for the entry.
#[test]
fn uninstalling_restores_any_plain_file_byte_for_byte() {
    let plain = |host: &&HostApplication| host.format == ConfigFormat::Json;
    for host in HOSTS.iter().filter(plain) {
        for before in [
            "",
            "\n",
            "{}",
            "{ }\r\n",
            "{\"a\": 1}",
            "\u{feff}{\r\n\t\"a\": 1\r\n}\r\n",
        ] {
            let after = enter(host, before, &local(host, &["-v"])).unwrap();
            let without = |backups: &[&str]| {
                let backups = backups.iter().copied();
                without_entry((host, TextEditor::NONE), "garden", &after, backups).unwrap()
            };
            assert_eq!(without(&["{", before]), before, "{}: {after:?}", host.name);
            // The entry is also removed if there is no backup.
            let removed = host.format.parse(&without(&[]), TextEditor::NONE).unwrap();
            assert_eq!(removed[host.servers].get("garden"), None);
        }
    }
}

/// A backup never overrides changes that the user has made since.
#[test]
fn uninstalling_keeps_later_changes_of_the_user() {
    let host = HOSTS.iter().find(|host| host.name == "zed").unwrap();
    let before = "{\"a\": 1}";
    let after = enter(host, before, &local(host, &[])).unwrap();
    let changed = after.replace("\"a\": 1", "\"a\": 2");
    let backups = [before].into_iter();
    let removed = without_entry((host, TextEditor::NONE), "garden", &changed, backups).unwrap();
    assert!(removed.contains("\"a\": 2"), "{removed}");
}

#[test]
fn a_file_that_needs_another_program_is_refused() {
    for (name, text) in [
        ("zed", "// mine\n{}"),
        ("cursor", "{\"a\": 1,}"),
        ("codex", ""),
        ("codex", "a = 1"),
    ] {
        let host = HOSTS.iter().find(|host| host.name == name).unwrap();
        let error = enter(host, text, &local(host, &[])).unwrap_err();
        assert!(error.contains("`mcp-dev install`"), "{text}: {error}");
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
