//! Effects that a test wants to happen once.

use std::fmt;
use std::sync::Arc;

use super::history::CallHistory;
use crate::context::watching::{CallSite, current_step};

/// Records the effects of a tool under [`Chaos`](super::Chaos): a row that is inserted, a payment, a message.
///
/// It belongs into the fake that stands in for the outside world, so that the tool itself is not changed:
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
    /// Records an effect. `name` says what must not happen twice, so effects that may happen several times in one run need
    /// different names.
    ///
    /// It has to be called on the thread that runs the handler: an effect recorded in another thread or task counts as one outside
    /// any `once`.
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
