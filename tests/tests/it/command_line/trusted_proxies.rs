//! `--trusted-proxies`: proxies that are trusted in addition to those that the program trusts.

use std::process::Command;

use tests::process::binary;
use tests::run::Logged;

#[tokio::test]
async fn a_trusted_proxy_is_an_address_or_a_network() {
    let mut command = Command::new(binary("guide"));
    command
        .args(["--http", "127.0.0.1:0", "--trusted-proxies"])
        .arg("10.0.0.0/8,127.0.0.1,proxy");
    let mut process = Logged::start(command);
    let mut text = String::new();
    while let Some(line) = process.line().await {
        assert!(!line.starts_with("http://"), "it serves at {line}");
        text += &line;
    }
    let expected = "the trusted proxy `proxy` is neither an IP address nor a network";
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.matches("trusted proxy").count(), 1, "{text}");
    assert!(!process.ended().await.success());
}
