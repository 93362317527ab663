//! A client that repeats a request, checks every answer, and reports the cost.
//!
//! `load [OPTION VALUE]… PROGRAM [ARGUMENT…]` starts a server program and sends requests to it. It fails if an answer is
//! wrong or the program fails. It prints a line with the number of requests, the elapsed time in seconds, the processor
//! time that the program used in seconds, and the program's maximum resident memory in KiB.
//!
//! | Option | Meaning | Default |
//! |---|---|---|
//! | `--era` | `legacy` or `modern` | `legacy` |
//! | `--ask` | the name of a tool that adds two integers, `echo`, `rows`, `urgent`, `page`, `picture`, `tools/list`, or `skills/list` | `add` |
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
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
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
        over_stdio(&options, &server, input, output)?
    } else {
        over_http(options, &server, input, output)?
    };
    if !server.wait()?.success() {
        return Err(Error::other("the server failed"));
    }
    writeln!(std::io::stdout(), "{used}")
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
    mut input: ChildStdin,
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
        writeln!(input, "{message}")?;
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
            // A single write, so that the server reads the requests in the same pieces in every run. A server that
            // handles one request at a time does not read while its answers are not read.
            let written = scope.spawn(|| input.write_all(batch.as_bytes()));
            while !open.is_empty() {
                line.clear();
                output.read_line(&mut line)?;
                if !question.answered(&line).is_some_and(|id| open.remove(&id)) {
                    let answer = line.get(..200).unwrap_or(&line);
                    return Err(Error::other(format!(
                        "no request is answered by {answer:?}"
                    )));
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
    stream: tokio::io::BufReader<TcpStream>,
    address: String,
    session: Option<String>,
}

impl Connection {
    async fn open(address: &str, era: Era) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut connection = Self {
            stream: tokio::io::BufReader::with_capacity(64 << 10, stream),
            address: address.to_owned(),
            session: None,
        };
        for message in era.greeting() {
            connection
                .post(era, ("", None), message, &mut Vec::new())
                .await?;
        }
        Ok(connection)
    }

    async fn ask(mut self, options: Arc<Options>, requests: u64) -> Result<(), Error> {
        let Options { era, question, .. } = &*options;
        let mut answer = Vec::new();
        for id in 0..requests {
            let request = question.request(*era, id);
            self.post(*era, question.target(), &request, &mut answer)
                .await?;
            let answer = std::str::from_utf8(&answer).map_err(Error::other)?;
            if question.answered(answer) != Some(id) {
                return Err(Error::other(format!("the answer is {answer:?}")));
            }
        }
        Ok(())
    }

    async fn post(
        &mut self,
        era: Era,
        (method, name): (&str, Option<&str>),
        body: &str,
        answer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nuser-agent: bench/1\r\n\
             mcp-protocol-version: {}\r\ncontent-length: {}\r\n",
            self.address,
            era.revision(),
            body.len()
        );
        let name = name.filter(|_| era == Era::Modern);
        let method = (era == Era::Modern).then_some(method);
        for (field, value) in [
            ("mcp-session-id", self.session.as_deref()),
            ("mcp-method", method),
            ("mcp-name", name),
        ] {
            for part in value
                .map(|value| [field, ": ", value, "\r\n"])
                .into_iter()
                .flatten()
            {
                request.push_str(part);
            }
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).await?;
            let Some((field, value)) = line.split_once(':') else {
                if line.starts_with("HTTP/1.1 20") {
                    continue;
                }
                if line == "\r\n" {
                    break;
                }
                return Err(Error::other(format!("the server says {line:?}")));
            };
            if field.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(Error::other)?;
            } else if field.eq_ignore_ascii_case("mcp-session-id") {
                self.session = Some(value.trim().to_owned());
            }
        }
        answer.resize(length, 0);
        self.stream.read_exact(answer).await?;
        Ok(())
    }
}
