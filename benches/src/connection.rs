//! A blocking HTTP client, and a server process for it to connect to.

use std::io::{BufRead as _, BufReader, Error, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Starts this program again as a server with the given arguments, passes the server's address and process id to `run`,
/// and stops the server when `run` returns. The server must write its address to the first line of standard error.
///
/// # Errors
///
/// Returns the error from `run`, or an error if the server cannot be started or stopped.
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

/// A client's connection to a server.
#[derive(Debug)]
pub struct Connection(BufReader<TcpStream>);

/// A server's response.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The id of the session that the response starts, if any.
    pub session: Option<String>,
    /// The body; empty if the response does not specify its length.
    pub body: String,
    length: usize,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    ///
    /// Fails if no server is listening at the address.
    pub fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A small buffer is sufficient, because the headers of a response are short.
        Ok(Self(BufReader::with_capacity(1 << 10, stream)))
    }

    /// Posts a message with additional headers and returns the response.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost or the response is invalid.
    pub fn post(&mut self, fields: &[(&str, &str)], message: &str) -> Result<Answer, Error> {
        self.send("POST", fields, message)?;
        let mut answer = self.head()?;
        let mut body = vec![0; answer.length];
        self.0.read_exact(&mut body)?;
        answer.body = String::from_utf8(body).map_err(Error::other)?;
        Ok(answer)
    }

    /// Sends a request with additional headers.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost.
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

    /// Reads the status and the headers of a response.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost or the headers are invalid.
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

    /// Waits for the next event in an event stream and returns its data.
    ///
    /// # Errors
    ///
    /// Fails if the stream ends.
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
