//! Tests for names and times, and for the variables that files refer to. In `tests/`, parsers for the formats read the
//! files.

use std::time::Duration;

use super::KINDS;
use crate::Server;
use crate::http::HttpOptions;
use crate::server::command_line::publish::recipe::{Recipe, label, plain_tag};

/// Settings with text that no file should interpret as its own syntax.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only their schema matters")]
struct Settings {
    /// Key: # "it"
    /// and more
    key: crate::env::Secret<String>,
    /// Size
    size: Option<u8>,
}

fn files(server: &Server, arguments: &[&str]) -> Result<Vec<(&'static str, String)>, String> {
    let words = ["recipe", "docker"].iter().chain(arguments);
    let matches = super::command()
        .try_get_matches_from(words)
        .map_err(|error| error.to_string())?;
    let recipe = Recipe::read(server, "my_garden", &matches)?;
    Ok(KINDS
        .iter()
        .map(|(kind, make)| (*kind, make(&recipe)))
        .collect())
}

/// `%` starts a directive in a `printf` format string.
#[test]
fn a_probe_path_is_asked_for_as_it_is() {
    let server = Server::new("x", "1").http(HttpOptions::new().live_path("/a%20b"));
    let texts = files(&server, &[]).unwrap();
    let docker = texts.iter().find(|(kind, _)| *kind == "docker");
    let (_, text) = docker.unwrap();
    assert!(text.contains("GET /a%%20b HTTP/1.1"), "{text}");
}

#[test]
fn files_have_what_the_server_says() {
    let options = HttpOptions::new()
        .allow_host("*")
        .allow_host("garden.example.com")
        .live_path("/live")
        .shutdown_delay(Duration::from_millis(10_500));
    let server = Server::new("x", "1.0+b")
        .http(options)
        .env::<Settings>("MCP_TEST_OF_RECIPES_");
    let texts = files(&server, &["--port", "9000"]).unwrap();
    for (kind, text) in &texts {
        let expected: &[&str] = match *kind {
            "docker" => &[
                "--bin my_garden\n",
                "PORT=9000",
                "GET /live ",
                "my-garden:1.0-b",
                "\"garden.example.com\"]",
            ],
            "compose" => &[
                "127.0.0.1:9000:9000",
                "stop_grace_period: 21s",
                "=${MCP_TEST_OF_RECIPES_KEY:?",
                "- \"MCP_TEST_OF_RECIPES_SIZE\"",
            ],
            "kubernetes" => &[
                "path: \"/live\"",
                "path: \"/readyz\"",
                "Seconds: 21\n",
                "secretKeyRef: { name: \"my-garden\", key: \"MCP_TEST_OF_RECIPES_KEY\", optional: false }",
                "configMapKeyRef",
            ],
            _ => &[
                "127.0.0.1:9000 --allow-host garden.example.com\n",
                "TimeoutStopSec=21\n",
                "EnvironmentFile=/etc/my-garden/environment\n",
            ],
        };
        for part in expected {
            assert!(text.contains(part), "{kind}: {part} is not in\n{text}");
        }
        let comment = text.lines().find(|line| line.contains("Key:")).unwrap();
        assert!(comment.trim_start().starts_with('#'), "{comment}");
        assert!(comment.contains("Key: # \"it\" and more"), "{comment}");
    }
    // If there are no probes, none are requested. If there are no settings, none are named.
    let server = Server::new("x", "1").http(HttpOptions::new().health(false));
    for (kind, text) in files(&server, &[]).unwrap() {
        assert!(
            !text.contains("Probe") && !text.contains("HEALTHCHECK"),
            "{kind}"
        );
        assert!(
            !text.contains("EnvironmentFile") && !text.contains("environment:"),
            "{kind}"
        );
        assert!(
            text.contains("mcp.example.com") || kind == "compose",
            "{kind}"
        );
    }
}

#[test]
fn names_that_a_file_would_read_otherwise_are_refused() {
    let server = Server::new("x", "1");
    for arguments in [
        ["--host", "a b"],
        ["--host", "a\nb"],
        ["--host", "-a"],
        ["--image", "a\"b"],
        ["--image", ""],
        ["--port", "0"],
        ["--port", "70000"],
    ] {
        let words = format!("{}={}", arguments[0], arguments[1]);
        assert!(files(&server, &[&words]).is_err(), "{words:?}");
    }
    for (name, expected) in [
        ("My_Server", "my-server"),
        ("--", "server"),
        ("é", "server"),
        ("a-", "a"),
    ] {
        assert_eq!(label(name), expected);
    }
    assert_eq!(label(&"x".repeat(99)).len(), 63);
    assert_eq!(
        [plain_tag("1.2.3-rc+é"), plain_tag(".."), plain_tag("")],
        ["1.2.3-rc--", "latest", "latest"]
    );
}
