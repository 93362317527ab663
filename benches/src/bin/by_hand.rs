//! Runs one of the handwritten servers that the framework's server is compared with.
//!
//! Usage: `by_hand (loop|tasks|http) [--tools N]`
//!
//! - `loop` is a blocking loop over standard input and output.
//! - `tasks` also uses standard input and output. It runs each request as a boxed handler in a separate task, and
//!   another task writes all answers that are available.
//! - `http` is a bare HTTP service. It writes its address to the first line of standard output, and stops at the end of
//!   its standard input.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{BufRead as _, Read as _, Write as _};
use std::pin::Pin;
use std::sync::Arc;

use benches::{by_hand, client};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let tools = arguments.nth(1).map_or(Ok(7), |tools| tools.parse())?;
    let page = client::page(tools);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match &*kind {
        "loop" => blocking_loop(&page),
        "tasks" => runtime.block_on(tasks(page)),
        "http" => runtime.block_on(http(page.into())),
        _ => Err("usage: by_hand (loop|tasks|http) [--tools N]".into()),
    }
}

/// Answers each request, and writes the answers when no complete line is left in the input buffer.
fn blocking_loop(page: &str) -> Result<()> {
    let mut input = std::io::BufReader::with_capacity(64 << 10, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(request) = by_hand::read(&line) {
            request.answer(page, &mut out);
            out.push(b'\n');
        }
        line.clear();
        if !input.buffer().contains(&b'\n') {
            // All answers are written at once, because the line buffer of standard output searches each write for line
            // ends.
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
    Ok(())
}

/// Runs every call in a separate task, while another task writes all answers that are available.
async fn tasks(page: String) -> Result<()> {
    let options = pipe::OpenOptions::new();
    let mut input = BufReader::with_capacity(64 << 10, options.open_receiver("/proc/self/fd/0")?);
    let mut output = options.open_sender("/proc/self/fd/1")?;
    let (sender, mut answers) = mpsc::channel::<Vec<u8>>(1024);
    let writer = tokio::spawn(async move {
        let mut waiting = Vec::new();
        let mut out = Vec::new();
        while answers.recv_many(&mut waiting, 1024).await > 0 {
            for answer in waiting.drain(..) {
                out.extend_from_slice(&answer);
            }
            if output.write_all(&out).await.is_err() {
                return;
            }
            out.clear();
        }
    });
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).await? > 0 {
        if let Some(request) = by_hand::read(&line) {
            let mut out = Vec::new();
            match request.handler() {
                None => {
                    request.answer(&page, &mut out);
                    out.push(b'\n');
                    sender.send(out).await?;
                }
                Some((id, is_modern, handler)) => {
                    let sender = sender.clone();
                    tokio::spawn(async move {
                        let text = handler.await;
                        by_hand::write_text(&id, is_modern, &text, &mut out);
                        out.push(b'\n');
                        // Errors are ignored because the receiver is dropped only when the program exits.
                        let _ = sender.send(out).await;
                    });
                }
            }
        }
        line.clear();
    }
    drop(sender);
    writer.await?;
    Ok(())
}

/// Answers every POST request in the task of its connection.
async fn http(page: Arc<str>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    let (ended, mut ends) = mpsc::channel::<()>(1);
    std::thread::spawn(move || {
        let read = std::io::stdin().read_to_end(&mut Vec::new());
        drop(ended);
        read
    });
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            _ = ends.recv() => return Ok(()),
        };
        stream.set_nodelay(true)?;
        let page = Arc::clone(&page);
        tokio::spawn(async move {
            let service = service_fn(move |request| post(request, Arc::clone(&page)));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // Errors are ignored because they mean that the client has closed the connection.
            let _ = connection.await;
        });
    }
}

async fn post(
    request: Request<Incoming>,
    page: Arc<str>,
) -> std::result::Result<Response<String>, Infallible> {
    let mut incoming = request.into_body();
    let mut body = Vec::new();
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        if let Some(data) = frame.data_ref() {
            body.extend_from_slice(data);
        }
    }
    let Some(request) = by_hand::read(&body) else {
        let mut response = Response::new(String::new());
        *response.status_mut() = hyper::StatusCode::ACCEPTED;
        return Ok(response);
    };
    let mut out = Vec::new();
    match request.handler() {
        Some((id, is_modern, handler)) => {
            let text = handler.await;
            by_hand::write_text(&id, is_modern, &text, &mut out);
        }
        None => request.answer(&page, &mut out),
    }
    let mut response = Response::new(String::from_utf8(out).unwrap_or_default());
    let headers = response.headers_mut();
    headers.insert(
        "content-type",
        hyper::header::HeaderValue::from_static("application/json"),
    );
    headers.insert(
        "mcp-session-id",
        hyper::header::HeaderValue::from_static("one"),
    );
    Ok(response)
}
