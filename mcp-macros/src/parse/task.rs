//! Parses the `task` option in `#[tool(…)]`.

use darling::util::Flag;
use darling::{Error, FromMeta, Result};

use crate::parse::guard::PositiveCount;
use crate::parse::value::DurationValue;

/// The `task` option, written as `task`, `task = required` or `task(required, ttl = "1h", poll = "2s", attempts = 5)`.
#[derive(Default, FromMeta)]
#[darling(from_word = || Ok(Self::default()), from_expr = required)]
pub(crate) struct TaskOptions {
    /// Every call must be run as a task.
    pub(crate) required: Flag,
    /// The function body decides whether the call becomes a task.
    pub(crate) manual: Flag,
    /// The duration for which a task is kept.
    pub(crate) ttl: Option<DurationValue>,
    /// The interval at which clients should poll.
    pub(crate) poll: Option<DurationValue>,
    /// The maximum number of times a task is started.
    pub(crate) attempts: Option<PositiveCount>,
    /// The time for which clients without task support wait for a call before it continues in the background.
    pub(crate) patience: Option<DurationValue>,
}

/// Parses the value in `task = required`.
fn required(value: &syn::Expr) -> Result<TaskOptions> {
    match value {
        syn::Expr::Path(word) if word.path.is_ident("required") => Ok(TaskOptions {
            required: Flag::present(),
            ..TaskOptions::default()
        }),
        _ => Err(Error::custom(
            "write `task`, `task = required`, or options such as `task(ttl = \"1h\", poll = \"2s\")`",
        )
        .with_span(value)),
    }
}
