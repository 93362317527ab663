//! Serves a single connection.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::http::listener::timed_stream::{ConnectionTimeouts, TimedSocket};
use crate::http::options::SSE_PATH;
use crate::http::request::body::finish_body;
use crate::http::request::headers::{SESSION, VERSION};
use crate::http::response::body::{BusyGuard, ConnectionActivity};
use crate::http::response::refusal::HttpRefusal;
use crate::http::service::http_service::{HttpResponseFuture, HttpService};
use crate::jsonrpc::ErrorObject;

/// Serves a connection from the handshake until it closes.
pub(super) async fn serve_connection<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    opening: impl Future<Output = io::Result<S>>,
    peer: Option<SocketAddr>,
    service: HttpService,
    activity: Arc<ConnectionActivity>,
) {
    let limits = service.0.limits().clone();
    let shutdown = service.0.shutdown.clone();
    let stream = tokio::select! {
        // The handshake is polled first, because an open connection may already contain a request.
        biased;
        opened = timeout(limits.http.handshake_timeout, opening) => match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a handshake failed"),
            Err(_) => return tracing::debug!("a handshake took too long"),
        },
        () = shutdown.cancelled() => return,
    };
    let patience = ConnectionTimeouts {
        idle: limits.http.idle_timeout,
        headers: limits.http.header_timeout,
        unread: limits.streams.stall_timeout,
    };
    let stream = TimedSocket::new(
        stream,
        Arc::clone(&activity),
        (patience, Arc::clone(&service.0.unsent)),
    );
    let serve = service_fn(move |request| route(&service, peer, activity.mark_busy(), request));
    let connection = http1::Builder::new()
        // The stream has its own timers, whereas hyper would create a timer for each request.
        .header_read_timeout(None)
        .max_headers(limits.http.max_headers)
        .max_buf_size(limits.http.max_header_bytes.max(8 << 10))
        .serve_connection(TokioIo::new(stream), serve);
    let mut connection = pin!(connection);
    let mut stopping = pin!(shutdown.cancelled());
    // Polling once is enough because `stopping` then wakes this task, and the same task serves the connection until it
    // closes.
    let mut is_awaited = false;
    let ended = poll_fn(|cx| {
        let served = connection.as_mut().poll(cx);
        if served.is_ready() || (is_awaited && !shutdown.is_cancelled()) {
            return served.map(Some);
        }
        is_awaited = true;
        stopping.as_mut().poll(cx).map(|()| None)
    });
    let ended = if let Some(ended) = ended.await {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Serves a request if its path is known; otherwise, responds with 404.
fn route(
    service: &HttpService,
    peer: Option<SocketAddr>,
    busy: BusyGuard,
    mut request: Request<Incoming>,
) -> HttpResponseFuture {
    let options = &service.0.options;
    let path = request.uri().path();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_stream = options.legacy_sse && path == SSE_PATH && is_read;
    #[cfg_attr(
        not(feature = "auth"),
        expect(unused_mut, reason = "more paths are added")
    )]
    let mut is_there = is_stream || path == options.path;
    #[cfg(feature = "auth")]
    {
        is_there |= service
            .0
            .authentication
            .publishes_metadata_at(path, &options.path);
    }
    if is_stream {
        // Session headers from the client are ignored because this transport does not use them.
        request.headers_mut().remove(&SESSION);
        request.headers_mut().remove(&VERSION);
    }
    if is_there {
        return service.respond(peer, Some(busy), request);
    }
    let probe = options.health.probe_at(request.uri().path());
    let state = Arc::clone(&service.0);
    Box::pin(async move {
        let (head, body) = request.into_parts();
        let mut response = if let Some(probe) = probe {
            state.answer_probe(probe, &head.method).await
        } else {
            let error = ErrorObject::invalid_request("nothing is served at this path");
            HttpRefusal::new(StatusCode::NOT_FOUND, error).into_response()
        };
        if !body.is_end_stream() {
            response = finish_body(pin!(body), &head.headers, response).await;
        }
        response.body_mut().keep_busy(busy);
        Ok(response)
    })
}
