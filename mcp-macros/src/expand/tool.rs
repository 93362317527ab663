//! Expands the options for a tool.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::tokens::macro_span_at;
use crate::expand::value::{Fields, flagged_variants};
use crate::parse::task::TaskOptions;
use crate::parse::tool::ToolOptions;
use crate::parse::value::Expression;

/// Sets the fields of `Options` that only tools have.
pub(crate) fn set_tool_options(fields: &mut Fields, tool: &ToolOptions) {
    fields.set_some("read_only", tool.read_only.as_ref());
    fields.set_some("destructive", tool.destructive.as_ref());
    fields.set_some("idempotent", tool.idempotent.as_ref());
    fields.set_some("open_world", tool.open_world.as_ref());
    let requires = tool.requires.as_ref().map(|requires| {
        flagged_variants(
            &quote!(__mcp::ClientFeature),
            &[
                (requires.sampling, "Sampling"),
                (requires.sampling_tools, "SamplingTools"),
                (requires.elicitation, "Elicitation"),
                (requires.elicitation_url, "ElicitationUrl"),
                (requires.roots, "Roots"),
            ],
        )
    });
    fields.set("requires", requires);
    fields.set_some("task", tool.task.as_ref().map(task));
    let schema = tool.schema.as_ref().map(|Expression(schema)| {
        quote_spanned!(macro_span_at(schema.span())=> || __mcp::IntoSchema::into_schema(#schema))
    });
    fields.set_some("input_schema", schema);
    fields.set("strict", tool.strict.filter(|strict| *strict));
    fields.set_some("ttl", tool.ttl.as_ref());
    fields.set_some("cache", tool.cache);
}

/// Returns an expression of type `TaskOptions`.
fn task(task: &TaskOptions) -> TokenStream {
    let is_set = |flag: darling::util::Flag| flag.is_present().then_some(quote!(true));
    let mut fields = Fields::default();
    fields.set("is_required", is_set(task.required));
    fields.set("is_manual", is_set(task.manual));
    fields.set_some("ttl", task.ttl.as_ref());
    fields.set_some("poll_interval", task.poll.as_ref());
    fields.into_expression(&quote!(__mcp::TaskOptions))
}
