//! Standard output and standard error that nobody reads any more.
//!
//! A host may close the pipe from which it reads a server's standard error. After that, `eprintln!` panics, and so does
//! `println!`, because standard output leads to standard error while the transport has it. Such a stream is replaced
//! with the null device, so that a handler that prints still answers.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::{dup2_stderr, dup2_stdout, stderr, stdout};
use tokio::io::{AsyncRead, ReadBuf};

/// Set once standard error has been replaced. The null device is always read.
static IS_REPLACED: AtomicBool = AtomicBool::new(false);

/// Starts a thread that replaces both streams as soon as nobody reads them.
pub(crate) fn replace_unread_output() {
    let watch = || {
        while !IS_REPLACED.load(Ordering::Relaxed) {
            // This sleeps until nobody reads one of the streams.
            if replace_if_unread(None).is_err() {
                return;
            }
        }
    };
    // Without the thread, streams are replaced only when the client's next message arrives.
    let _ = thread::Builder::new()
        .name("mcp-unread".into())
        .spawn(watch);
}

/// Replaces the streams that nobody reads. Waits this long, or without a limit, until there is one.
fn replace_if_unread(limit: Option<&Timespec>) -> io::Result<()> {
    let (output, error) = (stdout(), stderr());
    let mut streams = [
        PollFd::new(&output, PollFlags::empty()),
        PollFd::new(&error, PollFlags::empty()),
    ];
    match poll(&mut streams, limit) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    let [is_output_gone, is_error_gone] = streams.map(|stream| stream.revents().intersects(gone));
    let null = File::options().read(true).write(true).open("/dev/null")?;
    if is_output_gone {
        dup2_stdout(&null)?;
    }
    if is_error_gone {
        dup2_stderr(&null)?;
        IS_REPLACED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Standard input. Before a message is read, streams that were closed before the client sent it are replaced.
pub(super) struct GuardedInput(pub(super) Box<dyn AsyncRead + Send + Unpin>);

impl AsyncRead for GuardedInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.0).poll_read(cx, buffer);
        if read.is_ready() && !IS_REPLACED.load(Ordering::Relaxed) {
            // A failure means only that printing may fail.
            let _ = replace_if_unread(Some(&Timespec::default()));
        }
        read
    }
}
