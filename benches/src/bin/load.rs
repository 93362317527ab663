//! A client that makes a number of calls, 64 at a time, checks every answer, and leaves.
//!
//! `load (legacy|modern) CALLS PROGRAM [ARGUMENT…]`. Fails if an answer is wrong, or the program does.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Error, Write};
use std::process::{Command, Stdio};

use benches::{Era, answered};

/// Calls in flight.
const DEPTH: u64 = 64;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let usage = || Error::other("usage: load (legacy|modern) CALLS PROGRAM [ARGUMENT…]");
    let era = arguments.next().as_deref().and_then(Era::named);
    let era = era.ok_or_else(usage)?;
    let calls: u64 = arguments
        .next()
        .and_then(|calls| calls.parse().ok())
        .ok_or_else(usage)?;
    let mut server = Command::new(arguments.next().ok_or_else(usage)?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(Error::other("the server has no pipes"));
    };
    let mut output = BufReader::with_capacity(1 << 20, output);
    let mut line = String::new();
    if !era.greeting().is_empty() {
        input.write_all(era.greeting().as_bytes())?;
        output.read_line(&mut line)?;
    }
    let mut id = 0;
    while id < calls {
        let last = calls.min(id + DEPTH);
        let batch: String = (id..last).map(|id| era.call(id)).collect();
        // One write, so that every run hands the server the same pieces.
        input.write_all(batch.as_bytes())?;
        // In any order: a server may run calls beside each other.
        let mut open: HashSet<u64> = (id..last).collect();
        while !open.is_empty() {
            line.clear();
            output.read_line(&mut line)?;
            if !answered(&line).is_some_and(|id| open.remove(&id)) {
                return Err(Error::other(format!("no call is answered by {line:?}")));
            }
        }
        id = last;
    }
    drop(input);
    if server.wait()?.success() {
        Ok(())
    } else {
        Err(Error::other("the server failed"))
    }
}
