//! Limits on the steps that the server's store for `once` remembers.

/// Limits on the steps with [`Context::once`](crate::Context::once) that the server's store remembers. Tasks keep their
/// steps themselves, and so do calls until they have asked their client a question.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OnceLimits {
    /// Maximum number of remembered steps. Default 100,000. When exceeded: further steps fail without being started.
    /// A step is remembered for 24 hours.
    pub max_steps: usize,
    /// Maximum number of remembered steps per caller. Default 10,000. When exceeded: the caller's further steps fail
    /// without being started. All anonymous callers count as one caller.
    pub max_steps_per_caller: usize,
    /// Maximum size of all remembered steps, in bytes: their names and results. Default 256 MiB. When exceeded: as for
    /// `max_steps`. The result of a step that has begun is kept even if it exceeds the limit.
    pub max_bytes: usize,
    /// Maximum size of one caller's remembered steps, in bytes. Default 64 MiB. When exceeded: as for
    /// `max_steps_per_caller`.
    pub max_bytes_per_caller: usize,
}

impl Default for OnceLimits {
    fn default() -> Self {
        Self {
            max_steps: 100_000,
            max_steps_per_caller: 10_000,
            max_bytes: 256 << 20,
            max_bytes_per_caller: 64 << 20,
        }
    }
}

impl OnceLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) const fn strict() -> Self {
        Self {
            max_steps: 10_000,
            max_steps_per_caller: 1_000,
            max_bytes: 32 << 20,
            max_bytes_per_caller: 8 << 20,
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) const fn zero_fields(&self) -> [(&'static str, bool); 4] {
        [
            ("once.max_steps", self.max_steps == 0),
            ("once.max_steps_per_caller", self.max_steps_per_caller == 0),
            ("once.max_bytes", self.max_bytes == 0),
            ("once.max_bytes_per_caller", self.max_bytes_per_caller == 0),
        ]
    }
}
