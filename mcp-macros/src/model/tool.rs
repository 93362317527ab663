//! Rules for the options of a tool.

use mcp_schema::rules::MIN_SPILLED_BYTES;

use crate::errors::Errors;
use crate::parse::guard::ByteSize;
use crate::parse::tool::ToolOptions;

/// Checks that a tool's options do not contradict each other.
pub(crate) fn check_tool_options(options: &ToolOptions, errors: &mut Errors) {
    if let (Some(read_only), Some(destructive)) = (&options.read_only, &options.destructive)
        && read_only.value
        && destructive.value
    {
        errors.push(syn::Error::new(
            destructive.key,
            "a tool cannot be both `read_only` and `destructive`; keep one",
        ));
    }
    check_idempotent_by(options, errors);
    check_spill(options, errors);
}

/// Checks the arguments that identify a tool's calls.
fn check_idempotent_by(options: &ToolOptions, errors: &mut Errors) {
    let Some(by) = &options.idempotent_by else {
        return;
    };
    if options.read_only.as_ref().is_some_and(|flag| flag.value) {
        errors.push(syn::Error::new(
            by.key,
            "a `read_only` tool may run again at any time, so it does not need `idempotent_by`; remove it",
        ));
    }
    for (index, name) in by.names.iter().enumerate() {
        let text = name.value();
        if text.is_empty() {
            errors.push(syn::Error::new(
                name.span(),
                "`idempotent_by` takes names of arguments: `idempotent_by = \"order_id\"`",
            ));
        } else if by
            .names
            .iter()
            .take(index)
            .any(|other| other.value() == text)
        {
            errors.push(syn::Error::new(
                name.span(),
                format!("`{text}` occurs twice in `idempotent_by`; keep one"),
            ));
        }
    }
}

/// Checks that a tool with `spill` has a limit above which its results are kept.
fn check_spill(options: &ToolOptions, errors: &mut Errors) {
    let Some(spill) = options.spill.as_ref().filter(|spill| spill.value) else {
        return;
    };
    match &options.listed.common.guards.max_output {
        None => errors.push(syn::Error::new(
            spill.key,
            "`spill` needs the size above which results are kept: `max_output = \"256KB\", spill`",
        )),
        Some(ByteSize::Bytes(bytes)) if *bytes < MIN_SPILLED_BYTES => errors.push(syn::Error::new(
            spill.key,
            format!(
                "`spill` needs a `max_output` of at least {MIN_SPILLED_BYTES} bytes, because the text for the model \
                 also says how to read the rest"
            ),
        )),
        Some(_) => {}
    }
}
