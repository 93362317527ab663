//! Sends well-behaved and badly behaved traffic to a server for a long time, and checks that the server keeps answering
//! correctly without using more memory.
//!
//! Usage: `soak [SECONDS]`; the default is 600. The server is a separate process of this program, which serves standard
//! input and output and HTTP at the same time with two threads. Clients of both eras call tools that answer, fail,
//! panic, report progress or are slow. The clients cancel calls, close connections early, resume streams and abandon
//! sessions; some send nonsense. Every answer is checked.
//!
//! Fails if an answer is wrong, missing or duplicated, or if the server's memory at the end is more than 10 % above its
//! memory after one minute. Resident memory is read from `/proc`, so this requires Linux.

mod calls;
mod http;
mod server;
mod stdio;

use std::io::{Error, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// The time of the first memory measurement. By then, the server has allocated all memory that it needs only once.
const WARM: Duration = Duration::from_mins(1);

/// Counts the events that the clients have observed.
#[derive(Default)]
struct Tally {
    answered: AtomicU64,
    cancelled: AtomicU64,
    hung_up: AtomicU64,
    resumed: AtomicU64,
    notifications: AtomicU64,
    nonsense: AtomicU64,
    /// `true` once the time is up.
    is_over: AtomicBool,
}

impl Tally {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => server::serve(),
        Some(seconds) => soak(Duration::from_secs(seconds.parse().map_err(Error::other)?)),
        None => soak(Duration::from_mins(10)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn soak(time: Duration) -> Result<(), Error> {
    let mut server = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let process = server.id().ok_or_else(|| Error::other("it ended"))?;
    let (Some(input), Some(output), Some(errors)) = (
        server.stdin.take(),
        server.stdout.take(),
        server.stderr.take(),
    ) else {
        return Err(Error::other("the server has no pipes"));
    };
    let mut errors = BufReader::new(errors).lines();
    let address = errors.next_line().await?;
    let address: Arc<str> = address.ok_or_else(|| Error::other("no address"))?.into();
    // The log is read and discarded, so that the server never blocks while writing to it.
    let logs = tokio::spawn(async move { while let Ok(Some(_)) = errors.next_line().await {} });
    let tally = Arc::new(Tally::default());
    let mut clients = tokio::task::JoinSet::new();
    clients.spawn(stdio::talk(input, output, Arc::clone(&tally)));
    for seed in 1..=8 {
        clients.spawn(http::modern(Arc::clone(&address), seed, Arc::clone(&tally)));
        clients.spawn(http::sessions(
            Arc::clone(&address),
            seed,
            Arc::clone(&tally),
        ));
    }
    for seed in 1..=2 {
        clients.spawn(http::listen(Arc::clone(&address), seed, Arc::clone(&tally)));
        clients.spawn(http::nonsense(
            Arc::clone(&address),
            seed,
            Arc::clone(&tally),
        ));
    }
    let begun = Instant::now();
    let mut warm = None;
    let mut pause = tokio::time::interval(Duration::from_secs(10));
    pause.tick().await;
    while begun.elapsed() < time {
        tokio::select! {
            _ = pause.tick() => {}
            Some(ended) = clients.join_next() => {
                ended??;
                return Err(Error::other("a client ended before its time"));
            }
        }
        let now = resident(process)?;
        if begun.elapsed() >= WARM {
            warm.get_or_insert(now);
        }
        report(begun.elapsed(), now, &tally)?;
    }
    tally.is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    let now = resident(process)?;
    report(begun.elapsed(), now, &tally)?;
    logs.abort();
    let warm = warm.unwrap_or(now);
    let verdict = format!("{warm} KiB after a minute, {now} KiB in the end");
    if now > warm + warm / 10 {
        return Err(Error::other(format!("memory grew: {verdict}")));
    }
    writeln!(
        std::io::stdout(),
        "{verdict}; every answer came, once, and was right"
    )
}

fn report(after: Duration, kib: u64, tally: &Tally) -> Result<(), Error> {
    let seen = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    writeln!(
        std::io::stdout(),
        "{:>4} s  {kib} KiB  {} answers, {} cancelled, {} hung up, {} resumed, {} notifications, {} times nonsense",
        after.as_secs(),
        seen(&tally.answered),
        seen(&tally.cancelled),
        seen(&tally.hung_up),
        seen(&tally.resumed),
        seen(&tally.notifications),
        seen(&tally.nonsense),
    )
}

/// Returns the resident memory of a process in KiB.
fn resident(process: u32) -> Result<u64, Error> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib = kib.ok_or_else(|| Error::other("no VmRSS"))?;
    kib.trim().parse().map_err(Error::other)
}
