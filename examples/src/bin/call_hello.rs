//! Starts the example `hello`, calls its tool over the real protocol, and shows the messages. The README runs it.

#![expect(
    clippy::print_stdout,
    reason = "showing the exchange is what this program is for"
)]

use std::io::{BufRead, BufReader, Error, Write};
use std::process::{Command, Stdio};

const REQUESTS: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"call_hello","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hello","arguments":{"name":"world"}}}"#,
];

fn main() -> Result<(), Error> {
    let hello =
        std::env::current_exe()?.with_file_name(format!("hello{}", std::env::consts::EXE_SUFFIX));
    if !hello.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        Command::new(cargo)
            .args([
                "build",
                "--quiet",
                "--package",
                "examples",
                "--bin",
                "hello",
            ])
            .status()?;
    }
    let mut server = Command::new(hello)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(Error::other("no pipes to the server"));
    };
    let mut answers = BufReader::new(output).lines();
    for request in REQUESTS {
        println!("-> {request}");
        writeln!(input, "{request}")?;
        println!(
            "<- {}",
            answers
                .next()
                .ok_or_else(|| Error::other("the server has ended"))??
        );
    }
    drop(input);
    server.wait()?;
    Ok(())
}
