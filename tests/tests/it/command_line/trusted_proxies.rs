//! `--trusted-proxies`: proxies that are trusted in addition to those that the program trusts.

use std::process::Stdio;

use tests::process::binary;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

#[tokio::test]
async fn a_trusted_proxy_is_an_address_or_a_network() {
    let mut child = Command::new(binary("guide"))
        .args(["--http", "127.0.0.1:0", "--trusted-proxies"])
        .arg("10.0.0.0/8,127.0.0.1,proxy")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the example starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut text = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        assert!(!line.starts_with("http://"), "it serves at {line}");
        text += &line;
    }
    let expected = "the trusted proxy `proxy` is neither an IP address nor a network";
    assert!(text.contains(expected), "{text}");
    assert_eq!(text.matches("trusted proxy").count(), 1, "{text}");
    assert!(!child.wait().await.unwrap().success());
}
