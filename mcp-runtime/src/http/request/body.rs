//! Reads request bodies, with limits on their size and on how long they take to arrive.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::{Body, Buf, Bytes, Frame};
use tokio::time::{Instant, timeout, timeout_at};

use crate::http::request::headers::RequestHeaders;
use crate::http::response::refusal::HttpRefusal;
use crate::jsonrpc::ErrorObject;
use crate::limits::Limits;

/// Grace period during which bodies are not rejected for arriving too slowly.
const GRACE: Duration = Duration::from_secs(5);
/// Limits on the time spent and the number of bytes read while draining a rejected body. The body is drained so that
/// the sender can receive the response.
const READ_AWAY_TIME: Duration = Duration::from_secs(2);
const READ_AWAY: usize = 32 << 20;

/// Reads the whole body. Most bodies arrive as a single frame, which is used directly.
pub(in crate::http) async fn read_body<B: Body>(
    mut body: Pin<&mut B>,
    headers: &RequestHeaders<'_>,
    limits: &Limits,
) -> Result<Bytes, HttpRefusal> {
    headers.check_content_headers()?;
    let announced = headers
        .length
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let limit = u64::try_from(limits.http.max_body_bytes).unwrap_or(u64::MAX);
    if announced.is_some_and(|length| length > limit) {
        return Box::pin(refuse_large_body(body, limits)).await;
    }
    let mut first = poll_fn(|cx| Poll::Ready(body.as_mut().poll_frame(cx))).await;
    if let Poll::Ready(Some(Ok(frame))) = &mut first
        && let Some(data) = frame.data_mut()
        && data.remaining() <= limits.http.max_body_bytes
        && body.is_end_stream()
    {
        return Ok(data.copy_to_bytes(data.remaining()));
    }
    Box::pin(collect_body(first, body, limits)).await
}

/// Result of polling a body for its next frame.
type FramePoll<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

/// Waits for a body's frames and joins them.
async fn collect_body<B: Body>(
    mut polled: FramePoll<B>,
    mut body: Pin<&mut B>,
    limits: &Limits,
) -> Result<Bytes, HttpRefusal> {
    let began = Instant::now();
    let mut whole = Vec::new();
    loop {
        let earned = u64::try_from(whole.len()).unwrap_or(u64::MAX)
            / u64::from(limits.http.min_body_bytes_per_second.max(1));
        let allowed = GRACE
            .saturating_add(Duration::from_secs(earned))
            .min(limits.http.body_timeout);
        let frame = match polled {
            Poll::Ready(frame) => Ok(frame),
            Poll::Pending => {
                let next = poll_fn(|cx| body.as_mut().poll_frame(cx));
                timeout_at(began + allowed, next).await
            }
        };
        let Ok(frame) = frame else {
            return Err(HttpRefusal::new(
                StatusCode::REQUEST_TIMEOUT,
                ErrorObject::invalid_request("the body is arriving too slowly"),
            ));
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| HttpRefusal::bad_request("the body could not be read"))?;
        if let Ok(mut data) = frame.into_data() {
            if whole.len().saturating_add(data.remaining()) > limits.http.max_body_bytes {
                drop(whole);
                return refuse_large_body(body, limits).await;
            }
            while data.has_remaining() {
                let chunk = data.chunk();
                whole.extend_from_slice(chunk);
                let read = chunk.len();
                data.advance(read);
            }
        }
        polled = poll_fn(|cx| Poll::Ready(body.as_mut().poll_frame(cx))).await;
    }
    Ok(whole.into())
}

/// Rejects a body that is too large.
async fn refuse_large_body<B: Body>(
    body: Pin<&mut B>,
    limits: &Limits,
) -> Result<Bytes, HttpRefusal> {
    discard_body(body).await;
    let message = format!(
        "the body is larger than {} bytes",
        limits.http.max_body_bytes
    );
    Err(HttpRefusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        ErrorObject::invalid_request(message),
    ))
}

async fn discard_body<B: Body>(mut body: Pin<&mut B>) {
    let reading = async {
        let mut read = 0_usize;
        while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            read = read.saturating_add(frame.data_ref().map_or(0, Buf::remaining));
            if read > READ_AWAY {
                break;
            }
        }
    };
    // The result is ignored because the response is the same even if the rest could not be read.
    let _ = timeout(READ_AWAY_TIME, reading).await;
}
