//! Reads a body: bounded in size, and in the time it may take.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use hyper::StatusCode;
use hyper::body::{Body, Buf, Bytes};
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::Refusal;
use super::headers::Fields;
use crate::jsonrpc::ErrorObject;
use crate::limits::Limits;

/// For how long a slow body is not yet too slow.
const GRACE: Duration = Duration::from_secs(5);
/// How long, and how much, is read of a body that is refused, so that its sender gets to see the answer.
const READ_AWAY_TIME: Duration = Duration::from_secs(2);
const READ_AWAY: usize = 32 << 20;

/// Reads the whole body.
pub(super) async fn read<B: Body>(
    mut body: Pin<&mut B>,
    headers: &Fields<'_>,
    limits: &Limits,
) -> Result<Bytes, Refusal> {
    let too_large = || {
        let message = format!("the body is larger than {} bytes", limits.body);
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorObject::invalid_request(message),
        )
    };
    let announced = headers
        .length
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let limit = u64::try_from(limits.body).unwrap_or(u64::MAX);
    if announced.is_some_and(|length| length > limit) {
        Box::pin(read_away(body.as_mut())).await;
        return Err(too_large());
    }
    let mut began = None;
    // Usually the body is one frame, which is used as it is.
    let mut first: Option<Bytes> = None;
    let mut rest = Vec::new();
    let mut length = 0_usize;
    loop {
        let earned = u64::try_from(length).unwrap_or(u64::MAX) / u64::from(limits.body_rate.max(1));
        let allowed = GRACE
            .saturating_add(Duration::from_secs(earned))
            .min(limits.body_time);
        let mut next = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx));
        // Most bodies are there already, and need no clock.
        let frame = match std::future::poll_fn(|cx| Poll::Ready(next.poll_unpin(cx))).await {
            Poll::Ready(frame) => Ok(frame),
            Poll::Pending => {
                let began = *began.get_or_insert_with(Instant::now);
                Box::pin(timeout_at(began + allowed, next)).await
            }
        };
        let Ok(frame) = frame else {
            return Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                ErrorObject::invalid_request("the body comes too slowly"),
            ));
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| Refusal::bad_request("the body could not be read"))?;
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        length = length.saturating_add(data.remaining());
        if length > limits.body {
            drop((first, rest));
            Box::pin(read_away(body.as_mut())).await;
            return Err(too_large());
        }
        if first.is_none() && rest.is_empty() {
            first = Some(data.copy_to_bytes(data.remaining()));
            if body.is_end_stream() {
                break;
            }
            continue;
        }
        if let Some(first) = first.take() {
            rest.extend_from_slice(&first);
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            rest.extend_from_slice(chunk);
            let read = chunk.len();
            data.advance(read);
        }
    }
    Ok(first.unwrap_or_else(|| rest.into()))
}

async fn read_away<B: Body>(mut body: Pin<&mut B>) {
    let reading = async {
        let mut read = 0_usize;
        while let Some(Ok(frame)) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            read = read.saturating_add(frame.data_ref().map_or(0, Buf::remaining));
            if read > READ_AWAY {
                break;
            }
        }
    };
    // Whether it all came or not, the answer is the same.
    let _ = timeout(READ_AWAY_TIME, reading).await;
}
