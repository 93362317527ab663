//! A client over HTTP that waits for every answer, and a server of its own to talk to.

use std::io::{BufRead as _, BufReader, Error, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Starts this program again as a server, with these arguments, and stops it when `run` is done with its address and its
/// process. The server's first line of standard error is its address.
///
/// # Errors
///
/// Those of `run`, or if the server cannot be started.
pub fn with_server(
    arguments: &[&str],
    run: impl FnOnce(&str, u32) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut server = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let output = server.stderr.take();
    let output = output.ok_or_else(|| Error::other("no standard error"))?;
    BufReader::new(output).read_line(&mut address)?;
    let measured = run(address.trim(), server.id());
    server.kill()?;
    server.wait()?;
    measured
}

/// A connection of a client.
#[derive(Debug)]
pub struct Connection(BufReader<TcpStream>);

/// The response of a server.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The session it begins.
    pub session: Option<String>,
    /// The body, if its length is said.
    pub body: String,
    length: usize,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    ///
    /// If no server listens at the address.
    pub fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A client needs little for a head.
        Ok(Self(BufReader::with_capacity(1 << 10, stream)))
    }

    /// Posts a message with these further fields; gives the answer.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub fn post(&mut self, fields: &[(&str, &str)], message: &str) -> Result<Answer, Error> {
        self.send("POST", fields, message)?;
        let mut answer = self.head()?;
        let mut body = vec![0; answer.length];
        self.0.read_exact(&mut body)?;
        answer.body = String::from_utf8(body).map_err(Error::other)?;
        Ok(answer)
    }

    /// Sends a request with these further fields.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub fn send(&mut self, verb: &str, fields: &[(&str, &str)], body: &str) -> Result<(), Error> {
        let fields = fields
            .iter()
            .map(|(name, value)| [name, ": ", value, "\r\n"].concat());
        let request = format!(
            "{verb} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{body}",
            body.len(),
            fields.collect::<String>(),
        );
        self.0.get_mut().write_all(request.as_bytes())
    }

    /// Reads the head of an answer.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub fn head(&mut self) -> Result<Answer, Error> {
        let mut answer = Answer::default();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                return Ok(answer);
            }
            match line.split_once(": ") {
                Some(("mcp-session-id", id)) => answer.session = Some(id.to_owned()),
                Some(("content-length", length)) => {
                    answer.length = length.parse().map_err(Error::other)?;
                }
                Some(_) => {}
                None => {
                    let status = line.split(' ').nth(1);
                    answer.status = status.and_then(|status| status.parse().ok()).unwrap_or(0);
                }
            }
        }
    }

    /// Waits for the next event of a stream; gives its data.
    ///
    /// # Errors
    ///
    /// If the stream ends.
    pub fn event(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(Error::other("the stream has ended"));
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Ok(data.trim_end().to_owned());
            }
        }
    }
}
