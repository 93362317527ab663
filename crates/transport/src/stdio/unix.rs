//! Standard input and output as descriptors owned by this transport. The descriptors are treated differently depending
//! on their kind.
//!
//! | kind | treatment |
//! |---|---|
//! | pipe, on Linux | reopened in non-blocking mode: the flag belongs to an open file description, which standard error may share |
//! | socket | used directly, unless standard error is the same socket; some hosts give their children sockets |
//! | file, terminal or other | a thread for each direction |

use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::{io, thread};

use mcp_core::context::Caller;
use mcp_core::observe::Origin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
#[cfg(target_os = "linux")]
use tokio::net::unix::pipe::OpenOptions;

use crate::{Connection, stdio};

/// Takes both streams. Afterwards, standard input is empty and standard output is redirected to standard error.
pub(super) fn take_streams() -> io::Result<(File, File)> {
    // The copies have numbers above the three standard descriptors and are closed in child processes.
    let input = fcntl_dupfd_cloexec(stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(stdout(), 3)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    // Standard error may be closed.
    dup2_stdout(stderr()).or_else(|_| dup2_stdout(&null))?;
    Ok((input.into(), output.into()))
}

/// Returns `true` if the other end of a pipe or socket is closed. Files and terminals have no other end.
pub(super) fn hung_up(input: &File) -> bool {
    let mut streams = [PollFd::new(input, PollFlags::empty())];
    let at_once = Timespec::default();
    poll(&mut streams, Some(&at_once)).is_ok()
        && streams
            .iter()
            .any(|stream| stream.revents().contains(PollFlags::HUP))
}

/// Opens a connection over both streams without blocking. Must be called within a runtime.
pub(super) fn connection((input, output): (File, File)) -> io::Result<Connection> {
    Ok(Connection {
        reader: Box::new(GuardedInput(async_reader(input, stderr())?)),
        writer: async_writer(output, stderr())?,
        forgiving: true,
        origin: Origin::pipe(),
        caller: Caller::trusted(),
    })
}

fn async_reader(
    input: File,
    error: BorrowedFd<'_>,
) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    #[cfg(target_os = "linux")]
    if let Some(path) = pipe_path(&input)
        && let Ok(pipe) = OpenOptions::new().open_receiver(path)
    {
        return Ok(Box::new(pipe));
    }
    if is_unshared_socket(&input, error)? {
        return Ok(Box::new(into_unix_socket(input)?));
    }
    Ok(Box::new(stdio::StdinReader::start(input)?))
}

fn async_writer(
    output: File,
    error: BorrowedFd<'_>,
) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    #[cfg(target_os = "linux")]
    if let Some(path) = pipe_path(&output)
        && let Ok(pipe) = OpenOptions::new().open_sender(path)
    {
        return Ok(Box::new(pipe));
    }
    if is_unshared_socket(&output, error)? {
        return Ok(Box::new(into_unix_socket(output)?));
    }
    Ok(Box::new(stdio::StdoutWriter::start(output)?))
}

/// Returns `true` if the stream is a socket that is not shared with standard error, so that its flags may be changed.
fn is_unshared_socket(stream: &File, error: BorrowedFd<'_>) -> io::Result<bool> {
    let stream = stream.metadata()?;
    let error = error.try_clone_to_owned();
    let error = error.and_then(|error| File::from(error).metadata());
    let is_shared =
        error.is_ok_and(|error| (stream.dev(), stream.ino()) == (error.dev(), error.ino()));
    Ok(stream.file_type().is_socket() && !is_shared)
}

fn into_unix_socket(stream: File) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(OwnedFd::from(stream));
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// Returns the path at which a pipe can be reopened to obtain a separate open file description. Returns `None` if
/// `/proc` is unavailable, and for a named pipe, because its end of input could not be detected after reopening it.
#[cfg(target_os = "linux")]
fn pipe_path(stream: &File) -> Option<String> {
    use std::os::fd::AsRawFd;

    let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
    let target = std::fs::read_link(&path).ok()?;
    target.to_str()?.starts_with("pipe:[").then_some(path)
}

// --- Standard output and standard error that nobody reads any more.
//
// A host may close the pipe from which it reads a server's standard error. After that, `eprintln!` panics, and so does
// `println!`, because standard output leads to standard error while the transport has it. Such a stream is replaced
// with the null device, so that a handler that prints still answers.

/// Set once standard error has been replaced. The null device is always read.
static IS_REPLACED: AtomicBool = AtomicBool::new(false);

/// Starts a thread that replaces both streams as soon as nobody reads them.
pub fn replace_unread_output() {
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
struct GuardedInput(pub(super) Box<dyn AsyncRead + Send + Unpin>);

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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use rustix::fs::{OFlags, fcntl_getfl};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use crate::stdio::unix::*;

    async fn read_to_end(mut reader: Box<dyn AsyncRead + Send + Unpin>) -> String {
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        text
    }

    fn is_blocking(stream: impl AsFd) -> bool {
        !fcntl_getfl(stream).unwrap().contains(OFlags::NONBLOCK)
    }

    /// Returns more text than fits in a pipe.
    fn long() -> String {
        "0123456789abcdef".repeat(20_000)
    }

    #[tokio::test]
    async fn pipes_are_reopened_and_inherited_flags_stay() {
        let (theirs, ours) = io::pipe().unwrap();
        let ours_too = ours.try_clone().unwrap();
        let theirs_too = theirs.try_clone().unwrap();
        let theirs = File::from(OwnedFd::from(theirs));
        let ours = File::from(OwnedFd::from(ours));
        let mut writer = async_writer(ours, ours_too.as_fd()).unwrap();
        let reader = async_reader(theirs, ours_too.as_fd()).unwrap();
        assert!(is_blocking(&ours_too) && is_blocking(&theirs_too));
        drop(ours_too);
        let writing = async move {
            writer.write_all(long().as_bytes()).await.unwrap();
        };
        let (text, ()) = tokio::join!(read_to_end(reader), writing);
        assert_eq!(text, long());
    }

    #[tokio::test]
    async fn one_or_two_sockets_can_carry_both_directions() {
        let (mut client, server) = StdUnixStream::pair().unwrap();
        let server = File::from(OwnedFd::from(server));
        let also = server.try_clone().unwrap();
        let error = File::open("/dev/null").unwrap();
        let mut writer = async_writer(server, error.as_fd()).unwrap();
        let reader = async_reader(also, error.as_fd()).unwrap();
        client.write_all(b"in").unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(read_to_end(reader).await, "in");
        writer.write_all(b"out").await.unwrap();
        drop(writer);
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "out");
    }

    #[tokio::test]
    async fn a_socket_that_standard_error_shares_stays_blocking() {
        let (mut client, server) = StdUnixStream::pair().unwrap();
        let server = File::from(OwnedFd::from(server));
        let error = server.try_clone().unwrap();
        let mut writer = async_writer(server, error.as_fd()).unwrap();
        writer.write_all(b"out").await.unwrap();
        writer.flush().await.unwrap();
        assert!(is_blocking(&error));
        let mut text = [0; 3];
        client.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"out");
    }

    #[tokio::test]
    async fn files_are_read_and_written_by_threads() {
        let path = std::env::temp_dir().join(format!("mcp-stdio-{}", std::process::id()));
        let error = File::open("/dev/null").unwrap();
        let mut writer = async_writer(File::create(&path).unwrap(), error.as_fd()).unwrap();
        writer.write_all(long().as_bytes()).await.unwrap();
        writer.flush().await.unwrap();
        let reader = async_reader(File::open(&path).unwrap(), error.as_fd()).unwrap();
        assert_eq!(read_to_end(reader).await, long());
        std::fs::remove_file(path).unwrap();
    }
}
