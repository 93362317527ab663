//! Serves the page and handles the requests that only the page may make to this program: see `guard`.

mod assets;
mod frames;
mod guard;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures_util::Stream;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

pub(crate) use guard::Token;

use crate::engine::{Answer, Call, Engine};
use crate::recording;
use crate::session::Era;
use guard::Guard;

/// Maximum size of the body of a request from the page, whose arguments may contain Base64-encoded files.
const MAX_BODY: usize = 32 << 20;

type Shared = Arc<Engine>;

/// Serves the page until the listener fails.
pub(crate) async fn serve(
    listener: TcpListener,
    port: u16,
    token: Token,
    engine: Shared,
) -> Result<()> {
    let frames = TcpListener::bind(("127.0.0.1", 0))
        .await
        .context("cannot listen on 127.0.0.1")?;
    let app_port = frames.local_addr()?.port();
    engine.hub.set_app_port(app_port);
    let routes = router(port, app_port, token, engine);
    tokio::select! {
        served = axum::serve(listener, routes) => Ok(served?),
        served = frames::serve(frames, port) => served,
    }
}

fn router(port: u16, app_port: u16, token: Token, engine: Shared) -> Router {
    let guard = Arc::new(Guard::new(port, app_port, token));
    let actions = Router::new()
        .route("/api/events", get(events))
        .route("/api/messages/{seq}", get(message))
        .route("/api/call", post(call))
        .route("/api/cancel", post(cancel))
        .route("/api/answer", post(answer))
        .route("/api/reconnect", post(reconnect))
        .route("/api/record", post(record))
        .route("/api/replay", post(replay))
        .route("/api/recorded-test", post(recorded_test))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .route_layer(middleware::from_fn_with_state(
            Arc::clone(&guard),
            guard::token,
        ))
        .with_state(engine);
    Router::new()
        .route("/", get(|| async { assets::get("index.html") }))
        .route(
            "/{file}",
            get(|Path(file): Path<String>| async move { assets::get(&file) }),
        )
        .merge(actions)
        .layer(middleware::from_fn_with_state(guard, guard::origin))
}

/// Sends a snapshot of the current state, followed by events as they happen.
async fn events(
    State(engine): State<Shared>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (snapshot, receiver) = engine.hub.open();
    let first = Some(Event::default().data(&*snapshot));
    let stream = futures_util::stream::unfold((first, receiver), |(first, mut receiver)| async {
        let event = match first {
            Some(first) => first,
            None => next(&mut receiver).await?,
        };
        Some((Ok(event), (None, receiver)))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}

async fn next(receiver: &mut Receiver<Arc<str>>) -> Option<Event> {
    match receiver.recv().await {
        Ok(event) => Some(Event::default().data(&*event)),
        // The page then requests a new snapshot.
        Err(RecvError::Lagged(missed)) => {
            Some(Event::default().data(format!(r#"{{"type":"behind","missed":{missed}}}"#)))
        }
        Err(RecvError::Closed) => None,
    }
}

/// Returns the full text of a message.
async fn message(State(engine): State<Shared>, Path(seq): Path<u64>) -> Response {
    match engine.hub.text(seq) {
        Some(text) => (
            [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
            text.to_string(),
        )
            .into_response(),
        None => (StatusCode::NOT_FOUND, "this message is no longer kept").into_response(),
    }
}

async fn call(State(engine): State<Shared>, Json(call): Json<Call>) -> StatusCode {
    tokio::spawn(async move { engine.call(call).await });
    StatusCode::ACCEPTED
}

#[derive(Deserialize)]
struct Cancel {
    key: String,
}

async fn cancel(State(engine): State<Shared>, Json(cancel): Json<Cancel>) -> StatusCode {
    engine.cancel(&cancel.key);
    StatusCode::ACCEPTED
}

async fn answer(State(engine): State<Shared>, Json(answer): Json<Answer>) -> Response {
    match engine.answer(answer).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(reason) => (StatusCode::CONFLICT, reason).into_response(),
    }
}

#[derive(Deserialize)]
struct Reconnect {
    era: Era,
}

async fn reconnect(State(engine): State<Shared>, Json(wanted): Json<Reconnect>) -> StatusCode {
    tokio::spawn(async move { engine.reconnect(wanted.era).await });
    StatusCode::ACCEPTED
}

#[derive(Deserialize)]
struct Record {
    on: bool,
}

async fn record(State(engine): State<Shared>, Json(wanted): Json<Record>) -> Response {
    if !wanted.on {
        engine.hub.stop_recording();
        return StatusCode::NO_CONTENT.into_response();
    }
    match engine.record().await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(reason) => (StatusCode::CONFLICT, reason).into_response(),
    }
}

/// Replays the most recent recording. The replay is stopped if the page is no longer waiting for it.
async fn replay(State(engine): State<Shared>) -> Response {
    match engine.replay().await {
        Ok(report) => Json(report).into_response(),
        Err(reason) => (StatusCode::CONFLICT, reason).into_response(),
    }
}

/// Returns the most recent recording as a Rust test.
async fn recorded_test(State(engine): State<Shared>) -> Response {
    let written = match engine.recorded() {
        Ok(file) => {
            let written = recording::as_test(&file).await;
            written.map_err(|error| format!("{error:#}"))
        }
        Err(reason) => Err(reason),
    };
    match written {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response(),
        Err(reason) => (StatusCode::CONFLICT, reason).into_response(),
    }
}
