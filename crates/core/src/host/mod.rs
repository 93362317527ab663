//! What the core needs from the process that it runs in: a clock, random bytes, timers, tasks and threads. Nothing else in
//! the core may ask the standard library, tokio or the operating system for these.
//!
//! Which of two implementations there is depends on the target alone, so that a call over an ordinary transport costs no
//! lookup:
//!
//! | Target | Implementation |
//! |---|---|
//! | with an operating system (`native.rs`) | the standard library and tokio, called directly. Outside a runtime, timers and tasks are driven by a thread that is started when first needed |
//! | WebAssembly (`installed.rs`) | the [`Host`] that the program installs, because that target has no clock and no random bytes, and its event loop belongs to the program that has loaded the module |
//!
//! Both have the same names, which this module lists. The second is compiled for every target, so that its tests run and its
//! documentation is read anywhere.

pub mod installed;
#[cfg(not(target_family = "wasm"))]
mod native;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

pub use installed::install;
#[cfg(target_family = "wasm")]
pub use installed::{
    Instant, Sleep, TaskHandle, TaskSet, check, fill_random, run_blocking, sleep, spawn, timeout,
    unix_time,
};
#[cfg(not(target_family = "wasm"))]
pub use native::{
    Instant, Sleep, TaskHandle, TaskSet, check, fill_random, run_blocking, sleep, spawn, timeout,
    unix_time,
};

/// Work for a task. A program contains the code that runs a task once for each type of work, so work has this type where
/// one more allocation and one more indirection do not matter. They do for a channel: its connection, leader and calls.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The surroundings of a server on a target without an operating system: WebAssembly.
///
/// **Open**: implement it for the program that loads the module, and hand it to [`install`] before a server is built. On other
/// targets the standard library and tokio do all this, and nothing needs to be installed.
///
/// No method may block, and none may call the server.
pub trait Host: Send + Sync + 'static {
    /// Returns the time since some fixed moment. It must not go backwards.
    ///
    /// Timeouts and rates are measured with it. While it stands still, no call times out.
    fn now(&self) -> Duration;

    /// Returns the time since the beginning of 1970, UTC. Sealed states expire by it.
    fn unix_time(&self) -> Duration;

    /// Fills the bytes with unpredictable ones, fit for keys.
    ///
    /// # Errors
    ///
    /// Fails if there are none. Whatever needed them then fails too; nothing predictable takes their place.
    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()>;

    /// Returns a future that is ready after this time at the earliest, and wakes its task then.
    ///
    /// It may be dropped at any time before. A call's timeout is such a future.
    fn sleep(&self, time: Duration) -> Work;

    /// Runs work apart from the call that started it: creating a shared value, effects that outlive their call, and what
    /// [`ServerHandle::spawn`](crate::context::ServerHandle::spawn) is given.
    ///
    /// The host polls it whenever it is woken. Dropping it cancels it.
    fn spawn(&self, work: Work);
}
