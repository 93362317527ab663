//! Standard input and output, which connect the server to a single client: the program that started the process.
//!
//! Both streams become unavailable to the rest of the process: output from a stray `println!` goes to standard error,
//! and child processes cannot access either stream. The kind of stream determines how bytes are transferred (`unix`,
//! `threads`). Specification: basic/transports, "stdio".

mod threads;
#[cfg(unix)]
mod unix;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fmt, io};

use crate::transport::{Connection, Transport};

#[cfg(unix)]
pub(crate) use unix::replace_unread_output;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The process's standard input and output, as a transport for a single client.
///
/// The server ends when its input ends. Standard error is unchanged and can be used for logs, but clients are not
/// required to read it, so a handler that writes a lot to standard error may block. If the client closes it, what is
/// printed is discarded. On Windows, the streams are not
/// redirected, so do not print to standard output.
pub struct Stdio(Option<Streams>);

#[cfg(unix)]
type Streams = (std::fs::File, std::fs::File);

#[cfg(not(unix))]
type Streams = ();

impl Stdio {
    /// Takes both streams. From then on, standard input is empty and standard output is redirected to standard error.
    ///
    /// Call this before anything is printed.
    ///
    /// # Errors
    ///
    /// Fails if the streams have already been taken or if one of them is closed.
    pub fn open() -> io::Result<Self> {
        #[cfg(unix)]
        let take = unix::take_streams;
        #[cfg(not(unix))]
        let take = || Ok(());
        Self::open_once(&TAKEN, take)
    }

    fn open_once(
        taken: &AtomicBool,
        take: impl FnOnce() -> io::Result<Streams>,
    ) -> io::Result<Self> {
        if taken.swap(true, Ordering::SeqCst) {
            let text = "standard input and output are already in use by a server";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        match take() {
            Ok(streams) => Ok(Self(Some(streams))),
            Err(error) => {
                // Taking the streams failed, so the flag is reset to let the next attempt report the error as well.
                taken.store(false, Ordering::SeqCst);
                Err(error)
            }
        }
    }
}

impl Stdio {
    /// Returns a function that checks, without reading, whether the client has closed standard input.
    pub(crate) fn hung_up(&self) -> Box<dyn Fn() -> bool + Send + Sync> {
        #[cfg(unix)]
        if let Some(input) = self
            .0
            .as_ref()
            .and_then(|(input, _)| input.try_clone().ok())
        {
            return Box::new(move || unix::hung_up(&input));
        }
        Box::new(|| false)
    }
}

impl Transport for Stdio {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let streams = self.0.take()?;
        #[cfg(unix)]
        return Some(unix::connection(streams));
        #[cfg(not(unix))]
        {
            let () = streams;
            Some(threads::connection(io::stdin(), io::stdout()))
        }
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio").finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;

    use crate::transport::stdio::*;

    #[test]
    fn streams_that_cannot_be_taken_are_not_said_to_be_taken() {
        let taken = AtomicBool::new(false);
        for _ in 0..2 {
            let take = || Err(io::ErrorKind::NotFound.into());
            let error = Stdio::open_once(&taken, take).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
        let take = || Ok((File::open("/dev/null")?, File::open("/dev/null")?));
        Stdio::open_once(&taken, take).unwrap();
        let error = Stdio::open_once(&taken, take).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}

// --- The process that started this process. A server over stdio serves no purpose once that process has ended.
//
// Usually, the end of input indicates this, but the pipe remains open as long as any process, such as another child of
// the same client, holds its other end.

/// Interval between checks. Polling is necessary because the system notifies a process when its children end but not
/// when its parent ends.
const INTERVAL: Duration = Duration::from_secs(5);

/// The process that started this process, as determined when this value was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentProcess {
    #[cfg(unix)]
    id: u32,
}

impl ParentProcess {
    pub(crate) fn current() -> Self {
        Self {
            #[cfg(unix)]
            id: std::os::unix::process::parent_id(),
        }
    }

    /// Returns `true` if the process has ended, in which case its children have a different parent. Always returns
    /// `false` on Windows, where children keep the old parent's id.
    #[cfg_attr(
        not(unix),
        expect(clippy::unused_self, reason = "only Unix reparents orphaned processes")
    )]
    pub(crate) fn is_gone(self) -> bool {
        #[cfg(unix)]
        return std::os::unix::process::parent_id() != self.id;
        #[cfg(not(unix))]
        false
    }

    /// Completes within a few seconds after the process has ended.
    pub(crate) async fn gone(self) {
        while !self.is_gone() {
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
