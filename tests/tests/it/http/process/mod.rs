//! Servers in processes of their own: the end of a process, its memory, and several processes of one server.

#[cfg(unix)]
mod ending;
#[cfg(target_os = "linux")]
mod memory;
mod round_robin;
#[cfg(unix)]
mod subject;
