//! Notifies systemd when the server starts and stops, for units with `Type=notify`.
//!
//! A notification is a datagram sent to the socket named by `NOTIFY_SOCKET`. If the variable is not set, or on other
//! systems, no datagram is sent. Source: `sd_notify(3)`.

use std::ffi::OsString;
use std::io;

/// The state of the process.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProcessState {
    /// Connections are accepted.
    Ready,
    /// The process was asked to stop.
    Stopping,
}

/// Notifies the service manager, if any, of this process's state. A failure is logged.
pub(super) fn notify(state: ProcessState) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else {
        return;
    };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, ?state, "cannot notify the service manager");
    }
}

#[cfg(target_os = "linux")]
fn send(socket: &OsString, state: ProcessState) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let message = match state {
        ProcessState::Ready => "READY=1",
        ProcessState::Stopping => "STOPPING=1",
    };
    let datagram = UnixDatagram::unbound()?;
    // The server must not block if the service manager does not read its socket.
    datagram.set_nonblocking(true)?;
    datagram
        .send_to_addr(message.as_bytes(), &address)
        .map(drop)
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "it can fail on Linux")]
fn send(_: &OsString, _: ProcessState) -> io::Result<()> {
    Ok(())
}
