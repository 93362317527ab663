//! `install`: the configuration files of clients.

use std::path::Path;

use serde_json::{Value, json};

use super::{Scratch, run_in};

#[test]
fn a_server_is_installed_beside_what_is_there() {
    let scratch = Scratch::new("install");
    let install = |more: &[&str]| run_in(scratch.path(), "garden", &[&["install"], more].concat());
    let config = ".cursor/mcp.json";
    let before = "{\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" }\n    },\n    \"theme\": 1.50\n}\n";
    scratch.write(config, before);
    let said = install(&["cursor", "--env", "A=b", "--arg=--verbose"]).good();
    assert!(said.contains("mcp.json.backup"), "{said}");
    assert_eq!(scratch.read(".cursor/mcp.json.backup"), before);
    let after = scratch.read(config);
    assert!(after.starts_with("{\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" },\n        \"garden\": {\n"), "{after}");
    assert!(
        after.ends_with("    },\n    \"theme\": 1.50\n}\n"),
        "{after}"
    );
    let entry =
        |after: &str| serde_json::from_str::<Value>(after).unwrap()["mcpServers"]["garden"].clone();
    let command = tests::binary("garden").canonicalize().unwrap();
    assert_eq!(
        entry(&after),
        json!({"command": command, "args": ["--verbose"], "env": {"A": "b"}})
    );
    // Installing again changes nothing and makes no further backup.
    let again = install(&["cursor", "--env", "A=b", "--arg=--verbose"]).good();
    assert!(again.contains("Already installed"), "{again}");
    assert_eq!(scratch.read(config), after);
    assert!(!scratch.path().join(".cursor/mcp.json.backup-2").exists());
    // The arguments of the program may also follow `--`.
    let again = install(&["cursor", "--env", "A=b", "--", "--verbose"]).good();
    assert!(again.contains("Already installed"), "{again}");
    let printed = install(&[
        "cursor", "--print", "--arg=-q", "--", "--config", "a b.toml",
    ])
    .good();
    let printed: String = printed.split_whitespace().collect();
    assert!(
        printed.contains(r#""args":["-q","--config","ab.toml"]"#),
        "{printed}"
    );
    // Installing with other options keeps additions to the entry.
    scratch.write(
        config,
        &after.replace("\"env\"", "\"disabled\": true, \"env\""),
    );
    let said = install(&["cursor", "--env", "C=d"]).good();
    let kept = "Kept from the existing entry: args [\"--verbose\"], disabled true, env A\n";
    assert!(said.contains(kept), "{said}");
    let entry = entry(&scratch.read(config));
    assert_eq!(
        entry,
        json!({"command": command, "args": ["--verbose"], "disabled": true, "env": {"A": "b", "C": "d"}})
    );
    assert!(scratch.path().join(".cursor/mcp.json.backup-2").exists());
}

/// Projects contain files written by others, whose text must not reach the terminal unchanged.
#[test]
fn entries_of_others_are_shown_without_control_characters() {
    let scratch = Scratch::new("installed");
    let entry = json!({"command": "/bin/\u{1b}[2J\u{7}", "env": {"LD_PRELOAD": "secret.so"}});
    let file = json!({"mcpServers": {"garden": entry}});
    scratch.write(".mcp.json", &file.to_string());
    let listed = run_in(scratch.path(), "garden", &["installed"]).good();
    assert!(listed.contains(r"/bin/\u{1b}[2J\u{7}"), "{listed}");
    assert!(!listed.contains('\u{1b}'), "{listed}");
    let said = run_in(scratch.path(), "garden", &["install", "claude-code"]).good();
    assert!(
        said.contains("Kept from the existing entry: env LD_PRELOAD\n"),
        "{said}"
    );
    assert!(!said.contains("secret.so"), "{said}");
}

#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_read_is_named() {
    let scratch = Scratch::new("unreadable");
    scratch.write(".config/goose/config.yaml", "extensions: {}\n");
    let listed = run_in(scratch.path(), "garden", &["installed"]);
    let problem = "config.yaml was not searched: this program cannot read YAML";
    assert!(listed.err.contains(problem), "{}", listed.err);
    let all = "not installed in any client whose file could be read\n";
    assert_eq!(listed.good(), all);
}

/// Suggesting file names would be wrong.
#[test]
fn completion_of_what_is_not_there_finds_nothing() {
    let scratch = Scratch::new("completion");
    let words = ["__complete", "fish", "--", "call", "none", "ar"];
    assert_eq!(run_in(scratch.path(), "garden", &words).good(), "");
}

#[test]
fn every_client_has_its_configuration_file() {
    let scratch = Scratch::new("places");
    let install = |more: &[&str]| run_in(scratch.path(), "garden", &[&["install"], more].concat());
    let mut places = vec![
        ("claude-code", ".mcp.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "mcpServers",
        ),
        ("gemini-cli", ".gemini/settings.json", "mcpServers"),
        ("copilot-cli", ".copilot/mcp-config.json", "mcpServers"),
        ("lm-studio", ".lmstudio/mcp.json", "mcpServers"),
        ("junie", ".junie/mcp/mcp.json", "mcpServers"),
        ("qwen-code", ".qwen/settings.json", "mcpServers"),
        ("amp", ".config/amp/settings.json", "amp.mcpServers"),
    ];
    if cfg!(unix) {
        places.push(("zed", ".config/zed/settings.json", "context_servers"));
    }
    if cfg!(target_os = "macos") {
        let file = "Library/Application Support/Claude/claude_desktop_config.json";
        places.push(("claude-desktop", file, "mcpServers"));
    }
    for (client, file, servers) in places {
        // Nothing is written until it is asked for.
        assert!(install(&[client, "--print"]).good().contains(servers));
        assert!(install(&[client, "--dry-run"]).good().contains(servers));
        assert!(!scratch.path().join(file).exists(), "{client}");
        install(&[client]).good();
        let written: Value = serde_json::from_str(&scratch.read(file)).unwrap();
        let entry = &written[servers]["garden"];
        assert!(
            Path::new(entry["command"].as_str().unwrap()).is_absolute(),
            "{client}: {written}"
        );
        assert_eq!(entry["type"] == "stdio", client == "vscode");
        assert_eq!(entry["type"] == "local", client == "copilot-cli");
    }
    install(&["cline", "--arg", "-v", "--env", "A=b"]).good();
    let written = scratch.read(".cline/data/settings/cline_mcp_settings.json");
    let written: Value = serde_json::from_str(&written).unwrap();
    let command = tests::binary("garden").canonicalize().unwrap();
    let transport = json!({"type": "stdio", "command": command, "args": ["-v"], "env": {"A": "b"}});
    assert_eq!(
        written["mcpServers"]["garden"],
        json!({"transport": transport})
    );
    install(&["opencode", "--arg", "-v", "--env", "A=b"]).good();
    let file = ".config/opencode/opencode.json";
    let written: Value = serde_json::from_str(&scratch.read(file)).unwrap();
    let command = tests::binary("garden").canonicalize().unwrap();
    assert_eq!(
        written["mcp"]["garden"],
        json!({"type": "local", "command": [command, "-v"], "environment": {"A": "b"}})
    );
    // The program is a different one, such as a release build; its path becomes absolute.
    scratch.write("release/garden", "");
    install(&["cursor", "--executable", "release/garden"]).good();
    let written: Value = serde_json::from_str(&scratch.read(".cursor/mcp.json")).unwrap();
    let command = scratch.path().join("release/garden");
    assert_eq!(written["mcpServers"]["garden"]["command"], json!(command));
    let missing = install(&["cursor", "--executable", "release/none"]).bad();
    assert!(missing.contains("release/none: "), "{missing}");
    let elsewhere = install(&["claude-desktop", "--config", "own.json", "--name", "mine"]);
    elsewhere.good();
    let written: Value = serde_json::from_str(&scratch.read("own.json")).unwrap();
    assert!(written["mcpServers"]["mine"]["command"].is_string());
}

#[test]
fn a_configuration_that_cannot_be_kept_is_left_alone() {
    let scratch = Scratch::new("broken");
    let config = ".config/zed/settings.json";
    for text in [
        "{'context_servers': {}}",
        "{\"context_servers\": {}, \"context_servers\": {}}",
        "{\"context_servers\": []}",
        "[]",
    ] {
        scratch.write("own.json", text);
        let complaint = run_in(
            scratch.path(),
            "garden",
            &["install", "zed", "--config", "own.json"],
        )
        .bad();
        assert!(complaint.contains("Nothing was changed"), "{complaint}");
        assert!(complaint.contains("\"garden\": {"), "{complaint}");
        assert_eq!(scratch.read("own.json"), text);
        assert!(!scratch.path().join("own.json.backup").exists());
    }
    assert!(!scratch.path().join(config).exists());
}

#[test]
fn comments_stay_when_a_server_comes_and_goes() {
    let scratch = Scratch::new("comments");
    let garden = |arguments: &[&str]| run_in(scratch.path(), "garden", arguments);
    for (client, config, before) in [
        (
            "zed",
            ".config/zed/settings.json",
            "\u{feff}// mine\r\n{\r\n  \"theme\": \"dark\", // behind\r\n  \"context_servers\": {\r\n    \"other\": {},\r\n  },\r\n}\r\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "# mine\nmodel = \"m\" # behind\n\n[mcp_servers.other]\ncommand = \"x\"\n",
        ),
    ] {
        scratch.write(config, before);
        let said = garden(&["install", client]).good();
        assert!(said.contains(".backup"), "{said}");
        let after = scratch.read(config);
        let mut lines = after.split_inclusive('\n');
        for line in before.split_inclusive('\n') {
            assert!(
                lines.any(|other| other == line),
                "{line:?} is gone: {after}"
            );
        }
        let listed = garden(&["installed"]).good();
        assert!(
            listed.contains(client) && listed.contains("garden"),
            "{listed}"
        );
        let said = garden(&["uninstall", client]).good();
        assert!(said.contains("Removed `garden`"), "{said}");
        assert_eq!(scratch.read(config), before);
        assert!(!scratch.path().join(format!("{config}.backup")).exists());
        assert!(
            garden(&["uninstall", client])
                .good()
                .contains("is not installed")
        );
    }
    let listed = garden(&["installed", "--json"]).good();
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap(), json!([]));
}

#[test]
fn clients_can_be_told_a_url() {
    let scratch = Scratch::new("urls");
    let install = |more: &[&str]| {
        let url = ["--url", "https://example.com/mcp", "--header", "X-Key=1"];
        run_in(
            scratch.path(),
            "garden",
            &[&["install"], more, &url].concat(),
        )
    };
    let url = "https://example.com/mcp";
    let headers = json!({"X-Key": "1"});
    for (client, file, servers, expected) in [
        (
            "claude-code",
            ".mcp.json",
            "mcpServers",
            json!({"type": "http", "url": url, "headers": headers}),
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "mcpServers",
            json!({"url": url, "headers": headers}),
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            "servers",
            json!({"type": "http", "url": url, "headers": headers}),
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "mcpServers",
            json!({"serverUrl": url, "headers": headers}),
        ),
        (
            "gemini-cli",
            ".gemini/settings.json",
            "mcpServers",
            json!({"type": "http", "url": url, "headers": headers}),
        ),
        (
            "qwen-code",
            ".qwen/settings.json",
            "mcpServers",
            json!({"httpUrl": url, "headers": headers}),
        ),
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            "mcpServers",
            json!({"transport": {"type": "streamableHttp", "url": url, "headers": headers}}),
        ),
        (
            "amp",
            ".config/amp/settings.json",
            "amp.mcpServers",
            json!({"url": url, "headers": headers}),
        ),
        (
            "copilot-cli",
            ".copilot/mcp-config.json",
            "mcpServers",
            json!({"type": "http", "url": url, "headers": headers, "tools": ["*"]}),
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "mcp",
            json!({"type": "remote", "url": url, "headers": headers}),
        ),
        (
            "lm-studio",
            ".lmstudio/mcp.json",
            "mcpServers",
            json!({"url": url, "headers": headers}),
        ),
    ] {
        install(&[client]).good();
        let written: Value = serde_json::from_str(&scratch.read(file)).unwrap();
        assert_eq!(written[servers]["garden"], expected, "{client}");
    }
    install(&["codex"]).good();
    let written = scratch.read(".codex/config.toml");
    let expected = "[mcp_servers.garden]\nurl = \"https://example.com/mcp\"\nhttp_headers = { X-Key = \"1\" }\n";
    assert_eq!(written, expected);
    let complaint = install(&["junie"]).bad();
    assert!(
        complaint.contains("does not support entries with URLs"),
        "{complaint}"
    );
    let wrong = run_in(
        scratch.path(),
        "garden",
        &["install", "cursor", "--url", "example.com"],
    );
    assert!(wrong.bad().contains("is not an HTTP URL"));
}

#[test]
fn yaml_is_left_to_the_user() {
    let scratch = Scratch::new("yaml");
    scratch.write(".config/goose/config.yaml", "extensions: {} # mine\n");
    let complaint = run_in(scratch.path(), "garden", &["install", "goose"]).bad();
    assert!(complaint.contains("Nothing was changed"), "{complaint}");
    assert!(
        complaint.contains("extensions:\n  \"garden\":\n    name: \"garden\"\n    type: \"stdio\""),
        "{complaint}"
    );
    assert_eq!(
        scratch.read(".config/goose/config.yaml"),
        "extensions: {} # mine\n"
    );
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay_and_read_only_files_too() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let scratch = Scratch::new("links");
    let install = || run_in(scratch.path(), "garden", &["install", "cursor"]);
    let path = |name: &str| scratch.path().join(name);
    scratch.write("dotfiles/mcp.json", "{}\n");
    fs::set_permissions(path("dotfiles/mcp.json"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(path(".cursor")).unwrap();
    symlink("../dotfiles/mcp.json", path(".cursor/mcp.json")).unwrap();
    install().good();
    assert!(path(".cursor/mcp.json").is_symlink());
    assert!(scratch.read("dotfiles/mcp.json").contains("garden"));
    assert_eq!(scratch.read("dotfiles/mcp.json.backup"), "{}\n");
    let mode = fs::metadata(path("dotfiles/mcp.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // There are only these two: no partially written file remains.
    assert_eq!(fs::read_dir(path("dotfiles")).unwrap().count(), 2);

    scratch.write("dotfiles/mcp.json", "{}\n");
    fs::set_permissions(path("dotfiles/mcp.json"), fs::Permissions::from_mode(0o400)).unwrap();
    let complaint = install().bad();
    assert!(
        complaint.contains("is read-only") && complaint.contains("\"garden\": {"),
        "{complaint}"
    );
    assert_eq!(scratch.read("dotfiles/mcp.json"), "{}\n");
    assert_eq!(fs::read_dir(path("dotfiles")).unwrap().count(), 2);

    fs::remove_file(path("dotfiles/mcp.json")).unwrap();
    let complaint = install().bad();
    assert!(
        complaint.contains("a symbolic link to a file that does not exist"),
        "{complaint}"
    );
}

/// `before` is what Gemini CLI writes itself, or what `install` wrote for versions that read `httpUrl`.
#[test]
fn an_entry_of_gemini_has_one_url() {
    let url = "https://example.com/mcp";
    for before in [
        json!({"url": "http://127.0.0.1:1/mcp", "type": "http", "headers": {"X-A": "1"}}),
        json!({"httpUrl": "http://127.0.0.1:1/mcp", "headers": {"X-A": "1"}}),
        json!({"httpUrl": "http://127.0.0.1:1/mcp", "url": "http://127.0.0.1:2/mcp", "headers": {"X-A": "1"}}),
    ] {
        let scratch = Scratch::new("gemini");
        let install = |more: &[&str]| {
            let all = [&["install", "gemini-cli"], more].concat();
            run_in(scratch.path(), "garden", &all).good();
            let written: Value =
                serde_json::from_str(&scratch.read(".gemini/settings.json")).unwrap();
            written["mcpServers"]["garden"].clone()
        };
        let file = json!({"mcpServers": {"garden": before}});
        scratch.write(".gemini/settings.json", &file.to_string());
        let expected = json!({"url": url, "type": "http", "headers": {"X-A": "1"}});
        assert_eq!(install(&["--url", url]), expected, "{before}");
        let command = tests::binary("garden").canonicalize().unwrap();
        assert_eq!(
            install(&[]),
            json!({"command": command, "args": []}),
            "{before}"
        );
    }
}

#[test]
fn an_entry_of_cline_is_of_one_kind() {
    let scratch = Scratch::new("cline");
    let file = ".cline/data/settings/cline_mcp_settings.json";
    let install = |more: &[&str]| {
        let all = [&["install", "cline"], more].concat();
        run_in(scratch.path(), "garden", &all).good();
        let written: Value = serde_json::from_str(&scratch.read(file)).unwrap();
        written["mcpServers"]["garden"].clone()
    };
    // Earlier versions had no `transport` around the members.
    let flat = json!({"type": "stdio", "command": "x", "args": [], "disabled": false});
    let before = json!({"mcpServers": {"garden": flat}});
    scratch.write(file, &before.to_string());
    let url = "https://example.com/mcp";
    let remote = json!({"transport": {"type": "streamableHttp", "url": url}, "disabled": false});
    assert_eq!(install(&["--url", url]), remote);
    let command = tests::binary("garden").canonicalize().unwrap();
    let transport = json!({"type": "stdio", "command": command, "args": ["-v"]});
    let local = json!({"transport": transport, "disabled": false});
    assert_eq!(install(&["--arg", "-v"]), local);
    assert_eq!(install(&[]), local);
    let listed = run_in(scratch.path(), "garden", &["installed"]).good();
    assert!(listed.contains(command.to_str().unwrap()), "{listed}");
    assert_eq!(install(&["--url", url]), remote);
}

#[test]
fn every_file_that_a_client_merges_is_seen() {
    for (client, servers, usual, other) in [
        (
            "opencode",
            "mcp",
            ".config/opencode/opencode.json",
            "opencode.jsonc",
        ),
        (
            "amp",
            "amp.mcpServers",
            ".config/amp/settings.json",
            "settings.jsonc",
        ),
    ] {
        let scratch = Scratch::new("merged");
        let garden = |arguments: &[&str]| run_in(scratch.path(), "garden", arguments);
        let other = Path::new(usual).with_file_name(other);
        let other = other.to_str().unwrap();
        garden(&["install", client]).good();
        let own = "{ // mine\n}\n";
        scratch.write(other, own);
        // The file that has the entry is edited.
        garden(&["install", client, "--arg", "y"]).good();
        assert_eq!(scratch.read(other), own);
        assert!(scratch.read(usual).contains("\"y\""));
        // Both have an entry.
        scratch.write(
            other,
            &json!({servers: {"garden": {"command": "x"}}}).to_string(),
        );
        let listed = garden(&["installed"]).good();
        assert!(listed.contains(usual) && listed.contains(other), "{listed}");
        garden(&["uninstall", client]).good();
        assert_eq!(
            garden(&["installed"]).good(),
            "not installed in any client\n"
        );
        // If neither has an entry, it is added to the one that takes precedence.
        scratch.write(other, own);
        garden(&["install", client]).good();
        assert!(scratch.read(other).contains("// mine"));
        assert!(scratch.read(other).contains("garden"));
    }
}

#[test]
fn yaml_is_created_where_there_is_none() {
    let scratch = Scratch::new("new-yaml");
    let garden = |arguments: &[&str]| run_in(scratch.path(), "garden", arguments);
    let command = tests::binary("garden").canonicalize().unwrap();
    let command = Value::from(command.to_str().unwrap());
    for (client, file, expected) in [
        (
            "goose",
            ".config/goose/config.yaml",
            format!(
                "extensions:\n  \"garden\":\n    name: \"garden\"\n    type: \"stdio\"\n    enabled: true\n    cmd: {command}\n    \
                 args: []\n    envs: {{}}\n    timeout: 300\n"
            ),
        ),
        (
            "continue",
            ".continue/config.yaml",
            format!(
                "name: \"Local\"\nversion: \"1.0.0\"\nschema: \"v1\"\nmcpServers:\n  - name: \"garden\"\n    type: \"stdio\"\n    \
                 command: {command}\n    args: []\n"
            ),
        ),
    ] {
        let shown = garden(&["install", client, "--dry-run"]).good();
        assert!(shown.contains(&expected), "{shown}");
        assert!(!scratch.path().join(file).exists());
        garden(&["install", client]).good();
        assert_eq!(scratch.read(file), expected);
        // From now on, there is something to lose.
        let complaint = garden(&["install", client]).bad();
        assert!(complaint.contains("Nothing was changed"), "{complaint}");
        assert_eq!(scratch.read(file), expected);
    }
    let url = [
        "install",
        "continue",
        "--print",
        "--url",
        "https://example.com/mcp",
        "--header",
        "A=b",
    ];
    let printed = garden(&url).good();
    let expected = "mcpServers:\n  - name: \"garden\"\n    type: \"streamable-http\"\n    url: \"https://example.com/mcp\"\n    \
                    requestOptions: {\"headers\":{\"A\":\"b\"}}\n";
    assert_eq!(printed, expected);
}

#[test]
fn no_key_of_an_entry_outlives_it() {
    let scratch = Scratch::new("keys");
    let garden = |arguments: &[&str]| run_in(scratch.path(), "garden", arguments);
    let before = "{\"mcpServers\": {\"other\": {}}}\n";
    scratch.write("mcp.json", before);
    scratch.write("mcp.json.backup-x", "SECRET of somebody else");
    let place = ["cursor", "--config", "mcp.json"];
    for key in ["KEY=SECRET-ONE", "KEY=SECRET-TWO", "KEY=SECRET-THREE"] {
        garden(&[&["install"], &place[..], &["--env", key]].concat()).good();
    }
    let said = garden(&[&["uninstall"], &place[..]].concat()).good();
    assert!(said.contains("Removed its backup"), "{said}");
    let is_there = |name: &str| scratch.path().join(name).exists();
    for backup in ["mcp.json.backup", "mcp.json.backup-2", "mcp.json.backup-3"] {
        assert!(!is_there(backup), "{backup}");
    }
    let after: Value = serde_json::from_str(&scratch.read("mcp.json")).unwrap();
    assert_eq!(after, serde_json::from_str::<Value>(before).unwrap());
    assert!(is_there("mcp.json.backup-x"));
}

#[cfg(unix)]
#[test]
fn a_note_says_who_else_can_read_the_values() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = Scratch::new("exposed");
    let install = |more: &[&str]| {
        let all = [&["install", "cursor", "--config", "mcp.json"], more].concat();
        let ran = run_in(scratch.path(), "garden", &all);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err
    };
    let set_mode = |mode| {
        let file = scratch.path().join("mcp.json");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    };
    // Nobody else can read a file that is created.
    assert_eq!(install(&["--env", "A=1"]), "");
    set_mode(0o644);
    let said = install(&["--env", "A=2"]);
    assert!(
        said.contains("note: other users of this machine can read mcp.json"),
        "{said}"
    );
    assert!(said.contains("`--env`") && !said.contains("A=2"), "{said}");
    assert_eq!(install(&[]), "");
    set_mode(0o600);
    fs::create_dir(scratch.path().join(".git")).unwrap();
    let said = install(&["--url", "https://example.com", "--header", "A=1"]);
    assert!(
        said.contains("note: mcp.json is inside a Git work tree"),
        "{said}"
    );
    assert!(
        said.contains("`--header`") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn the_name_of_an_entry_is_shown_without_changes_of_direction() {
    let scratch = Scratch::new("direction");
    let name = "a\u{202e}b";
    let place = ["cursor", "--name", name];
    for command in ["install", "uninstall", "uninstall"] {
        let ran = run_in(scratch.path(), "garden", &[&[command], &place[..]].concat());
        let said = ran.good();
        assert!(
            said.contains("`a\\u{202e}b`") && !said.contains(name),
            "{said}"
        );
    }
}
