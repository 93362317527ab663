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
    // Again: nothing to do, no other backup.
    let again = install(&["cursor", "--env", "A=b", "--arg=--verbose"]).good();
    assert!(again.contains("Already installed"), "{again}");
    assert_eq!(scratch.read(config), after);
    assert!(!scratch.path().join(".cursor/mcp.json.backup-2").exists());
    // Otherwise: additions to the entry stay.
    scratch.write(
        config,
        &after.replace("\"env\"", "\"disabled\": true, \"env\""),
    );
    install(&["cursor", "--env", "C=d"]).good();
    let entry = entry(&scratch.read(config));
    assert_eq!(
        entry,
        json!({"command": command, "args": ["--verbose"], "disabled": true, "env": {"A": "b", "C": "d"}})
    );
    assert!(scratch.path().join(".cursor/mcp.json.backup-2").exists());
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
    ];
    if cfg!(unix) {
        places.push(("zed", ".config/zed/settings.json", "context_servers"));
    }
    if cfg!(target_os = "macos") {
        let file = "Library/Application Support/Claude/claude_desktop_config.json";
        places.push(("claude-desktop", file, "mcpServers"));
    }
    for (client, file, servers) in places {
        // Nothing is written before it is asked for.
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
    }
    let elsewhere = install(&["claude-desktop", "--config", "own.json", "--name", "mine"]);
    elsewhere.good();
    let written: Value = serde_json::from_str(&scratch.read("own.json")).unwrap();
    assert!(written["mcpServers"]["mine"]["command"].is_string());
}

#[test]
fn a_configuration_that_cannot_be_kept_is_left_alone() {
    let scratch = Scratch::new("comments");
    let config = ".config/zed/settings.json";
    for text in [
        "// mine\n{\"context_servers\": {}}",
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
