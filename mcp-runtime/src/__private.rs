//! Support for generated code only. This module is not covered by any stability guarantee.

pub use std::borrow::Cow;

#[cfg(feature = "main")]
pub use crate::server::{MainBoxedError, MainError, MainOther, MainOutcome};
pub use inventory;
pub use mcp_core::handler::access::VisibleIf;
pub use mcp_core::handler::completion::IntoCompletionResult;
pub use mcp_core::handler::definition::{
    ClientFeature, Definition, IntoSchema, Kind, Location, Owner, Submitted, named, type_id_of,
};
pub use mcp_core::handler::field_default::{literal_default, read_default, written_default};
pub use mcp_core::handler::handler_error::{CallRefusal, ExposedError, exposed_text};
pub use mcp_core::handler::item_option::{Completes, ItemOption, Made};
pub use mcp_core::handler::listing::{Lister, lister};
pub use mcp_core::handler::option::{AttachedOption, ToolOption};
pub use mcp_core::handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult};
pub use mcp_core::handler::parameter::{
    DefaultValue, Lend, ParameterMeta, Probe, ProbeFallback, ValueIdentity, data_field, fill,
    referent, source, to_json,
};
pub use mcp_core::handler::rules;
pub use mcp_core::handler::run::{
    Blocking, HandlerCall, Output, Run, Running, blocking, boxed, completer, prompt, resource,
    running, tool,
};
pub use mcp_extra::apps::{
    App, AppCsp, AppPage, AppPermission, InApp, MIME_TYPE as APP_MIME_TYPE, ToolVisibility,
    page_contents, page_meta, tool_meta,
};
pub use mcp_extra::idempotency::IdempotentBy;
#[cfg(feature = "skills")]
pub use mcp_extra::skills::{CompiledSkill, CompiledSkillFile, compiled_skills, skill_contents};
pub use mcp_extra::spill::Spill;
pub use mcp_schema::constraint::{Bound, Constraints};
pub use mcp_schema::generate::constrain_field;
pub use mcp_tasks::TaskOptions;
pub use serde_json;
pub use std::ops::Bound::{Excluded, Included, Unbounded};

pub use crate::context::{
    AsyncFromContext, Context, Elicit, FieldKind, FormChoice, FormField, FromContext, form,
};
pub use crate::types::{CacheScope, Choice, Field, FieldFormat, Form, Icon, IconTheme, Meta, Role};

/// Runs a future to completion on a multi-threaded runtime with at least two workers. `#[main]` expands to a call to
/// this function.
///
/// Values held by cancelled handlers are dropped before the program exits. If a handler is still blocking its thread,
/// the program waits at most half a second for it, because the server has already waited for the drain timeout.
///
/// `exit_on_error` prints an error and exits, if its type can be printed for people.
///
/// # Panics
///
/// Panics if the operating system cannot create threads.
#[cfg(feature = "main")]
pub fn block_on<F: Future>(future: F, exit_on_error: fn(&MainOutcome<'_, F::Output>)) -> F::Output {
    // tokio has the code of each type of future once for each of its schedulers.
    let future: std::pin::Pin<&mut dyn Future<Output = F::Output>> = std::pin::pin!(future);
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime needs threads");
    let output = runtime.block_on(future);
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    exit_on_error(&MainOutcome(&output));
    output
}
