//! The `spill` option: the tool and the resource with which kept results are read, and the step that keeps them.

use std::any::TypeId;
use std::sync::Arc;

use mcp_schema::rules::MIN_SPILLED_BYTES;

use crate::handler::call::{CallOutput, Running};
use crate::handler::dynamic::DynamicTool;
use crate::handler::middleware::{Call, Next};
use crate::handler::option::{
    AdaptedTool, AddOn, AttachedOption, OptionTools, OptionWrapping, StartingServer, ToolOption,
    WrappingPlace, find_option,
};
use crate::spill::kept_results::KeptResults;
use crate::spill::large_result::LargeResult;

/// The `spill` option.
#[derive(Clone, Copy, Debug)]
pub struct Spill;

impl ToolOption for Spill {
    fn name(&self) -> &'static str {
        "spill"
    }

    fn adapt(&self, tool: &mut AdaptedTool) {
        if tool.max_output.is_none_or(|max| max < MIN_SPILLED_BYTES) {
            tool.problems.push(format!(
                "`spill` needs a `max_output` of at least {MIN_SPILLED_BYTES} bytes"
            ));
        }
        tool.no_output_schema = Some(
            "a tool with `spill` has no output schema, because results that are kept have no structured content",
        );
        tool.fits_output = true;
    }

    fn add_on(&self) -> AddOn {
        AddOn {
            name: "spill",
            adds_extension: false,
            start,
        }
    }
}

/// The option of the tool that reads parts of kept results: they fit already.
#[derive(Clone, Copy, Debug)]
struct FittingResult;

impl ToolOption for FittingResult {
    fn name(&self) -> &'static str {
        "spill"
    }

    fn adapt(&self, tool: &mut AdaptedTool) {
        tool.fits_output = true;
    }

    fn add_on(&self) -> AddOn {
        Spill.add_on()
    }

    fn wraps_calls(&self) -> bool {
        false
    }
}

impl DynamicTool {
    /// Keeps results that are larger than [`max_output`](Self::max_output), which must be at least 2,000 bytes, so that
    /// the model can read them in parts. By default, such results are errors. The tool cannot have an
    /// [`output_schema`](Self::output_schema).
    ///
    /// If the server has no such tool when it starts, results that are too large remain errors.
    #[must_use]
    pub fn spill(mut self) -> Self {
        AttachedOption::insert(&mut self.attached, Spill);
        self
    }
}

fn start(server: &mut StartingServer<'_>) {
    let kept = Arc::new(KeptResults::new(server));
    let option = TypeId::of::<Spill>();
    let mut reading = kept.reading_tool();
    AttachedOption::insert(&mut reading.attached, FittingResult);
    server.added.tools.push(OptionTools {
        name: "kept results",
        is_option: |options| find_option::<Spill>(options).is_some(),
        is_for: |_, _| true,
        tools: vec![reading],
        reason: "this name is used by a tool that is added to servers with a `spill` tool; choose another",
    });
    server.added.templates.push(kept.whole_result());
    server.added.wrappings.push(OptionWrapping {
        option,
        is_requested: None,
        reads: None,
        place: WrappingPlace::Results,
        link: Box::new(move |next| {
            let kept = Arc::clone(&kept);
            Next::link(move |call| keep_if_large(Arc::clone(&kept), call, &next))
        }),
    });
}

/// Runs a call and replaces its result if it is too large to send.
fn keep_if_large(kept: Arc<KeptResults>, call: Call, next: &Next) -> Running {
    let Some(limit) = call.max_output() else {
        return next.start(call);
    };
    let (tool, context) = (Arc::<str>::from(call.name()), call.context().clone());
    let lifetime = call.result_lifetime();
    let running = next.start(call);
    Box::pin(async move {
        let result = match running.await? {
            CallOutput::Tool(result) => result,
            output => return Ok(output),
        };
        let large = LargeResult {
            kept: &kept,
            context: &context,
            tool: &tool,
            limit: limit.min(kept.max_result_bytes),
            task_ttl: lifetime(),
        };
        large.replace(result).await.map(CallOutput::Tool)
    })
}
