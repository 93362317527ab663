//! Compares the names of a function's parameters with the names in its attribute: the variables of a URI template, and
//! the arguments that identify a tool's calls.
//!
//! Only the types show which parameters are arguments. The expansion checks that the named ones are.

use mcp_schema::rules::{TemplateVariables, template_syntax};
use mcp_schema::suggest::closest;

use crate::errors::Errors;
use crate::model::parameter::Parameter;
use crate::parse::tool::ToolOptions;

/// Returns the variables of a URI template, or nothing if its syntax is invalid.
fn variables(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    if template_syntax(template).holds() {
        let mut variables = TemplateVariables::new(template);
        while let Some(variable) = variables.next() {
            names.push(variable.name(template));
        }
    }
    names
}

/// Returns the variables of a URI template for which there is no parameter.
pub(crate) fn variables_without_parameter<'t>(
    template: &'t str,
    parameters: &[Parameter],
) -> Vec<&'t str> {
    let mut names = variables(template);
    names.retain(|name| find_parameter(name, parameters).is_none());
    names
}

/// Returns the parameter with this name.
fn find_parameter<'p>(name: &str, parameters: &'p [Parameter]) -> Option<&'p Parameter> {
    let mut parameters = parameters.iter();
    parameters.find(|parameter| parameter.name.value == name)
}

/// Returns the index of the parameter for an argument that identifies a tool's calls, or `None` if the name is wrong.
pub(crate) fn identifying_parameter(name: &str, parameters: &[Parameter]) -> Option<usize> {
    parameters.iter().position(|parameter| {
        parameter.name.value == name && !parameter.annotations.options.flatten.is_present()
    })
}

/// Checks that there is a parameter for each variable of a URI template.
pub(crate) fn check_variables(
    template: &syn::LitStr,
    parameters: &[Parameter],
    errors: &mut Errors,
) {
    let text = template.value();
    let variables = variables(&text);
    for name in variables_without_parameter(&text, parameters) {
        let others: Vec<&str> = names(parameters)
            .filter(|other| !variables.contains(other))
            .collect();
        let remedy = if others.is_empty() {
            format!("add the parameter `{name}`")
        } else {
            suggestion(name, &others, "this function has")
        };
        errors.push_and_expand(syn::Error::new(
            template.span(),
            format!("URI template variable `{name}` has no parameter with that name; {remedy}"),
        ));
    }
}

/// Checks that the arguments in `idempotent_by` are parameters.
pub(crate) fn check_identifying_arguments(
    tool: &ToolOptions,
    parameters: &[Parameter],
    errors: &mut Errors,
) {
    for literal in tool.idempotent_by.iter().flat_map(|by| &by.names) {
        let name = literal.value();
        if name.is_empty() || identifying_parameter(&name, parameters).is_some() {
            continue;
        }
        let problem = if find_parameter(&name, parameters).is_some() {
            format!("`{name}` takes all arguments; name an argument that is a parameter of its own")
        } else {
            let names: Vec<&str> = names(parameters).collect();
            let remedy = if names.is_empty() {
                "it has no parameters".to_owned()
            } else {
                suggestion(&name, &names, "it has")
            };
            format!("this tool has no argument `{name}`; {remedy}")
        };
        errors.push_and_expand(syn::Error::new(
            literal.span(),
            format!("`idempotent_by`: {problem}"),
        ));
    }
}

/// Returns the names of the parameters that are single arguments or injected.
fn names(parameters: &[Parameter]) -> impl Iterator<Item = &str> {
    let single = |parameter: &&Parameter| !parameter.annotations.options.flatten.is_present();
    let single = parameters.iter().filter(single);
    single.map(|parameter| parameter.name.value.as_str())
}

/// Suggests the name that the author probably meant or, if no name is similar, lists all names.
fn suggestion(written: &str, names: &[&str], there_are: &str) -> String {
    match closest(written, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("{there_are} `{}`", names.join("`, `")),
    }
}
