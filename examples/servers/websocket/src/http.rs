//! The upgrade from HTTP: origins, sizes, the number of clients, and the end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use mcp_runtime::Server;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::transport::{Handover, MAX_CLIENTS, MAX_MESSAGE, sockets};

/// The time that clients have to leave when the server stops.
const LEAVING: Duration = Duration::from_secs(5);

#[derive(Clone)]
struct App {
    handover: Handover,
    origins: Arc<[String]>,
    permits: Arc<Semaphore>,
}

/// Serves clients at `/mcp` until the server is shut down. Calls that are running then may finish.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    origins: Vec<String>,
) -> Result<(), Box<dyn std::error::Error>> {
    let (transport, handover) = sockets();
    let permits = Arc::new(Semaphore::new(MAX_CLIENTS));
    let app = App {
        handover,
        origins: origins.into(),
        permits: Arc::clone(&permits),
    };
    let app = Router::new().route("/mcp", any(upgrade)).with_state(app);
    let stopping = server.handle().stopping();
    let http = tokio::spawn(async {
        axum::serve(listener, app)
            .with_graceful_shutdown(stopping)
            .await
    });
    server.serve(transport).await?;
    http.await??;
    // Upgraded connections do not belong to axum. They hold permits until their sockets are closed.
    let all = u32::try_from(MAX_CLIENTS).unwrap_or(u32::MAX);
    let _ = timeout(LEAVING, permits.acquire_many(all)).await;
    Ok(())
}

async fn upgrade(State(app): State<App>, headers: HeaderMap, socket: WebSocketUpgrade) -> Response {
    // Browsers let every page open a socket to every host, and send the page's origin.
    if let Some(origin) = headers.get(ORIGIN)
        && !app.origins.iter().any(|allowed| origin == allowed.as_str())
    {
        return (
            StatusCode::FORBIDDEN,
            "the origin is not in WEBSOCKET_ORIGINS",
        )
            .into_response();
    }
    let Ok(permit) = app.permits.try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many clients").into_response();
    };
    socket
        .protocols(["mcp"])
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .on_upgrade(move |socket| async move {
            app.handover.serve(socket).await;
            drop(permit);
        })
}
