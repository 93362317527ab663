//! The address of `--http`, from the environment.

use serde_json::json;
use tests::http::{Request, send};

use crate::http::process::subject::Subject;

// Covers: HTTP-03
#[tokio::test]
async fn host_and_port_are_those_of_the_environment() {
    for (variables, is_v6) in [
        (&[("PORT", "0")][..], false),
        (&[("HOST", "localhost"), ("PORT", "0")], false),
        (&[("HOST", ""), ("PORT", "0")], false),
        (&[("HOST", "::1"), ("PORT", "0")], true),
    ] {
        if is_v6 && tokio::net::TcpListener::bind("[::1]:0").await.is_err() {
            continue;
        }
        let subject = Subject::start_with(&["--http"], variables).await;
        assert!(subject.address.ip().is_loopback());
        let answer = send(subject.address, &Request::tool("fill", json!({"bytes": 1}))).await;
        assert_eq!(answer.status, 200);
    }
    // An address on the command line takes precedence.
    let wrong = [("HOST", "a b"), ("PORT", "http")];
    Subject::start_with(&["--http", "127.0.0.1:0"], &wrong).await;
}

#[test]
fn an_environment_that_names_no_address_is_an_error() {
    let run = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_subject"));
        command.arg("--http").envs(variables.iter().copied());
        let output = tests::run::output(&mut command);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let both = run(&[("HOST", "0.0.0.0:80"), ("PORT", "http")]);
    assert!(
        both.contains("`HOST` is ignored") && both.contains("`PORT` is \"http\""),
        "{both}"
    );
    // An address that others can reach requires host names, wherever it comes from.
    let reachable = run(&[("HOST", "0.0.0.0"), ("PORT", "0")]);
    assert!(reachable.contains("--allow-host"), "{reachable}");
}
