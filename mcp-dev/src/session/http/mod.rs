//! Streamable HTTP: sends each message in an HTTP request, with headers for both the message and the session.
//! `response` reads the responses.

mod response;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::{Era, Session};
use response::{exchange, stream};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Maximum number of times a broken stream is resumed without receiving an event in between.
const MAX_RESUMED: u32 = 5;
/// Maximum time that the server may take to accept a message that has no response.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// Returns the value that is mirrored in the `Mcp-Name` header.
pub(super) fn name_of(params: &Value) -> Option<&str> {
    let names = ["name", "uri", "taskId"];
    names.iter().find_map(|member| params[*member].as_str())
}

/// Returns a value in the form used in a header: Base64-encoded unless it is plain text.
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

    /// Sends a message in a separate task and returns the message's sequence number. `id` is the request id if the
    /// message is a request.
    pub(super) fn post(
        &self,
        session: &Arc<Session>,
        message: &Value,
        id: Option<u64>,
        extra: Vec<(String, String)>,
        name: Option<&str>,
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
            let name = name.and_then(header_value);
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
        let mut state = self.state();
        let task = tokio::spawn(async move {
            let sent = async {
                match sending.await {
                    Ok(response) => exchange(&weak, response, id).await,
                    Err(error) => Err(explain(&error)),
                }
            };
            let outcome = match id {
                Some(_) => sent.await,
                None => tokio::time::timeout(PATIENCE, sent)
                    .await
                    .unwrap_or_else(|_| {
                        Err(format!(
                            "the server did not accept the message within {} s",
                            PATIENCE.as_secs()
                        ))
                    }),
            };
            let Some(session) = weak.upgrade() else {
                return;
            };
            match (id, outcome) {
                (Some(id), Ok(())) => {
                    session.fail(id, "the response ended without an answer to the request");
                }
                (Some(id), Err(reason)) => session.fail(id, &reason),
                (None, Ok(())) => {}
                (None, Err(reason)) => session.stray("", &reason),
            }
            if let (Some(id), Some(link)) = (id, session.http()) {
                link.state().exchanges.remove(&id);
            }
        });
        // This is done under the lock so that the task removes the entry only after it has been inserted.
        if let Some(id) = id {
            state.exchanges.insert(id, task.abort_handle());
        }
        seq
    }

    /// Ends an exchange whose response is no longer needed.
    pub(super) fn drop_exchange(&self, id: u64) {
        if let Some(exchange) = self.state().exchanges.remove(&id) {
            exchange.abort();
        }
    }

    /// Opens the stream for messages that do not belong to a request, and keeps it open as long as the server provides
    /// one.
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

    /// Ends all exchanges and the server's session.
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

/// Returns headers in the form shown on pages. The user's own headers may be secrets.
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
