//! The instance of a server that `benches/redis-cost` measures, and two of its clients.
//!
//! | Usage | Does |
//! |---|---|
//! | `shared http` | serves over HTTP, with its data in the Redis of the variable `REDIS_URL`, or else in memory. Writes its address to the first line of standard output, and stops at the end of its standard input |
//! | `shared sessions NUMBER ADDRESS` | opens sessions and keeps none of the connections |
//! | `shared listeners NUMBER ROUNDS ADDRESS…` | opens NUMBER `subscriptions/listen` streams at each instance, has the first instance announce a change, and prints for each round the milliseconds until the last listener has its notification |

mod clients;

use std::io::{Error, Write as _};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime_redis::RedisOptions;

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Adds two integers, at most once for each call.
#[tool]
async fn add_once(ctx: &Context, a: i64, b: i64) -> Result<i64> {
    ctx.once("sum", async || Ok(a.wrapping_add(b))).await
}

/// Adds two integers, if the rate permits.
#[tool(rate = "1000000/s")]
async fn add_rated(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Adds two integers. Its calls can be tasks.
#[tool(task)]
async fn add_task(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Adds two integers in a step. Its calls can be tasks.
#[tool(task)]
async fn add_task_once(ctx: &Context, a: i64, b: i64) -> Result<i64> {
    ctx.once("sum", async || Ok(a.wrapping_add(b))).await
}

/// Asks for a name.
#[tool]
async fn ask(ctx: &Context) -> Result<String> {
    #[derive(Elicit)]
    struct Named {
        /// Your name
        name: String,
    }
    let named: Named = ctx.elicit("What is your name?").await?;
    Ok(named.name)
}

/// Reports progress once.
#[tool]
async fn report(ctx: &Context) -> bool {
    ctx.progress(1);
    true
}

/// Says that the list of tools has changed.
#[tool]
fn announce(ctx: &Context) -> bool {
    ctx.server().notify().tools_changed();
    true
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match &arguments[..] {
        ["http"] => serve(),
        ["sessions", number, address] => clients::open_sessions(parse(number)?, address),
        ["listeners", number, rounds, addresses @ ..] => {
            clients::listen(parse(number)?, parse(rounds)?, addresses)
        }
        _ => Err(Error::other("see the beginning of the program")),
    }
}

fn parse(number: &str) -> Result<u32, Error> {
    number.parse().map_err(Error::other)
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let limits = Limits::default().with(|limits| {
        limits.sessions.max_sessions = 1_000_000;
        limits.http.max_connections = 1_000_000;
        limits.streams.max_open = 1_000_000;
        limits.tasks.max_tasks = 1_000_000;
        limits.tasks.max_per_caller = 1_000_000;
        limits.tasks.max_bytes = usize::MAX >> 1;
        limits.tasks.max_bytes_per_caller = usize::MAX >> 1;
        limits.sessions.start_timeout = Duration::from_hours(1);
        limits.sessions.idle_timeout = Duration::from_hours(1);
    });
    let mut server = new_server!().limits(limits.clone());
    if std::env::var_os("REDIS_URL").is_some() {
        let redis = RedisOptions::new().limits(limits).connect_from_env().await;
        server = server.backend(redis.map_err(Error::other)?);
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    let handle = server.handle();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        handle.shut_down();
    });
    server
        .serve_http_listener(listener)
        .await
        .map_err(Error::other)
}
