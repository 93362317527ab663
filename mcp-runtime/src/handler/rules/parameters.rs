//! Rules that compare the parameters of a function with its URI or URI template.

use super::RuleVerdict;
use super::close::is_close;
use super::uri::{Variables, template_has_variable, template_syntax};
use crate::handler::definition::has_argument;
use crate::handler::parameter::ParameterMeta;

/// Checks the syntax of a template, and that each variable has a parameter.
#[must_use]
pub const fn template(template: &str, parameters: &[ParameterMeta]) -> RuleVerdict {
    let verdict = template_syntax(template);
    if !verdict.holds() {
        return verdict;
    }
    let mut variables = Variables::new(template);
    while let Some(variable) = variables.next() {
        let name = variable.name(template);
        if !has_argument(parameters, name) {
            return RuleVerdict::wrong(&[
                "URI template variable `",
                name,
                "` has no parameter of that name; ",
            ])
            .with_meant(name, parameters, "this function has ");
        }
    }
    RuleVerdict::HOLDS
}

/// Checks that an argument of a template is one of its variables.
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
    let mut variables = Variables::new(template);
    while let Some(variable) = variables.next() {
        let name = variable.name(template);
        if is_close(parameter.name, name) {
            return verdict.with("did you mean `").with(name).with("`?");
        }
    }
    verdict = verdict.with("it has ");
    let mut variables = Variables::new(template);
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

/// Checks that a prompt or template has an argument of that name.
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
    RuleVerdict::wrong(&[kind, " `", function, "` has no argument `", name, "`; "])
        .with_meant(name, parameters, "it has ")
}

impl RuleVerdict {
    /// Appends the argument that `name` probably means, or else all arguments.
    const fn with_meant(self, name: &str, parameters: &[ParameterMeta], there_are: &str) -> Self {
        let mut index = 0;
        while index < parameters.len() {
            let candidate = parameters[index].name;
            if !parameters[index].ty.injected && is_close(name, candidate) {
                return self.with("did you mean `").with(candidate).with("`?");
            }
            index += 1;
        }
        self.with(there_are).with_arguments(parameters)
    }

    /// Appends the names of all arguments.
    const fn with_arguments(mut self, parameters: &[ParameterMeta]) -> Self {
        let mut index = 0;
        let mut first = true;
        while index < parameters.len() {
            if !parameters[index].ty.injected {
                self = self
                    .with(if first { "`" } else { ", `" })
                    .with(parameters[index].name)
                    .with("`");
                first = false;
            }
            index += 1;
        }
        if first {
            self.with("no arguments")
        } else {
            self
        }
    }
}
