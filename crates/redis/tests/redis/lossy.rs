//! A proxy between a store and its `redis-server` that loses the next request, or the reply to it, and with it the
//! connection.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use crate::support::RedisServer;

/// The message that is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lost {
    Request,
    Reply,
}

/// Loses messages that contain a script, as long as there are any left to lose.
pub(crate) struct LossyProxy {
    socket: PathBuf,
    requests: Arc<AtomicUsize>,
    replies: Arc<AtomicUsize>,
}

impl LossyProxy {
    pub(crate) fn start(server: &RedisServer) -> Self {
        let proxy = Self {
            socket: server.folder().join("lossy.sock"),
            requests: Arc::default(),
            replies: Arc::default(),
        };
        let listener = UnixListener::bind(&proxy.socket).unwrap();
        let (requests, replies) = (Arc::clone(&proxy.requests), Arc::clone(&proxy.replies));
        let target = server.socket();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&target).await.unwrap();
                let counts = (Arc::clone(&requests), Arc::clone(&replies));
                tokio::spawn(carry(client, server, counts));
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// Loses the next message of this kind, several times in a row.
    pub(crate) fn lose(&self, what: Lost, times: usize) {
        let count = match what {
            Lost::Request => &self.requests,
            Lost::Reply => &self.replies,
        };
        count.store(times, Ordering::SeqCst);
    }

    /// Returns `true` if everything that was to be lost has been.
    pub(crate) fn has_lost_all(&self) -> bool {
        let left = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        left(&self.requests) + left(&self.replies) == 0
    }
}

/// Takes one from the count, if there is any left.
fn take(count: &AtomicUsize) -> bool {
    let taken = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    });
    taken.is_ok()
}

/// Carries messages until one is lost. The operations of a test are so short that each is read at once.
async fn carry(
    mut client: UnixStream,
    mut server: UnixStream,
    (requests, replies): (Arc<AtomicUsize>, Arc<AtomicUsize>),
) {
    let (mut request, mut reply) = (vec![0; 65_536], vec![0; 65_536]);
    let mut is_script = false;
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let Some(length @ 1..) = read.ok() else { return };
                let text = &request[..length];
                is_script = text.windows(7).any(|word| word == b"EVALSHA");
                if is_script && take(&requests) {
                    return;
                }
                server.write_all(text).await.unwrap();
            }
            read = server.read(&mut reply) => {
                let Some(length @ 1..) = read.ok() else { return };
                let text = &reply[..length];
                // The first reply to a script may be that Redis does not know it.
                if is_script && !text.starts_with(b"-NOSCRIPT") && take(&replies) {
                    return;
                }
                if client.write_all(text).await.is_err() {
                    return;
                }
            }
        }
    }
}
