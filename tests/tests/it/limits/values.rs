//! The values of the limits themselves.

use mcp_runtime::Limits;
use mcp_runtime::transport::memory;

use crate::fixture;

#[test]
fn strict_limits_are_nowhere_looser() {
    let (strict, usual) = (Limits::strict(), Limits::default());
    for (name, strict, usual) in [
        (
            "message.max_line_bytes",
            strict.message.max_line_bytes,
            usual.message.max_line_bytes,
        ),
        (
            "message.max_depth",
            strict.message.max_depth,
            usual.message.max_depth,
        ),
        (
            "message.max_values",
            strict.message.max_values,
            usual.message.max_values,
        ),
        (
            "calls.max_running",
            strict.calls.max_running,
            usual.calls.max_running,
        ),
        (
            "calls.max_queued",
            strict.calls.max_queued,
            usual.calls.max_queued,
        ),
        (
            "calls.max_blocking",
            strict.calls.max_blocking,
            usual.calls.max_blocking,
        ),
        (
            "outgoing",
            strict.streams.max_outgoing_bytes,
            usual.streams.max_outgoing_bytes,
        ),
        (
            "calls.max_result_bytes",
            strict.calls.max_result_bytes,
            usual.calls.max_result_bytes,
        ),
        (
            "subscriptions",
            strict.streams.max_subscriptions,
            usual.streams.max_subscriptions,
        ),
        (
            "streams.max_listens",
            strict.streams.max_listens,
            usual.streams.max_listens,
        ),
    ] {
        assert!(strict < usual, "{name}");
    }
    assert!(
        strict.calls.timeout < usual.calls.timeout
            && strict.log.max_per_second < usual.log.max_per_second
    );
}

#[tokio::test]
async fn a_limit_of_zero_is_refused_at_the_start() {
    let limits = Limits::default().with(|limits| {
        limits.calls.max_running = 0;
        limits.streams.max_outgoing_bytes = 0;
    });
    let server = fixture::server().limits(limits);
    let error = server.serve(memory().0).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("running") && text.contains("outgoing"),
        "{text}"
    );
}
