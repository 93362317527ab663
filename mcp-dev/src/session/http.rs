//! Streamable HTTP: a request for each message, responses as JSON or as streams of events, sessions, and streams that
//! are resumed where they broke off.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::events::Events;
use super::{Era, MAX_MESSAGE, Session};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Bytes of a body that is not a message which are shown.
const MAX_SHOWN: usize = 1_000;
/// Times that a broken stream is resumed without any event in between.
const MAX_RESUMED: u32 = 5;

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// An endpoint.
pub(super) struct HttpLink {
    client: HttpClient,
    url: Uri,
    /// The user's own headers.
    headers: Vec<(HeaderName, HeaderValue)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
    exchanges: HashMap<u64, AbortHandle>,
    listening: Option<AbortHandle>,
}

/// The value that the header `Mcp-Name` mirrors.
pub(super) fn name_of(params: &Value) -> Option<String> {
    let name = ["name", "uri", "taskId"]
        .iter()
        .find_map(|member| params[*member].as_str());
    name.map(str::to_owned)
}

/// A value as a header has it: wrapped in Base64 unless it is plain.
fn header_value(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain {
        HeaderValue::from_str(text).ok()
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", BASE64_STANDARD.encode(text))).ok()
    }
}

impl HttpLink {
    pub(super) fn new(url: Uri, headers: Vec<(HeaderName, HeaderValue)>) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = hyper_rustls::HttpsConnectorBuilder::new();
        let builder = if url.scheme_str() == Some("https") {
            let secure = builder.with_provider_and_native_roots(provider);
            secure.map_err(|error| format!("this machine has no usable certificates: {error}"))?
        } else {
            let config =
                ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let config = config.map_err(|error| error.to_string())?;
            builder.with_tls_config(
                config
                    .with_root_certificates(RootCertStore::empty())
                    .with_no_client_auth(),
            )
        };
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(Duration::from_secs(10)));
        http.set_nodelay(true);
        let connector = builder.https_or_http().enable_http1().wrap_connector(http);
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            url,
            headers,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_version(&self, version: Option<&str>) {
        self.state().version = version.and_then(|version| HeaderValue::from_str(version).ok());
    }

    fn request(&self, method: Method, body: String, extra: HeaderMap) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        *headers = extra;
        let state = self.state();
        for (name, value) in [(VERSION, &state.version), (SESSION, &state.session)] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        request
    }

    /// Sends a message in a task of its own, and returns the number of the message. `id`: the request that it is.
    pub(super) fn post(
        &self,
        session: &Arc<Session>,
        message: &Value,
        id: Option<u64>,
        extra: Vec<(String, String)>,
        name: Option<String>,
    ) -> u64 {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        if session.era == Era::Modern {
            let method = message["method"]
                .as_str()
                .and_then(|method| HeaderValue::from_str(method).ok());
            headers.extend(method.map(|method| (HeaderName::from_static("mcp-method"), method)));
            let name = name.as_deref().and_then(header_value);
            headers.extend(name.map(|name| (HeaderName::from_static("mcp-name"), name)));
            for (name, value) in extra {
                let name = name.to_ascii_lowercase();
                if name.starts_with("mcp-param-")
                    && let (Ok(name), Some(value)) =
                        (name.parse::<HeaderName>(), header_value(&value))
                {
                    headers.insert(name, value);
                }
            }
        }
        let text = message.to_string();
        let request = self.request(Method::POST, text.clone(), headers);
        let seq = session.sent(
            &text,
            json!({"headers": shown(request.headers(), &self.headers)}),
        );
        let sending = self.client.request(request);
        let weak = Arc::downgrade(session);
        let task = tokio::spawn(async move {
            let outcome = match sending.await {
                Ok(response) => exchange(&weak, response, id).await,
                Err(error) => Err(explain(&error)),
            };
            let Some(session) = weak.upgrade() else {
                return;
            };
            match (id, outcome) {
                (Some(id), Ok(())) => {
                    session.fail(id, "the response ended without an answer to the request")
                }
                (Some(id), Err(reason)) => session.fail(id, &reason),
                (None, Ok(())) => {}
                (None, Err(reason)) => session.stray("", &reason),
            }
            if let (Some(id), Some(link)) = (id, session.http()) {
                link.state().exchanges.remove(&id);
            }
        });
        if let Some(id) = id
            && !task.is_finished()
        {
            self.state().exchanges.insert(id, task.abort_handle());
        }
        seq
    }

    /// Ends an exchange whose response nobody wants any more.
    pub(super) fn drop_exchange(&self, id: u64) {
        if let Some(exchange) = self.state().exchanges.remove(&id) {
            exchange.abort();
        }
    }

    /// Opens the stream for messages that belong to no request, and keeps it open while the server has one.
    pub(super) fn listen(&self, session: &Arc<Session>) {
        let weak = Arc::downgrade(session);
        let task = tokio::spawn(async move {
            let mut last = None;
            let mut attempts = 0;
            while attempts < MAX_RESUMED {
                match stream(&weak, last.clone(), None).await {
                    Ok(Some(id)) => (last, attempts) = (Some(id), 0),
                    Ok(None) => attempts += 1,
                    Err(_) => return,
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        self.state().listening = Some(task.abort_handle());
    }

    /// Ends the session at the server, and all exchanges.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        for (_, exchange) in state.exchanges.drain() {
            exchange.abort();
        }
        if let Some(listening) = state.listening.take() {
            listening.abort();
        }
        let has_session = state.session.is_some();
        drop(state);
        if has_session {
            let sending =
                self.client
                    .request(self.request(Method::DELETE, String::new(), HeaderMap::new()));
            tokio::spawn(tokio::time::timeout(Duration::from_secs(2), sending));
        }
    }
}

impl Session {
    fn http(&self) -> Option<&HttpLink> {
        match &self.link {
            super::Link::Http(link) => Some(link),
            super::Link::Stdio(_) => None,
        }
    }
}

/// Headers as pages show them: the user's own may be secrets.
fn shown(headers: &HeaderMap, own: &[(HeaderName, HeaderValue)]) -> Value {
    let mut shown = json!({});
    for (name, value) in headers {
        let secret = own.iter().any(|(other, _)| other == name);
        let value = if secret {
            "•••".into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        shown[name.as_str()] = json!(value);
    }
    shown
}

fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// Reads the response to a message.
async fn exchange(
    weak: &Weak<Session>,
    response: Response<Incoming>,
    id: Option<u64>,
) -> Result<(), String> {
    let status = response.status();
    let headers = response.headers();
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if let (Some(session), Some(value)) = (weak.upgrade(), headers.get(SESSION))
        && let Some(link) = session.http()
        && session.era == Era::Legacy
    {
        link.state().session = Some(value.clone());
    }
    let notes = json!({"status": status.as_u16(), "contentType": kind});
    if kind == "text/event-stream" && status.is_success() {
        return follow(weak, response, id, &notes).await;
    }
    let body = collect(response).await?;
    let text = String::from_utf8_lossy(&body);
    if kind == "application/json" && !text.trim().is_empty() {
        let Some(session) = weak.upgrade() else {
            return Ok(());
        };
        // Requests that are refused before they are read are answered without an id.
        match (id, serde_json::from_str::<Value>(&text)) {
            (Some(id), Ok(mut message))
                if message["error"].is_object() && message["id"].is_null() =>
            {
                message["id"] = json!(id);
                session.receive(&message.to_string(), &notes);
            }
            _ => session.receive(&text, &notes),
        }
        if status.is_success() || id.is_none_or(|id| !session.is_waiting(id)) {
            return Ok(());
        }
    }
    if status.is_success() {
        return if id.is_none() || text.trim().is_empty() {
            Ok(())
        } else {
            Err(format!(
                "HTTP {status} with `{kind}` instead of a message: {}",
                cut(&text)
            ))
        };
    }
    let hint = match status.as_u16() {
        401 => {
            ". The server wants credentials: give them with `--header \"Authorization: Bearer …\"`"
        }
        404 | 405 => ". Is this the URL of the MCP endpoint?",
        _ => "",
    };
    let body = if text.trim().is_empty() {
        String::new()
    } else {
        format!(": {}", cut(&text))
    };
    Err(format!("HTTP {status}{body}{hint}"))
}

fn cut(text: &str) -> String {
    text.trim().chars().take(MAX_SHOWN).collect()
}

async fn collect(response: Response<Incoming>) -> Result<Bytes, String> {
    let body = http_body_util::Limited::new(response.into_body(), MAX_MESSAGE)
        .collect()
        .await;
    let body = body.map_err(|error| format!("the body of the response: {}", explain(&*error)))?;
    Ok(body.to_bytes())
}

/// Reads a stream of events, and resumes it if it ends too early and says how.
async fn follow(
    weak: &Weak<Session>,
    response: Response<Incoming>,
    id: Option<u64>,
    notes: &Value,
) -> Result<(), String> {
    let mut last = read_events(weak, response, id, notes).await?;
    let mut attempts = 0;
    while let (Some(id), Some(event)) = (id, last.clone()) {
        let waiting = weak.upgrade().is_some_and(|session| session.is_waiting(id));
        if !waiting || attempts == MAX_RESUMED {
            break;
        }
        attempts += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Some(next) = stream(weak, Some(event), Some(id)).await? {
            (last, attempts) = (Some(next), 0);
        }
    }
    Ok(())
}

/// Opens a stream with GET, and reads it to its end. Returns the id of its last event.
async fn stream(
    weak: &Weak<Session>,
    last: Option<String>,
    id: Option<u64>,
) -> Result<Option<String>, String> {
    let sending = {
        let session = weak.upgrade().ok_or("the connection ended")?;
        let link = session.http().ok_or("not HTTP")?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let last = last.and_then(|last| HeaderValue::from_str(&last).ok());
        headers.extend(last.map(|last| (LAST_EVENT, last)));
        link.client
            .request(link.request(Method::GET, String::new(), headers))
    };
    let response = sending.await.map_err(|error| explain(&error))?;
    if !response.status().is_success() {
        return Err(format!(
            "the stream cannot be opened: HTTP {}",
            response.status()
        ));
    }
    read_events(weak, response, id, &Value::Null).await
}

async fn read_events(
    weak: &Weak<Session>,
    response: Response<Incoming>,
    id: Option<u64>,
    notes: &Value,
) -> Result<Option<String>, String> {
    let mut events = Events::default();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { break };
        let Ok(chunk) = frame.into_data() else {
            continue;
        };
        let Some(session) = weak.upgrade() else { break };
        for event in events.read(&chunk)? {
            session.receive(&event.data, notes);
        }
        if id.is_some_and(|id| !session.is_waiting(id)) {
            break;
        }
    }
    Ok(events.last_id)
}
