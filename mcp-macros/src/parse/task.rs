//! The option `task` of `#[tool(…)]`.

use darling::util::Flag;
use darling::{Error, FromMeta, Result};

use crate::parse::guard::PositiveCount;
use crate::parse::value::DurationValue;

/// The option `task`, written as `task`, `task = required` or `task(required, ttl = "1h", poll = "2s", attempts = 5)`.
#[derive(Default, FromMeta)]
#[darling(from_word = || Ok(Self::default()), from_expr = required)]
pub(crate) struct TaskOptions {
    /// Every call must be a task.
    pub(crate) required: Flag,
    /// The call becomes a task when its body says so.
    pub(crate) manual: Flag,
    /// The time for which a task is kept.
    pub(crate) ttl: Option<DurationValue>,
    /// The time between two polls of a client.
    pub(crate) poll: Option<DurationValue>,
    /// The number of times that a task is started.
    pub(crate) attempts: Option<PositiveCount>,
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
