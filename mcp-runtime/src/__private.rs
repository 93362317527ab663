//! Support for generated code only. This module is not covered by any stability guarantee.

pub use crate::context::{
    AsyncFromContext, Context, Elicit, FieldKind, FormChoice, FormField, FromContext, form,
};
pub use crate::handler::access::VisibleIf;
pub use crate::handler::completion::IntoCompletionResult;
pub use crate::handler::definition::{
    ClientFeature, Definition, IntoSchema, Kind, Location, Owner, Submitted, named, type_id_of,
};
pub use crate::handler::field_default::{literal_default, read_default, written_default};
pub use crate::handler::handler_error::{CallRefusal, ExposedError, exposed_text};
pub use crate::handler::item_option::{Completes, ItemOption, Made};
pub use crate::handler::listing::{Lister, lister};
pub use crate::handler::option::{AttachedOption, ToolOption};
pub use crate::handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult};
pub use crate::handler::parameter::{
    DefaultValue, Lend, ParameterMeta, Probe, ProbeFallback, ValueIdentity, data_field, fill,
    referent, source, to_json,
};
pub use crate::handler::rules;
pub use crate::handler::run::{
    Blocking, HandlerCall, Output, Run, Running, blocking, boxed, completer, prompt, resource,
    running, tool,
};
pub use crate::types::{CacheScope, Choice, Field, FieldFormat, Form, Icon, IconTheme, Meta, Role};
pub use mcp_extra::apps::{
    App, AppCsp, AppPage, AppPermission, InApp, MIME_TYPE as APP_MIME_TYPE, ToolVisibility,
    page_contents, page_meta, tool_meta,
};
pub use mcp_extra::idempotency::IdempotentBy;
pub use mcp_extra::spill::Spill;
pub use mcp_schema::constraint::{Bound, Constraints};
pub use mcp_schema::generate::constrain_field;
pub use mcp_tasks::TaskOptions;

pub use inventory;
#[cfg(feature = "skills")]
pub use mcp_extra::skills::{CompiledSkill, CompiledSkillFile, compiled_skills, skill_contents};
pub use serde_json;
pub use std::borrow::Cow;
pub use std::ops::Bound::{Excluded, Included, Unbounded};

/// Runs a future to completion on a multi-threaded runtime with at least two workers. `#[main]` expands to a call to
/// this function.
///
/// Values held by cancelled handlers are dropped before the program exits. If a handler is still blocking its thread,
/// the program waits at most half a second for it, because the server has already waited for the drain timeout.
///
/// # Panics
///
/// Panics if the operating system cannot create threads.
#[cfg(feature = "main")]
pub fn block_on<F: Future>(future: F) -> F::Output {
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
    output
}
