//! Where the module meets the program that has loaded it: five functions out, four functions in, and memory between them.
//!
//! | Export | What the host calls it for |
//! |---|---|
//! | `start()` | once, before anything else |
//! | `buffer(length)` | memory for the next message |
//! | `handle(ticket)` | answering the message in that memory. The answer comes under this number, now or during a later `poll` |
//! | `poll()` | going on, when the time is over that the last call of `handle` or `poll` has returned |
//!
//! Both return the number of milliseconds until something has to be done, or infinity.
#![allow(
    unsafe_code,
    reason = "functions that another program calls, or that are called in it, have no types that both know"
)]

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_executor::{LocalPool, LocalSpawner};
use futures_util::task::{LocalSpawnExt as _, SpawnExt as _};
use mcp_runtime::server::install_host;
use mcp_runtime::server::{BuiltServer, Host};

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Milliseconds since some fixed moment.
    safe fn now() -> f64;
    /// Milliseconds since the beginning of 1970.
    safe fn unix_time() -> f64;
    /// Fills memory with random bytes.
    safe fn random(bytes: *mut u8, length: usize);
    /// Takes the answer to the message with this number; a length of zero means that there is none.
    safe fn answer(ticket: u32, bytes: *const u8, length: usize);
}

unsafe extern "C" {
    /// Runs what has to run before everything else: this is how the tools of a program are found.
    fn __wasm_call_ctors();
}

thread_local! {
    static POOL: RefCell<LocalPool> = RefCell::new(LocalPool::new());
    static SPAWNER: LocalSpawner = POOL.with_borrow(LocalPool::spawner);
    static SERVER: OnceCell<BuiltServer> = const { OnceCell::new() };
    static MESSAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static TIMERS: RefCell<BTreeMap<u64, (Duration, Waker)>> = const { RefCell::new(BTreeMap::new()) };
}

#[unsafe(no_mangle)]
extern "C" fn start() {
    // SAFETY: this is called once, before anything else. Because it is called here, the linker does not call it.
    unsafe { __wasm_call_ctors() };
    install_host(&Surroundings);
    let server = crate::server().expect("the server is right, as its tests show");
    SERVER.with(|built| drop(built.set(server)));
}

#[unsafe(no_mangle)]
extern "C" fn buffer(length: usize) -> *mut u8 {
    MESSAGE.with_borrow_mut(|message| {
        *message = vec![0; length];
        message.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn handle(ticket: u32) -> f64 {
    let message = MESSAGE.take();
    let server = SERVER.with(|built| built.get().cloned());
    let work = async move {
        let answered = match &server {
            Some(server) => server.handle(&message).await,
            None => None,
        };
        let text = answered.unwrap_or_default();
        answer(ticket, text.as_ptr(), text.len());
    };
    SPAWNER.with(|spawner| {
        spawner
            .spawn_local(work)
            .expect("the pool exists as long as the module")
    });
    poll()
}

#[unsafe(no_mangle)]
extern "C" fn poll() -> f64 {
    let now = Surroundings.now();
    let due = TIMERS.with_borrow_mut(|timers| {
        let due = timers.extract_if(.., |_, (deadline, _)| *deadline <= now);
        due.map(|(_, (_, waker))| waker).collect::<Vec<_>>()
    });
    due.into_iter().for_each(Waker::wake);
    POOL.with_borrow_mut(LocalPool::run_until_stalled);
    let next = TIMERS.with_borrow(|timers| timers.values().map(|(deadline, _)| *deadline).min());
    next.map_or(f64::INFINITY, |next| {
        next.saturating_sub(Surroundings.now()).as_secs_f64() * 1e3
    })
}

/// The program that has loaded this module.
struct Surroundings;

impl Host for Surroundings {
    fn now(&self) -> Duration {
        Duration::from_secs_f64(now() / 1e3)
    }

    fn unix_time(&self) -> Duration {
        Duration::from_secs_f64(unix_time() / 1e3)
    }

    fn fill_random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        random(bytes.as_mut_ptr(), bytes.len());
        Ok(())
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        thread_local!(static LAST: Cell<u64> = const { Cell::new(0) });
        LAST.set(LAST.get() + 1);
        Box::pin(Timer {
            number: LAST.get(),
            deadline: self.now() + time,
        })
    }

    fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        SPAWNER.with(|spawner| {
            spawner
                .spawn(work)
                .expect("the pool exists as long as the module")
        });
    }
}

/// A future that is ready at its deadline.
struct Timer {
    number: u64,
    deadline: Duration,
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        if Surroundings.now() >= self.deadline {
            return Poll::Ready(());
        }
        let waiting = (self.deadline, task.waker().clone());
        TIMERS.with_borrow_mut(|timers| timers.insert(self.number, waiting));
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        TIMERS.with_borrow_mut(|timers| timers.remove(&self.number));
    }
}
