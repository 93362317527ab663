//! A client that repeats a request, checks every answer, and reports the cost.
//!
//! `load [OPTION VALUE]… PROGRAM [ARGUMENT…]` starts a server program and sends requests to it. It follows a
//! paginated list to its end, and fails if an answer is wrong or the program fails. It prints a line with the number of
//! requests, the elapsed time and the program's processor time in seconds, and its maximum resident memory in KiB.
//!
//! | Option | Meaning | Default |
//! |---|---|---|
//! | `--era` | `legacy` or `modern` | `legacy` |
//! | `--ask` | the name of a tool that adds two integers, `task:` and such a name to call it as a task, `echo`, `rows`, `urgent`, `page`, `picture`, `tools/list`, or `skills/list` | `add` |
//! | `--bytes` | length of the text to echo | 64 |
//! | `--text` | the text to echo: `plain` or `ordinary` | `plain` |
//! | `--orders` | number of nested objects for `urgent` | 200 |
//! | `--requests` | total number of requests | 10000 |
//! | `--depth` | number of requests in flight over standard input and output | 64 |
//! | `--connections` | number of HTTP connections, each with one request in flight | none: standard input and output |

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Error, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::client::{self, Era, Question};
use benches::data;
use benches::process::{memory, processor_time};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

struct Options {
    era: Era,
    question: Question,
    requests: u64,
    depth: u64,
    connections: u64,
}

fn main() -> Result<(), Error> {
    let (options, mut command) = read_arguments()
        .ok_or_else(|| Error::other("usage: load [OPTION VALUE]… PROGRAM [ARGUMENT…]"))?;
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(Error::other("the server has no pipes"));
    };
    let output = BufReader::with_capacity(1 << 20, output);
    let used = if options.connections == 0 {
        let used = over_stdio(&options, &server, &input, output)?;
        drop(input);
        used
    } else {
        over_http(options, &server, input, output)?
    };
    stop(&mut server)?;
    writeln!(std::io::stdout(), "{used}")
}

/// Waits for a server to end once its input has ended. If the server keeps running, a signal asks it to stop.
fn stop(server: &mut Child) -> Result<(), Error> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        if let Some(status) = server.try_wait()? {
            let failed = || Error::other("the server failed");
            return status.success().then_some(()).ok_or_else(failed);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Command::new("kill").arg(server.id().to_string()).status()?;
    server.wait().map(|_| ())
}

fn read_arguments() -> Option<(Options, Command)> {
    let mut options = Options {
        era: Era::Legacy,
        question: Question::Add("add".into()),
        requests: 10_000,
        depth: 64,
        connections: 0,
    };
    let (mut bytes, mut is_ordinary, mut orders) = (64, false, 200);
    let mut arguments = std::env::args().skip(1);
    let program = loop {
        let option = arguments.next()?;
        if !option.starts_with("--") {
            break option;
        }
        let value = arguments.next()?;
        match &*option {
            "--era" => options.era = Era::named(&value)?,
            "--ask" if value == "tools/list" => options.question = Question::List,
            "--ask" if value == "skills/list" => options.question = Question::Skills,
            "--ask" if value == "echo" => options.question = Question::Echo(String::new()),
            "--ask" if value.starts_with("task:") => {
                options.question = Question::Task(value["task:".len()..].to_owned());
            }
            "--ask" if value == "rows" => options.question = Question::Rows,
            "--ask" if value == "urgent" => options.question = Question::Urgent(String::new()),
            "--ask" if value == "page" => {
                options.question = Question::Read("bench://page", "\"text\":\"The quick");
            }
            "--ask" if value == "picture" => {
                options.question = Question::Read("bench://picture", "\"blob\":\"AAEC");
            }
            "--ask" => options.question = Question::Add(value),
            "--text" => is_ordinary = value == "ordinary",
            "--orders" => orders = value.parse().ok()?,
            "--bytes" => bytes = value.parse().ok()?,
            "--requests" => options.requests = value.parse().ok()?,
            "--depth" => options.depth = value.parse().ok()?,
            "--connections" => options.connections = value.parse().ok()?,
            _ => return None,
        }
    };
    match &mut options.question {
        Question::Echo(text) => *text = client::text(bytes, is_ordinary),
        Question::Urgent(json) => *json = data::orders(orders),
        _ => {}
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Some((options, command))
}

/// Returns the cost of the requests as a line to print.
fn used(
    options: &Options,
    server: &Child,
    begun: Instant,
    before: Duration,
) -> Result<String, Error> {
    let seconds = begun.elapsed().as_secs_f64();
    let processor = processor_time(server.id())?.saturating_sub(before);
    let peak = memory(server.id(), "VmHWM")?;
    let requests = options.requests;
    Ok(format!(
        "{requests} {seconds:.6} {:.6} {peak}",
        processor.as_secs_f64()
    ))
}

fn over_stdio(
    options: &Options,
    server: &Child,
    input: &ChildStdin,
    mut output: BufReader<ChildStdout>,
) -> Result<String, Error> {
    let Options {
        era,
        question,
        requests,
        depth,
        ..
    } = options;
    let mut line = String::new();
    for message in era.greeting() {
        writeln!(&*input, "{message}")?;
    }
    if !era.greeting().is_empty() {
        output.read_line(&mut line)?;
    }
    let (begun, before) = (Instant::now(), processor_time(server.id())?);
    let mut id = 0;
    let mut batch = String::new();
    while id < *requests {
        let last = (*requests).min(id + depth);
        batch.clear();
        for id in id..last {
            batch.push_str(&question.request(*era, id));
            batch.push('\n');
        }
        // Answers are accepted in any order, because a server may run calls concurrently.
        let mut open: HashSet<u64> = (id..last).collect();
        std::thread::scope(|scope| {
            // All requests are written at once, so that the server reads them in the same pieces in every run. A server
            // that handles one request at a time does not read while its answers are not read.
            let written = scope.spawn(|| (&*input).write_all(batch.as_bytes()));
            while !open.is_empty() {
                line.clear();
                output.read_line(&mut line)?;
                let Some(id) = question.answered(&line).filter(|id| open.contains(id)) else {
                    return Err(wrong(&line));
                };
                match question.next_page(*era, id, &line) {
                    Some(next) => writeln!(&*input, "{next}")?,
                    None => {
                        open.remove(&id);
                    }
                }
            }
            written
                .join()
                .map_err(|_| Error::other("the writer panicked"))?
        })?;
        id = last;
    }
    used(options, server, begun, before)
}

fn over_http(
    options: Options,
    server: &Child,
    input: ChildStdin,
    mut output: BufReader<ChildStdout>,
) -> Result<String, Error> {
    let mut address = String::new();
    output.read_line(&mut address)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let options = Arc::new(options);
    let each = options.requests / options.connections;
    let used = runtime.block_on(async {
        let mut connections = Vec::new();
        for _ in 0..options.connections {
            connections.push(Connection::open(address.trim(), options.era).await?);
        }
        let (begun, before) = (Instant::now(), processor_time(server.id())?);
        let tasks: Vec<_> = connections
            .into_iter()
            .map(|connection| tokio::spawn(connection.ask(Arc::clone(&options), each)))
            .collect();
        for task in tasks {
            task.await??;
        }
        used(&options, server, begun, before)
    });
    drop(input);
    used
}

/// A client's connection, with the handshake completed if the era requires one.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    session: Option<String>,
}

impl Connection {
    async fn open(address: &str, era: Era) -> Result<Self, Error> {
        let mut attempts = 0;
        let stream = loop {
            match TcpStream::connect(address).await {
                Ok(stream) => break stream,
                // Some servers listen only after they have written their address.
                Err(_) if attempts < 1000 => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => return Err(error),
            }
            attempts += 1;
        };
        stream.set_nodelay(true)?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(Error::other)?;
        tokio::spawn(connection);
        let mut connection = Self {
            sender,
            address: address.to_owned(),
            session: None,
        };
        for message in era.greeting() {
            connection.post(era, ("", None), message).await?;
        }
        Ok(connection)
    }

    async fn ask(mut self, options: Arc<Options>, requests: u64) -> Result<(), Error> {
        let Options { era, question, .. } = &*options;
        for id in 0..requests {
            let mut request = question.request(*era, id);
            loop {
                let answer = self.post(*era, question.target(), &request).await?;
                if question.answered(&answer) != Some(id) {
                    return Err(wrong(&answer));
                }
                match question.next_page(*era, id, &answer) {
                    Some(next) => request = next,
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Posts a message and returns the message that answers it: the body, or the last event of a stream.
    async fn post(
        &mut self,
        era: Era,
        (method, name): (&str, Option<&str>),
        body: &str,
    ) -> Result<String, Error> {
        let mut request = Request::post("/mcp")
            .header(HOST, &self.address)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(USER_AGENT, "bench/1")
            .header("mcp-protocol-version", era.revision());
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        if era == Era::Modern {
            request = request.header("mcp-method", method);
            if let Some(name) = name {
                request = request.header("mcp-name", name);
            }
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let request = request.body(body).map_err(Error::other)?;
        let response = self.sender.send_request(request).await;
        let (head, body) = response.map_err(Error::other)?.into_parts();
        let body = body.collect().await.map_err(Error::other)?.to_bytes();
        let body = String::from_utf8(body.into()).map_err(Error::other)?;
        if !head.status.is_success() {
            return Err(Error::other(format!("{}: {body}", head.status)));
        }
        if let Some(session) = head.headers.get("mcp-session-id") {
            self.session = session.to_str().ok().map(str::to_owned);
        }
        let kind = head.headers.get(CONTENT_TYPE);
        if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            let mut events = body.lines().rev();
            let last = events.find_map(|line| line.strip_prefix("data:"));
            return Ok(last.unwrap_or_default().trim().to_owned());
        }
        Ok(body)
    }
}

/// Returns the error that reports a wrong answer.
fn wrong(answer: &str) -> Error {
    let answer = answer.get(..200).unwrap_or(answer);
    Error::other(format!("no request is answered by {answer:?}"))
}
