//! Exit of a process that runs a server over stdio. Each test starts this program again as the server.
//!
//! It starts without arguments, because a server reads them: all tests run in that process, and the others do nothing.
#![cfg(unix)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of a test prints"
)]

use std::io::{BufRead as _, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use mcp_runtime::prelude::*;
use mcp_runtime::{
    Limits,
    dynamic::{Arguments, DynamicTool},
};
use serde_json::{Value, json};

const SERVER: &str = "MCP_TEST_IS_THE_SERVER";

/// Runs a server with two workers and a tool that blocks its worker, far longer than `limits.calls.drain_timeout`.
fn run_server() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let served = runtime.block_on(async {
        let limits = Limits::default()
            .with(|limits| limits.calls.drain_timeout = Duration::from_millis(100));
        let server = Server::new("s", "1").only([]).limits(limits);
        let block = |_: Arguments, _: Context| async {
            std::thread::sleep(Duration::from_secs(20));
            String::new()
        };
        let print = |_: Arguments, _: Context| async {
            println!("printed");
            eprintln!("printed");
            "answered".to_owned()
        };
        let tools = server.handle().tools();
        let tool = DynamicTool::new("block", json!({"type": "object"}), block);
        tools.insert(tool).unwrap();
        let tool = DynamicTool::new("print", json!({"type": "object"}), print);
        tools.insert(tool).unwrap();
        tokio::spawn(server.run()).await.unwrap()
    });
    drop(runtime);
    served.unwrap();
}

/// Starts the server and makes it block this many workers.
fn start(test: &str, calls: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(SERVER, test)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = handshake();
    lines.extend((1..=calls).map(
        |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "block"}}),
    ));
    let stdin = child.stdin.as_mut().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    // There is no signal that a worker is blocked now. A test that continues too early tests less, and passes.
    std::thread::sleep(Duration::from_millis(500));
    child
}

/// The handshake, in lines.
fn handshake() -> Vec<Value> {
    let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn ended(mut child: Child) -> ExitStatus {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the process does not end");
}

fn signal(child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.unwrap().success());
}

/// Returns `true` if this process is a server; runs the server if it belongs to this test.
fn is_server(test: &str) -> bool {
    let server = std::env::var(SERVER).ok();
    if server.as_deref() == Some(test) {
        run_server();
    }
    server.is_some()
}

#[test]
fn a_blocked_handler_does_not_keep_the_process_after_the_end_of_input() {
    let test = "a_blocked_handler_does_not_keep_the_process_after_the_end_of_input";
    if is_server(test) {
        return;
    }
    let mut child = start(test, 1);
    drop(child.stdin.take());
    assert!(ended(child).success());
}

#[test]
fn blocked_workers_do_not_keep_the_process_after_the_end_of_input() {
    let test = "blocked_workers_do_not_keep_the_process_after_the_end_of_input";
    if is_server(test) {
        return;
    }
    let mut child = start(test, 2);
    drop(child.stdin.take());
    assert!(ended(child).success());
}

#[test]
fn blocked_workers_do_not_keep_the_process_after_a_signal() {
    let test = "blocked_workers_do_not_keep_the_process_after_a_signal";
    if is_server(test) {
        return;
    }
    let child = start(test, 2);
    signal(&child);
    assert!(ended(child).success());
}

#[test]
fn a_second_signal_ends_the_process_at_once_though_workers_are_blocked() {
    let test = "a_second_signal_ends_the_process_at_once_though_workers_are_blocked";
    if is_server(test) {
        return;
    }
    let child = start(test, 2);
    signal(&child);
    std::thread::sleep(Duration::from_millis(200));
    signal(&child);
    assert_eq!(ended(child).code(), Some(143));
}

#[test]
fn a_tool_that_prints_after_standard_error_was_closed_still_answers() {
    let test = "a_tool_that_prints_after_standard_error_was_closed_still_answers";
    if is_server(test) {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(SERVER, test)
        // Otherwise the harness would catch what the tool prints.
        .env("RUST_TEST_NOCAPTURE", "1")
        // One thread, so that the harness prints nothing while the server runs.
        .env("RUST_TEST_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer = || loop {
        // The test harness of the server has printed lines of its own, and the beginning of this one.
        let line = answers.next().unwrap().unwrap();
        let start = line.find('{').unwrap_or_default();
        if let Ok(answer) = serde_json::from_str::<Value>(&line[start..]) {
            return answer;
        }
    };
    let stdin = child.stdin.as_mut().unwrap();
    for line in handshake() {
        writeln!(stdin, "{line}").unwrap();
    }
    assert_eq!(answer()["id"], 0);
    drop(child.stderr.take());
    for id in 1..=3 {
        let params = json!({"name": "print"});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(child.stdin.as_mut().unwrap(), "{call}").unwrap();
        let answer = answer();
        let answered = &answer["result"]["content"][0]["text"];
        assert_eq!(
            (&answer["id"], answered),
            (&json!(id), &json!("answered")),
            "{answer}"
        );
    }
    drop(child.stdin.take());
    assert!(ended(child).success());
}
