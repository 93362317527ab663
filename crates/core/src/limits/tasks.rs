//! Limits on tasks.

use std::time::Duration;

/// Limits on tasks, which are calls that continue after their request has been answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskLimits {
    /// Maximum number of tasks in the process, including finished tasks. Default 10,000. Further calls are rejected.
    pub max_tasks: usize,
    /// Maximum number of tasks per caller, including finished tasks. Default 1,000. Further calls are rejected. All
    /// anonymous callers count as one caller.
    pub max_per_caller: usize,
    /// Maximum number of tasks that run concurrently in the process. Default 64. Further tasks wait. A `concurrency`
    /// option on the tool applies as well.
    pub max_running: usize,
    /// Maximum number of times a task is started without completing a step, not counting restarts after answers.
    /// Default 3. A task is restarted if its process dies or loses its claim to the task; after this many starts, the
    /// task fails.
    pub max_attempts: u32,
    /// Time after which another process may take over a task whose process has stopped reporting that it is alive.
    /// Default 30 s. Each process reports at intervals of one third of this time.
    pub lease: Duration,
    /// Maximum size of all tasks in the process, in bytes: the arguments, `_meta` and HTTP headers of their requests
    /// (until the tasks end), and their results, answers and results of `once`. Default 256 MiB. When exceeded: new
    /// tasks are rejected, and a task that needs more space fails.
    pub max_bytes: usize,
    /// Maximum size of one caller's tasks, in bytes, counted in the same way. Default 64 MiB. When exceeded: the
    /// caller's new tasks are rejected, and any of the caller's tasks that needs more space fails. All anonymous callers
    /// count as one caller.
    pub max_bytes_per_caller: usize,
    /// Maximum size of the state that a task keeps between two questions, in bytes. Default 1 MiB. A task that needs
    /// more space fails.
    pub max_state_bytes: usize,
    /// Time for which a task is kept, measured from its creation. Default 60 minutes. A task that is still running
    /// after that is cancelled. A `ttl` option on the tool takes precedence. Clients that use 2025-11-25 can request a
    /// different time, but anonymous clients can request only a shorter one.
    pub ttl: Duration,
    /// Maximum time for which a task is kept. Default 24 hours. Longer times are reduced to this value.
    pub max_ttl: Duration,
    /// Interval at which clients are asked to poll. Default 1 s. A `poll` option on the tool takes precedence.
    pub poll_interval: Duration,
    /// Time for which a client that does not support tasks waits for a call to a tool with the `task` option. Default
    /// 45 s. A call that takes longer continues in the background and is answered with a handle for the `job_status`
    /// and `job_cancel` tools. A `patience` option on the tool takes precedence. With `Duration::MAX`, clients wait for
    /// as long as each call takes, regardless of the tool's options, and the server does not have these two tools.
    pub patience: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            max_tasks: 10_000,
            max_per_caller: 1_000,
            max_running: 64,
            max_attempts: 3,
            lease: Duration::from_secs(30),
            max_bytes: 256 << 20,
            max_bytes_per_caller: 64 << 20,
            max_state_bytes: 1 << 20,
            ttl: Duration::from_hours(1),
            max_ttl: Duration::from_hours(24),
            poll_interval: Duration::from_secs(1),
            patience: Duration::from_secs(45),
        }
    }
}

impl TaskLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_tasks: 1_000,
            max_per_caller: 100,
            max_running: 8,
            max_bytes: 32 << 20,
            max_bytes_per_caller: 8 << 20,
            max_state_bytes: 64 << 10,
            ttl: Duration::from_mins(10),
            max_ttl: Duration::from_hours(1),
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 12] {
        [
            ("tasks.max_tasks", self.max_tasks == 0),
            ("tasks.max_per_caller", self.max_per_caller == 0),
            ("tasks.max_running", self.max_running == 0),
            ("tasks.max_attempts", self.max_attempts == 0),
            ("tasks.lease", self.lease.is_zero()),
            ("tasks.max_bytes", self.max_bytes == 0),
            ("tasks.max_bytes_per_caller", self.max_bytes_per_caller == 0),
            ("tasks.max_state_bytes", self.max_state_bytes == 0),
            ("tasks.ttl", self.ttl.is_zero()),
            ("tasks.max_ttl", self.max_ttl.is_zero()),
            ("tasks.poll_interval", self.poll_interval.is_zero()),
            ("tasks.patience", self.patience.is_zero()),
        ]
    }
}
