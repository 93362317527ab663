//! Races between the tasks of a channel, with each step executed by hand.

use std::sync::Arc;

use mcp_core::limits::Limits;
use mcp_protocol::jsonrpc::{Incoming, OwnedRequest, RequestId, parse};
use tokio::io::DuplexStream;
use tokio::runtime::Handle;

use super::client::call;
use super::server::TestServer;
use crate::Connection;
use crate::duplex::{Channel, CloseOnDrop, QueuedCall};
use crate::watchdog::Watchdog;

/// Creates a channel without a leader, and the values that keep it alive.
fn channel() -> (Arc<Channel>, Watchdog, DuplexStream) {
    let watchdog = Watchdog::start(Handle::current(), None).unwrap();
    let (ours, theirs) = tokio::io::duplex(1_024);
    let channel = Channel::open(
        TestServer::new(Limits::default()).dispatcher,
        Connection::from_stream(ours),
        Arc::clone(watchdog.waker()),
    );
    (channel, watchdog, theirs)
}

fn written(channel: &Channel) -> String {
    String::from_utf8(channel.lock().out.buffer().clone()).unwrap()
}

#[tokio::test]
async fn a_call_that_is_refused_between_the_queue_and_its_start_is_not_answered_again() {
    let (channel, _watchdog, _client) = channel();
    let (id, text) = (RequestId::from_valid("1"), call(1, "echo"));
    // The leader has taken the call from the queue …
    let message = match parse(text.as_bytes(), &Limits::default().message.parse_limits()) {
        Ok(Incoming::Message(message)) => message,
        other => panic!("{other:?}"),
    };
    let queued = QueuedCall {
        serial: channel.lock().in_flight.calls.add(&id, None),
        request: OwnedRequest::new(&id, &message),
    };
    // … another task finds that the drain time is over …
    drop(channel.lock().refuse_all());
    // … and the leader continues.
    channel.start_queued(0, queued, &mut Vec::new());
    let out = written(&channel);
    assert_eq!(out.lines().count(), 1, "{out}");
}

#[tokio::test]
async fn a_channel_that_has_ended_gets_no_new_leader() {
    let (channel, _watchdog, _client) = channel();
    drop(CloseOnDrop(Arc::clone(&channel)));
    channel.spawn_leader(1);
    assert!(channel.lock().leaders.is_empty());
}
