//! Reads responses. A response is either a JSON message or a stream of events, which is resumed if it is interrupted.

use std::sync::Weak;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::{MAX_RESUMED, SESSION, explain};
use crate::session::events::Events;
use crate::session::{Era, MAX_MESSAGE, Session};

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Maximum number of characters shown from a body that is not a message.
const MAX_SHOWN: usize = 1_000;

/// Reads the response to a message.
pub(super) async fn exchange(
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
    let lost_session = status == StatusCode::NOT_FOUND
        && weak.upgrade().is_some_and(|session| {
            let link = session.http();
            link.is_some_and(|link| link.state().session.is_some())
        });
    if kind == "application/json" && !text.trim().is_empty() && !lost_session {
        let Some(session) = weak.upgrade() else {
            return Ok(());
        };
        // If a request is refused before it is read, the response does not contain an id.
        match (id, serde_json::from_str::<Value>(&text)) {
            (Some(id), Ok(mut message))
                if message["error"].is_object() && message["id"].is_null() =>
            {
                message["id"] = json!(id);
                session.receive(&message.to_string(), &notes).await;
            }
            _ => session.receive(&text, &notes).await,
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
    if status == StatusCode::NOT_FOUND
        && let Some(session) = weak.upgrade()
        && session
            .http()
            .is_some_and(|link| link.state().session.take().is_some())
    {
        let reason =
            "the server no longer knows the session (HTTP 404); the next call starts a new one";
        session.died(reason);
        return Err(reason.into());
    }
    let hint = match status.as_u16() {
        401 => {
            ". The server requires credentials: pass them with `--header \"Authorization: Bearer …\"`"
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

/// Reads a stream of events, and resumes it if it ends too early and can be resumed.
async fn follow(
    weak: &Weak<Session>,
    response: Response<Incoming>,
    id: Option<u64>,
    notes: &Value,
) -> Result<(), String> {
    let mut last = read_events(weak, response, id, notes).await?;
    // Streams in the modern era cannot be resumed.
    if weak
        .upgrade()
        .is_none_or(|session| session.era == Era::Modern)
    {
        return Ok(());
    }
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

/// Opens a stream with GET and reads it to the end. Returns the id of its last event.
pub(super) async fn stream(
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
            session.receive(&event.data, notes).await;
        }
        if id.is_some_and(|id| !session.is_waiting(id)) {
            break;
        }
    }
    Ok(events.last_id)
}
