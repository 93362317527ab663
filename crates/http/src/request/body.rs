//! Reads request bodies, with limits on their size and on how long they take to arrive.
//!
//! A request can be answered before its body has been read: the answer may depend only on its head, or the body may be
//! too large. The rest of such a body is read and dropped before the response is sent; otherwise, hyper would close the
//! connection after the response, while the client sends its next request on it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use hyper::body::{Body, Buf, Bytes, Frame};
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Response, StatusCode, header};
use mcp_core::limits::Limits;
use mcp_protocol::jsonrpc::ErrorObject;
use tokio::time::{Instant, timeout, timeout_at};

use crate::request::RequestHeaders;
use crate::response::HttpRefusal;

/// Grace period during which bodies are not rejected for arriving too slowly.
const SLOW_BODY_GRACE: Duration = Duration::from_secs(5);
/// Limits on the time spent on the rest of a body that nobody needs, and on the number of bytes read of it.
const DISCARD_TIME: Duration = Duration::from_secs(2);
const DISCARD_BYTES: usize = 32 << 20;

/// Reads the whole body, which must be JSON. Most bodies arrive as a single frame, which is used directly.
pub(crate) async fn read_body<B: Body>(
    mut body: Pin<&mut B>,
    headers: &RequestHeaders<'_>,
    limits: &Limits,
) -> Result<Bytes, HttpRefusal> {
    headers.check_content_headers()?;
    check_announced_length(headers, limits)?;
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

/// Reads the whole body of a request to something other than the endpoint, whatever its type.
pub(crate) async fn read_any_body<B: Body>(
    mut body: Pin<&mut B>,
    headers: &RequestHeaders<'_>,
    limits: &Limits,
) -> Result<Bytes, HttpRefusal> {
    check_announced_length(headers, limits)?;
    let first = poll_fn(|cx| Poll::Ready(body.as_mut().poll_frame(cx))).await;
    collect_body(first, body, limits).await
}

/// Refuses a body that is announced to be too large.
fn check_announced_length(
    headers: &RequestHeaders<'_>,
    limits: &Limits,
) -> Result<(), HttpRefusal> {
    let announced = headers
        .length
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let limit = u64::try_from(limits.http.max_body_bytes).unwrap_or(u64::MAX);
    if announced.is_some_and(|length| length > limit) {
        return Err(refuse_large_body(limits));
    }
    Ok(())
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
        let allowed = SLOW_BODY_GRACE
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
                return Err(refuse_large_body(limits));
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

fn refuse_large_body(limits: &Limits) -> HttpRefusal {
    let message = format!(
        "the body is larger than {} bytes",
        limits.http.max_body_bytes
    );
    HttpRefusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        ErrorObject::invalid_request(message),
    )
}

/// Reads the rest of the body of a request, so that the connection can carry the next one. If that would take too long,
/// the response says that the connection is closed.
///
/// Few requests need this. Callers first ask whether the body has ended, and box this future with the response in it:
/// kept by the caller across an await, the response would make the future of every request larger.
pub(crate) async fn finish_body<B: Body, R>(
    body: Pin<&mut B>,
    headers: &HeaderMap,
    mut response: Response<R>,
) -> Response<R> {
    // A client that expects to be told to send its body does not send it after a refusal, and a body that has arrived too
    // slowly would not arrive now.
    let may_arrive =
        !headers.contains_key(header::EXPECT) && response.status() != StatusCode::REQUEST_TIMEOUT;
    if !(may_arrive && discard_body(body).await) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// Reads a body and drops it. Returns `false` if its end has not been reached within the limits.
async fn discard_body<B: Body>(mut body: Pin<&mut B>) -> bool {
    let reading = async {
        let mut read = 0_usize;
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(frame) = frame else { return false };
            read = read.saturating_add(frame.data_ref().map_or(0, Buf::remaining));
            if read > DISCARD_BYTES {
                return false;
            }
        }
        true
    };
    timeout(DISCARD_TIME, reading).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    /// A body that gives its frames, and then ends, fails or never ends.
    struct Frames {
        /// Number of frames of 1 MiB that are left.
        left: usize,
        end: Poll<Option<Result<Frame<Bytes>, ()>>>,
    }

    impl Body for Frames {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            if self.left == 0 {
                return match self.end {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(_) => std::mem::replace(&mut self.end, Poll::Ready(None)),
                };
            }
            self.left -= 1;
            Poll::Ready(Some(Ok(Frame::data(vec![0; 1 << 20].into()))))
        }

        fn is_end_stream(&self) -> bool {
            self.left == 0 && matches!(self.end, Poll::Ready(None))
        }
    }

    /// Finishes a body of this many MiB. Returns whether the response closes the connection, and the number of frames
    /// that were not read.
    async fn finish(
        mebibytes: usize,
        end: Poll<Option<Result<Frame<Bytes>, ()>>>,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> (bool, usize) {
        let mut body = pin!(Frames {
            left: mebibytes,
            end,
        });
        let mut response = Response::new(());
        *response.status_mut() = status;
        if !body.is_end_stream() {
            response = finish_body(body.as_mut(), headers, response).await;
        }
        let closes = response.headers().get(header::CONNECTION);
        assert!(closes.is_none_or(|value| value == "close"));
        (closes.is_some(), body.left)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_ends_leaves_the_connection_open() {
        let none = HeaderMap::new();
        let end = || Poll::Ready(None);
        let expects = HeaderMap::from_iter([(header::EXPECT, "100-continue".parse().unwrap())]);
        for status in [StatusCode::UNAUTHORIZED, StatusCode::REQUEST_TIMEOUT] {
            assert_eq!(finish(0, end(), status, &none).await, (false, 0));
            assert_eq!(finish(0, end(), status, &expects).await, (false, 0));
        }
        let refused = StatusCode::UNAUTHORIZED;
        assert_eq!(finish(32, end(), refused, &none).await, (false, 0));
        let began = Instant::now();
        assert_eq!(finish(34, end(), refused, &none).await, (true, 1));
        assert_eq!(finish(1, end(), refused, &expects).await, (true, 1));
        let late = StatusCode::REQUEST_TIMEOUT;
        assert_eq!(finish(1, end(), late, &none).await, (true, 1));
        let failure = Poll::Ready(Some(Err(())));
        assert_eq!(finish(1, failure, refused, &none).await, (true, 0));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_body_is_discarded_for_two_seconds_at_most() {
        let began = Instant::now();
        let refused = StatusCode::UNAUTHORIZED;
        let finished = finish(1, Poll::Pending, refused, &HeaderMap::new()).await;
        assert_eq!(finished, (true, 0));
        assert_eq!(began.elapsed(), DISCARD_TIME);
    }
}
