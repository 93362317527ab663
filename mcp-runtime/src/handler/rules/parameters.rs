//! Rules that compare the parameters of a function with its URI or URI template.

use mcp_schema::rules::{TemplateVariables, template_has_variable, template_syntax};
use mcp_schema::suggest::{is_close, same};

use super::RuleVerdict;
use crate::handler::definition::has_argument;
use crate::handler::parameter::ParameterMeta;

/// Checks that a parameter exists for each variable of a template. The macro reports mistakes in the template's syntax.
#[must_use]
pub const fn template(template: &str, parameters: &[ParameterMeta]) -> RuleVerdict {
    if !template_syntax(template).holds() {
        return RuleVerdict::HOLDS;
    }
    let mut variables = TemplateVariables::new(template);
    while let Some(variable) = variables.next() {
        let name = variable.name(template);
        if !has_argument(parameters, name) {
            let verdict = RuleVerdict::wrong(&[
                "URI template variable `",
                name,
                "` has no parameter with that name; ",
            ]);
            return with_meant(&verdict, name, parameters, "this function has ");
        }
    }
    RuleVerdict::HOLDS
}

/// Checks that an argument of a resource template is one of the variables in its URI template.
#[must_use]
pub const fn template_parameter(template: &str, parameter: &ParameterMeta) -> RuleVerdict {
    if parameter.ty.injected
        || !template_syntax(template).holds()
        || template_has_variable(template, parameter.name)
    {
        return RuleVerdict::HOLDS;
    }
    let mut verdict = RuleVerdict::wrong(&[
        "parameter `",
        parameter.name,
        "` is not a variable of the URI template; ",
    ]);
    let mut variables = TemplateVariables::new(template);
    while let Some(variable) = variables.next() {
        let name = variable.name(template);
        if is_close(parameter.name, name) {
            return verdict.with("did you mean `").with(name).with("`?");
        }
    }
    verdict = verdict.with("it has ");
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

/// Checks that an argument that identifies a tool's calls exists.
#[must_use]
pub const fn identifying_argument(name: &str, parameters: &[ParameterMeta]) -> RuleVerdict {
    let mut index = 0;
    while index < parameters.len() {
        if parameters[index].flatten && same(parameters[index].name, name) {
            return RuleVerdict::wrong(&[
                "`idempotent_by`: `",
                name,
                "` takes all arguments; name an argument that is a parameter of its own",
            ]);
        }
        index += 1;
    }
    if has_argument(parameters, name) {
        return RuleVerdict::HOLDS;
    }
    let verdict =
        RuleVerdict::wrong(&["`idempotent_by`: this tool has no argument `", name, "`; "]);
    with_meant(&verdict, name, parameters, "it has ")
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
    with_meant(&verdict, name, parameters, "it has ")
}

/// Appends the name of the argument that the author probably meant by `name` or, if no name is similar, the names of
/// all arguments.
const fn with_meant(
    verdict: &RuleVerdict,
    name: &str,
    parameters: &[ParameterMeta],
    there_are: &str,
) -> RuleVerdict {
    let mut index = 0;
    while index < parameters.len() {
        let candidate = parameters[index].name;
        if !parameters[index].ty.injected && is_close(name, candidate) {
            return verdict.with("did you mean `").with(candidate).with("`?");
        }
        index += 1;
    }
    with_arguments(verdict.with(there_are), parameters)
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
