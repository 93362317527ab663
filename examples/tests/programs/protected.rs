//! `protected`: settings that are needed only over HTTP.

use std::process::{Command, Output};

use serde_json::json;
use tests::Version;
use tests::run::{self, Logged};

use super::Process;

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(tests::binary("protected"));
    run::output(command.args(arguments).envs(variables.iter().copied()))
}

#[test]
fn missing_settings_are_named_when_the_server_serves_over_http() {
    // An address that other machines can reach has the same message: what is missing could have allowed it.
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let output = run(&["--http", address], &[("PROTECTED_URL", "gopher://")]);
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{log}");
        let issuer = "the environment variable `PROTECTED_ISSUER` is not set: URL of the authorization server";
        assert!(log.contains(issuer), "{log}");
        assert!(log.contains("`PROTECTED_URL`: "), "{log}");
        assert!(!log.contains("--allow-host"), "{log}");
    }
}

#[tokio::test]
async fn a_local_user_needs_no_settings() {
    for version in Version::ERAS {
        let mut process = Process::start("protected", &[], version).await;
        let client = &mut process.client;
        let note = json!({"note": "water the roses"});
        assert_eq!(client.text("write_note", note).await, "1 notes");
    }
    assert!(run(&["--describe"], &[]).status.success());
    let help = run(&["--help"], &[]).stdout;
    let help = String::from_utf8(help).unwrap();
    assert!(help.contains("; required over HTTP (string)"), "{help}");
}

#[tokio::test]
async fn a_path_that_clients_do_not_find_is_in_the_log() {
    for (url, is_warned) in [
        ("https://mcp.example.com/notes", true),
        ("https://mcp.example.com/mcp", false),
    ] {
        let mut command = Command::new(tests::binary("protected"));
        command
            .args(["--http", "127.0.0.1:0"])
            .env("PROTECTED_ISSUER", "https://issuer.example.com")
            .env("PROTECTED_URL", url);
        let mut server = Logged::start(command);
        let mut log = String::new();
        // Another thread writes the log, all of which is there once the server has ended.
        while let Some(line) = server.line().await {
            if line.starts_with("http://") {
                run::signal(server.child.id().unwrap(), "TERM");
            }
            log += &line;
        }
        let warning = "the endpoint have different paths";
        assert_eq!(log.contains(warning), is_warned, "{log}");
    }
}
