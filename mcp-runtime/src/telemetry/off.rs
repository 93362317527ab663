//! [`Sight`] without the feature: empty.

use crate::telemetry::{Asked, Ended};

/// Hooks for spans.
#[derive(Clone, Default)]
pub(crate) struct Hooks(());

/// A request that is not recorded.
pub(crate) struct Sight;

impl Sight {
    #[inline]
    pub(crate) fn begin<'a>(_: &Hooks, _: impl FnOnce() -> Asked<'a>) -> Self {
        Self
    }

    #[inline]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }

    #[inline]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn end(&mut self, _: Ended) {}
}

#[inline]
pub(crate) fn carried<T>(work: T) -> T {
    work
}

/// A clock that does not run.
#[derive(Clone, Copy)]
pub(crate) struct Timer;

impl Timer {
    #[inline]
    pub(crate) fn start() -> Self {
        Self
    }

    #[inline]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn answered<'a>(self, _: &Hooks, _: Option<i32>, _: impl FnOnce() -> Asked<'a>) {}
}

/// A gauge that is not recorded.
pub(crate) struct Open;

impl Open {
    #[inline]
    pub(crate) fn session() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn subscription() -> Self {
        Self
    }
}

#[inline]
pub(crate) fn describe() {}
