//! Clients that use HTTP.

use std::io::Error;
use std::sync::Arc;
use std::time::Duration;

use benches::client::Era;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::calls::{Call, Dice, meta};
use super::{Tally, server};

/// Maximum time to wait for an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection. Dropping it closes the connection.
struct Connection {
    send: SendRequest<String>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    async fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        let (send, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(Error::other)?;
        let driver = tokio::spawn(async move {
            // Errors are ignored because the task that waits for a response is notified of them as well.
            let _ = connection.await;
        });
        Ok(Self { send, driver })
    }

    async fn send(&mut self, request: Request<String>) -> Result<Response<Incoming>, Error> {
        let sent = timeout(PATIENCE, self.send.send_request(request)).await;
        sent.map_err(|_| Error::other("no response"))?
            .map_err(Error::other)
    }

    /// Makes a call and checks the answer.
    async fn call(&mut self, call: Call, id: u64, client: &Client) -> Result<(), Error> {
        let response = self.send(client.post(call, id)).await?;
        call.check(id, &Messages::of(response).last().await?)
    }
}

/// The description of the client in each request.
struct Client {
    era: Era,
    session: Option<String>,
}

impl Client {
    fn request(&self, verb: &str, message: Option<&Value>) -> hyper::http::request::Builder {
        let mut request = Request::builder()
            .method(verb)
            .uri("/mcp")
            .header("Host", "localhost")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", self.era.revision());
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        if let (Era::Modern, Some(message)) = (self.era, message) {
            request = request.header("Mcp-Method", message["method"].as_str().unwrap_or_default());
            if let Some(name) = message["params"]["name"].as_str() {
                request = request.header("Mcp-Name", name);
            }
        }
        request
    }

    fn message(&self, message: &Value) -> Request<String> {
        let request = self.request("POST", Some(message));
        request.body(message.to_string()).unwrap_or_default()
    }

    fn post(&self, call: Call, id: u64) -> Request<String> {
        self.message(&call.request(self.era, id))
    }
}

/// The messages in a response, read as they arrive.
struct Messages {
    response: Response<Incoming>,
    is_events: bool,
    unread: Vec<u8>,
    /// The id of the last event, from which the stream can be resumed.
    id: Option<String>,
}

impl Messages {
    fn of(response: Response<Incoming>) -> Self {
        let kind = response.headers().get("content-type");
        Self {
            is_events: kind.is_some_and(|kind| kind == "text/event-stream"),
            response,
            unread: Vec::new(),
            id: None,
        }
    }

    async fn more(&mut self) -> Result<bool, Error> {
        let body = self.response.body_mut();
        let mut body = std::pin::Pin::new(body);
        let next = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx));
        let next = timeout(PATIENCE, next).await;
        match next.map_err(|_| Error::other("the rest does not come"))? {
            None => Ok(false),
            Some(frame) => {
                let frame = frame.map_err(Error::other)?;
                self.unread.extend(frame.into_data().unwrap_or_default());
                Ok(true)
            }
        }
    }

    async fn next(&mut self) -> Result<Option<Value>, Error> {
        if !self.is_events {
            while self.more().await? {}
            let whole = std::mem::take(&mut self.unread);
            return Ok((!whole.is_empty())
                .then(|| serde_json::from_slice(&whole))
                .transpose()?);
        }
        loop {
            let end = self.unread.windows(2).position(|two| two == b"\n\n");
            let Some(end) = end else {
                if self.more().await? {
                    continue;
                }
                return Ok(None);
            };
            let event: Vec<u8> = self.unread.drain(..end + 2).collect();
            let event = String::from_utf8(event).map_err(Error::other)?;
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            if let Some(id) = field("id: ") {
                self.id = Some(id.to_owned());
            }
            match field("data: ") {
                None | Some("") => {}
                Some(data) => return Ok(Some(serde_json::from_str(data)?)),
            }
        }
    }

    /// Returns the answer, which is the last message.
    async fn last(mut self) -> Result<Value, Error> {
        let mut last = None;
        while let Some(message) = self.next().await? {
            last = Some(message);
        }
        last.ok_or_else(|| Error::other(format!("no answer: {}", self.response.status())))
    }
}

/// Makes calls without a session and occasionally hangs up.
pub(crate) async fn modern(address: Arc<str>, seed: u64, tally: Arc<Tally>) -> Result<(), Error> {
    let client = Client {
        era: Era::Modern,
        session: None,
    };
    let mut dice = Dice::new(seed);
    let mut connection = Connection::open(&address).await?;
    let mut id = 0;
    while !tally.is_over() {
        id += 1;
        let call = Call::any(&mut dice);
        if call == Call::Slow && dice.throw(4) == 0 {
            let sending = connection.send(client.post(call, id));
            let _ = timeout(Duration::from_millis(dice.throw(5)), sending).await;
            connection = Connection::open(&address).await?;
            Tally::count(&tally.hung_up);
            continue;
        }
        connection.call(call, id, &client).await?;
        Tally::count(&tally.answered);
    }
    Ok(())
}

/// Opens one session after another, drops connections and resumes their streams, and abandons half of the sessions.
pub(crate) async fn sessions(address: Arc<str>, seed: u64, tally: Arc<Tally>) -> Result<(), Error> {
    let mut dice = Dice::new(seed << 8);
    let mut connection = Connection::open(&address).await?;
    while !tally.is_over() {
        let mut client = Client {
            era: Era::Legacy,
            session: None,
        };
        let hello: Value = serde_json::from_str(Era::Legacy.greeting()[0])?;
        let response = connection.send(client.message(&hello)).await?;
        let session = response.headers().get("mcp-session-id");
        let session = session
            .and_then(|session| session.to_str().ok())
            .map(str::to_owned);
        client.session = Some(session.ok_or_else(|| Error::other("no session"))?);
        Messages::of(response).last().await?;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = connection.send(client.message(&ready)).await?;
        Messages::of(response).next().await?;
        for id in 0..dice.throw(200) {
            let call = Call::any(&mut dice);
            if call == Call::Reports && dice.throw(2) == 0 {
                let answer = come_back(&address, &mut connection, &client, id).await?;
                call.check(id, &answer)?;
                Tally::count(&tally.resumed);
            } else {
                connection.call(call, id, &client).await?;
            }
            Tally::count(&tally.answered);
        }
        if dice.throw(2) == 0 {
            let delete = client.request("DELETE", None).body(String::new());
            let response = connection.send(delete.map_err(Error::other)?).await?;
            Messages::of(response).next().await?;
        }
    }
    Ok(())
}

/// Hangs up after the first event of a call and reads the remaining events over another connection.
async fn come_back(
    address: &str,
    connection: &mut Connection,
    client: &Client,
    id: u64,
) -> Result<Value, Error> {
    let response = connection.send(client.post(Call::Reports, id)).await?;
    let mut messages = Messages::of(response);
    let first = messages.next().await?;
    let last = messages.id.take();
    let last = last.ok_or_else(|| Error::other(format!("nowhere to go on: {first:?}")))?;
    drop(messages);
    *connection = Connection::open(address).await?;
    let get = client.request("GET", None).header("Last-Event-ID", last);
    let get = get.body(String::new()).map_err(Error::other)?;
    Messages::of(connection.send(get).await?).last().await
}

/// Repeatedly listens for changes for a while.
pub(crate) async fn listen(address: Arc<str>, seed: u64, tally: Arc<Tally>) -> Result<(), Error> {
    let client = Client {
        era: Era::Modern,
        session: None,
    };
    let mut dice = Dice::new(seed << 16);
    while !tally.is_over() {
        let mut connection = Connection::open(&address).await?;
        let params = json!({"notifications": {"resourceSubscriptions": [server::WATCHED]}, "_meta": meta(Era::Modern)});
        let method = "subscriptions/listen";
        let listen = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut messages = Messages::of(connection.send(client.message(&listen)).await?);
        for _ in 0..=dice.throw(20) {
            let read = timeout(Duration::from_secs(5), messages.next()).await;
            let Ok(read) = read else { break };
            let read = read?.ok_or_else(|| Error::other("the stream ended"))?;
            if read.get("method").is_none() {
                return Err(Error::other(format!("no notification: {read}")));
            }
            Tally::count(&tally.notifications);
        }
    }
    Ok(())
}

/// Repeatedly sends random bytes, or the start of a request followed by random bytes, and closes the connection.
pub(crate) async fn nonsense(address: Arc<str>, seed: u64, tally: Arc<Tally>) -> Result<(), Error> {
    let mut dice = Dice::new(seed << 24);
    while !tally.is_over() {
        let mut stream = TcpStream::connect(&*address).await?;
        let mut bytes = Vec::new();
        if dice.throw(2) == 0 {
            bytes.extend_from_slice(
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{\"",
            );
        }
        for _ in 0..dice.throw(2_000) {
            bytes.push(u8::try_from(dice.throw(256)).unwrap_or(0));
        }
        // Errors are ignored because the server may close the connection before all bytes have been sent.
        let _ = stream.write_all(&bytes).await;
        Tally::count(&tally.nonsense);
        tokio::time::sleep(Duration::from_millis(dice.throw(20))).await;
    }
    Ok(())
}
