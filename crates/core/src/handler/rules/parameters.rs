//! Rules that compare the parameters of a function with its URI or URI template.

use mcp_schema::rules::{TemplateVariables, template_syntax};
use mcp_schema::suggest::is_close;

use super::RuleVerdict;
use crate::handler::definition::has_argument;
use crate::handler::parameter::ParameterMeta;

/// Checks that a parameter with the name of a variable in a URI template is an argument.
#[must_use]
pub const fn template_variable(parameter: &ParameterMeta) -> RuleVerdict {
    if parameter.ty.injected {
        return RuleVerdict::wrong(&[
            "parameter `",
            parameter.name,
            "` is injected, so it cannot be a variable of the URI template; rename one of them",
        ]);
    }
    RuleVerdict::HOLDS
}

/// Checks that a parameter that is not a variable of its URI template is injected. The macro has found a parameter for
/// each variable.
#[must_use]
pub const fn template_parameter(template: &str, parameter: &ParameterMeta) -> RuleVerdict {
    if parameter.ty.injected || !template_syntax(template).holds() {
        return RuleVerdict::HOLDS;
    }
    let mut verdict = RuleVerdict::wrong(&[
        "parameter `",
        parameter.name,
        "` is not a variable of the URI template; it has ",
    ]);
    let mut variables = TemplateVariables::new(template);
    let mut first = true;
    while let Some(variable) = variables.next() {
        verdict = verdict
            .with(if first { "`" } else { ", `" })
            .with(variable.name(template))
            .with("`");
        first = false;
    }
    verdict
}

/// Checks that a resource has no arguments, because it has a single URI.
#[must_use]
pub const fn resource_parameter(parameter: &ParameterMeta) -> RuleVerdict {
    if parameter.ty.injected {
        return RuleVerdict::HOLDS;
    }
    RuleVerdict::wrong(&[
        "a resource has no arguments, but `",
        parameter.name,
        "` is one; make it a variable of a `resource_template`",
    ])
}

/// Checks that a parameter with `#[arg(…)]` is an argument.
#[must_use]
pub const fn is_argument(parameter: &ParameterMeta) -> RuleVerdict {
    if parameter.ty.injected {
        return RuleVerdict::wrong(&[
            "parameter `",
            parameter.name,
            "` is injected, so clients do not send it and `#[arg(…)]` has no effect; remove it",
        ]);
    }
    RuleVerdict::HOLDS
}

/// Checks that the first parameter of a completer is not injected.
#[must_use]
pub const fn partial_text(parameter: &ParameterMeta) -> RuleVerdict {
    if parameter.ty.injected {
        return RuleVerdict::wrong(&[
            "a completer needs the text typed so far as its first parameter: `partial: &str`",
        ]);
    }
    RuleVerdict::HOLDS
}

/// Checks that the parameter by which an option identifies a tool's calls is an argument.
#[must_use]
pub const fn identifying_argument(
    option: &str,
    parameters: &[ParameterMeta],
    index: usize,
) -> RuleVerdict {
    if !parameters[index].ty.injected {
        return RuleVerdict::HOLDS;
    }
    let verdict = RuleVerdict::wrong(&[
        "`",
        option,
        "`: `",
        parameters[index].name,
        "` is injected, so clients do not send it; this tool has ",
    ]);
    with_arguments(verdict, parameters)
}

/// Checks that a prompt or template has an argument with this name.
#[must_use]
pub const fn completed_argument(
    kind: &str,
    function: &str,
    parameters: &[ParameterMeta],
    name: &str,
) -> RuleVerdict {
    if has_argument(parameters, name) {
        return RuleVerdict::HOLDS;
    }
    let verdict = RuleVerdict::wrong(&[kind, " `", function, "` has no argument `", name, "`; "]);
    with_meant(&verdict, name, parameters)
}

/// Appends the name of the argument that the author probably meant by `name` or, if no name is similar, the names of
/// all arguments.
const fn with_meant(
    verdict: &RuleVerdict,
    name: &str,
    parameters: &[ParameterMeta],
) -> RuleVerdict {
    let mut index = 0;
    while index < parameters.len() {
        let candidate = parameters[index].name;
        if !parameters[index].ty.injected && is_close(name, candidate) {
            return verdict.with("did you mean `").with(candidate).with("`?");
        }
        index += 1;
    }
    with_arguments(verdict.with("it has "), parameters)
}

/// Appends the names of all arguments.
const fn with_arguments(mut verdict: RuleVerdict, parameters: &[ParameterMeta]) -> RuleVerdict {
    let mut index = 0;
    let mut first = true;
    while index < parameters.len() {
        if !parameters[index].ty.injected {
            verdict = verdict
                .with(if first { "`" } else { ", `" })
                .with(parameters[index].name)
                .with("`");
            first = false;
        }
        index += 1;
    }
    if first {
        verdict.with("no arguments")
    } else {
        verdict
    }
}
