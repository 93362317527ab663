//! Effects that a test expects to happen only once.

use std::fmt;
use std::sync::Arc;

use super::history::CallHistory;
use crate::context::watching::{CallSite, current_step};

/// Records a tool's effects under [`Chaos`](super::Chaos), such as an inserted row, a payment or a message.
///
/// Use it in the fake that replaces the outside world, so that the tool itself does not have to change:
///
/// ```
/// # use mcp_runtime::testing::chaos::Effects;
/// #[derive(Clone)]
/// struct FakeBank {
///     effects: Effects,
/// }
///
/// impl FakeBank {
///     async fn charge(&self, order: &str) {
///         self.effects.record(format!("charge {order}"));
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Effects {
    pub(super) history: Arc<CallHistory>,
}

impl Effects {
    /// Records an effect. `name` identifies the effect that must not happen twice, so effects that may happen several
    /// times in one run need different names.
    ///
    /// Call this on the thread that runs the handler: an effect recorded in another thread or task is treated as being
    /// outside any `once`.
    #[track_caller]
    pub fn record(&self, name: impl AsRef<str>) {
        let site = CallSite::here();
        self.history.record(name.as_ref(), site, current_step());
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effects").finish_non_exhaustive()
    }
}
