//! Expands the options for a tool.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::options::OptionList;
use crate::expand::tokens::{
    compile_time_check, macro_span_at, option_expression, replace_self_and_lifetimes,
};
use crate::expand::value::{Fields, flagged_variants};
use crate::model::argument_names::identifying_parameter;
use crate::model::parameter::Parameter;
use crate::parse::guard::PositiveCount;
use crate::parse::task::TaskOptions;
use crate::parse::tool::ToolOptions;
use crate::parse::value::{Expression, PathValue};

/// Adds the options that only tools have.
pub(crate) fn set_tool_options(list: &mut OptionList, tool: &ToolOptions) {
    let ToolOptions {
        read_only,
        destructive,
        idempotent,
        idempotent_by,
        open_world,
        blocking: _,
        requires,
        rename_all: _,
        schema,
        task,
        text: _,
        spill,
        strict,
        ttl,
        cache,
        app,
        visibility: _,
        listed: _,
    } = tool;
    list.set("ReadOnly", read_only.as_ref());
    list.set("Destructive", destructive.as_ref());
    list.set("Idempotent", idempotent.as_ref());
    list.set("OpenWorld", open_world.as_ref());
    let requires = requires.as_ref().map(|requires| {
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
    list.set("Requires", requires);
    let schema = schema.as_ref().map(|Expression(schema)| {
        quote_spanned!(macro_span_at(schema.span())=> || __mcp::IntoSchema::into_schema(#schema))
    });
    list.set("InputSchema", schema);
    list.set("Strict", strict.filter(|strict| *strict));
    list.set("Ttl", ttl.as_ref());
    list.set("Cache", *cache);
    list.attach(idempotent_by.as_ref().map(|by| {
        let names = &by.names;
        quote!(__mcp::IdempotentBy(&[#(#names),*]))
    }));
    let spill = spill.as_ref().filter(|spill| spill.value);
    list.attach(spill.map(|_| quote!(__mcp::Spill)));
    list.attach(task.as_ref().map(task_options_expression));
    list.attach(app.as_ref().map(|_| quote!(__mcp::InApp)));
}

/// Checks that the parameters that identify a call are arguments.
pub(crate) fn identifying_argument_checks(
    tool: &ToolOptions,
    parameters: &[Parameter],
) -> TokenStream {
    let names = tool.idempotent_by.iter().flat_map(|by| &by.names);
    names
        .filter_map(|name| {
            let index = identifying_parameter(&name.value(), parameters)?;
            let verdict = quote!(__mcp::rules::identifying_argument("idempotent_by", &__MCP_PARAMETERS, #index));
            Some(compile_time_check(name.span(), &verdict))
        })
        .collect()
}

/// Returns the expression for a tool's `_meta`: the author's entries, plus the entries that describe the tool's page to
/// hosts.
pub(crate) fn tool_meta_expression(
    tool: &ToolOptions,
    self_type: Option<&syn::Type>,
    meta: Option<TokenStream>,
) -> Option<TokenStream> {
    if tool.app.is_none() && tool.visibility.is_none() {
        return meta;
    }
    let app = tool.app.as_ref();
    let page = option_expression(app.map(|app| app_constant(app, "PAGE", self_type)));
    let visibility = tool.visibility.as_ref().map_or_else(
        || quote!(&[]),
        |visibility| {
            flagged_variants(
                &quote!(__mcp::ToolVisibility),
                &[(visibility.model, "Model"), (visibility.app, "App")],
            )
        },
    );
    let meta = option_expression(meta);
    Some(quote!(__mcp::tool_meta(#page, #visibility, #meta)))
}

/// Returns the path to an associated constant of the `App` trait. The compiler underlines the type if it is not an app.
fn app_constant(
    PathValue(path): &PathValue,
    constant: &str,
    self_type: Option<&syn::Type>,
) -> TokenStream {
    let constant = Ident::new(constant, Span::call_site());
    let path = replace_self_and_lifetimes(path, self_type, "_");
    quote!(<#path as __mcp::App>::#constant)
}

/// Returns an expression of type `TaskOptions`.
fn task_options_expression(task: &TaskOptions) -> TokenStream {
    let is_set = |flag: darling::util::Flag| flag.is_present().then_some(quote!(true));
    let mut fields = Fields::default();
    fields.set("is_required", is_set(task.required));
    fields.set("is_manual", is_set(task.manual));
    fields.set_some("ttl", task.ttl.as_ref());
    fields.set_some("poll_interval", task.poll.as_ref());
    fields.set_some("patience", task.patience.as_ref());
    let attempts = task.attempts.as_ref();
    fields.set_some("attempts", attempts.map(|PositiveCount(attempts)| attempts));
    fields.into_expression(&quote!(__mcp::TaskOptions))
}
