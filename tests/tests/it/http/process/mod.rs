//! Servers in separate processes: the end of a process, its memory, and several processes of one server.

#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod environment;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(unix)]
mod orchestrated;
#[cfg(unix)]
mod subject;
