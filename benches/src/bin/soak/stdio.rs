//! A client that uses both eras at the same time over standard input and output.

use std::collections::{HashMap, HashSet};
use std::io::Error;
use std::sync::Arc;
use std::time::Duration;

use benches::client::Era;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::Tally;
use super::calls::{Call, Dice};

/// The number of requests in flight.
const DEPTH: usize = 32;
/// Maximum time to wait for an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The requests in flight.
#[derive(Default)]
struct Open {
    calls: HashMap<u64, Call>,
    /// The ids of cancelled calls. Each may still be answered, but only once.
    cancelled: HashSet<u64>,
}

pub(crate) async fn talk(
    mut input: ChildStdin,
    output: ChildStdout,
    tally: Arc<Tally>,
) -> Result<(), Error> {
    let mut dice = Dice::new(99);
    let mut output = BufReader::new(output).lines();
    for message in Era::Legacy.greeting() {
        input.write_all(format!("{message}\n").as_bytes()).await?;
    }
    output.next_line().await?;
    let mut open = Open::default();
    let mut id = 0;
    loop {
        let mut lines = String::new();
        while open.calls.len() < DEPTH && !tally.is_over() {
            let era = if dice.throw(2) == 0 {
                Era::Legacy
            } else {
                Era::Modern
            };
            let call = Call::any(&mut dice);
            lines.push_str(&call.request(era, id).to_string());
            lines.push('\n');
            if call == Call::Slow && dice.throw(3) == 0 {
                let params = json!({"requestId": id});
                let method = "notifications/cancelled";
                let cancel = json!({"jsonrpc": "2.0", "method": method, "params": params});
                lines.push_str(&cancel.to_string());
                lines.push('\n');
                open.cancelled.insert(id);
                Tally::count(&tally.cancelled);
            } else {
                open.calls.insert(id, call);
            }
            id += 1;
        }
        input.write_all(lines.as_bytes()).await?;
        if open.calls.is_empty() {
            return Ok(());
        }
        let line = timeout(PATIENCE, output.next_line()).await;
        let line = line.map_err(|_| Error::other(format!("no answer to {:?}", open.calls)))??;
        let line = line.ok_or_else(|| Error::other("the server ended"))?;
        open.take(&serde_json::from_str(&line)?, &tally)?;
    }
}

impl Open {
    fn take(&mut self, message: &Value, tally: &Tally) -> Result<(), Error> {
        if message.get("method").is_some() {
            Tally::count(&tally.notifications);
            return Ok(());
        }
        let id = message["id"].as_u64();
        let id = id.ok_or_else(|| Error::other(format!("an answer to nothing: {message}")))?;
        if self.cancelled.remove(&id) {
            return Ok(());
        }
        let call = self.calls.remove(&id);
        let call = call.ok_or_else(|| Error::other(format!("answered twice: {message}")))?;
        Tally::count(&tally.answered);
        call.check(id, message)
    }
}
