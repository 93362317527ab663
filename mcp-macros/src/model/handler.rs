//! Models an annotated function of any kind.

use crate::errors::Errors;
use crate::model::completer::CompleterTarget;
use crate::model::name::Name;
use crate::model::parameter::Parameter;
use crate::model::{argument_names, resource, scopes, signature, text, tool};
use crate::parse::annotations::Annotations;
use crate::parse::doc_comment::Description;
use crate::parse::function::Function;
use crate::parse::kind::Kind;
use crate::parse::options::Options;
use crate::parse::value::PathValue;

/// An annotated function, ready to be expanded.
pub(crate) struct Handler {
    pub(crate) kind: Kind,
    /// The path to the runtime crate. Defaults to `::mcp_runtime`.
    pub(crate) runtime: Option<PathValue>,
    pub(crate) ident: syn::Ident,
    pub(crate) visibility: syn::Visibility,
    pub(crate) cfgs: Vec<syn::Attribute>,
    pub(crate) execution_mode: ExecutionMode,
    /// The type of the `impl` block, if the function is in one.
    pub(crate) self_type: Option<syn::Type>,
    /// `true` if the function takes `&self`.
    pub(crate) has_receiver: bool,
    pub(crate) name: Name,
    pub(crate) description: Option<Description>,
    pub(crate) options: Options,
    /// The argument that the handler completes, if the handler is a completer that names its argument.
    pub(crate) target: Option<CompleterTarget>,
    pub(crate) parameters: Vec<Parameter>,
    /// The return type, or `None` if the function returns nothing.
    pub(crate) output: Option<syn::Type>,
}

/// The way in which a handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutionMode {
    Sync,
    Async,
    Blocking,
}

impl Handler {
    /// Builds the model of a function and checks the rules that do not need type information.
    pub(crate) fn new(
        function: &Function,
        annotations: Annotations,
        self_type: Option<&syn::Type>,
        errors: &mut Errors,
    ) -> Self {
        let Annotations {
            kind,
            options,
            parameters,
        } = annotations;
        let signature = &function.signature;
        let listed = options.listed();
        if let Some(listed) = listed {
            scopes::check_scopes(listed, errors);
        }
        let mut target = None;
        match &options {
            Options::Tool(tool) => tool::check_tool_options(tool, errors),
            Options::Resource(_, resource) => {
                resource::check_resource_options(kind, resource, errors);
            }
            Options::Completer(completer) => target = CompleterTarget::new(completer, errors),
            Options::Prompt(_) => {}
        }
        signature::check_signature(kind, signature, self_type, errors);
        let parameters =
            Parameter::from_signature((kind, options.rename_all()), signature, parameters, errors);
        signature::check_parameters(kind, signature, &parameters, errors);
        // A parameter without a plain name is missing here, and has been reported.
        if parameters.len() + usize::from(signature.receiver().is_some()) == signature.inputs.len()
        {
            check_argument_names(kind, &options, &parameters, errors);
        }
        let execution_mode = execution_mode(signature, &options, errors);
        let handler = Self {
            kind,
            runtime: options.common().runtime.clone(),
            name: Name::new(
                listed.and_then(|listed| listed.name.as_ref()),
                &signature.ident,
            ),
            description: Description::new(
                listed.and_then(|listed| listed.description.as_ref()),
                &function.attributes,
            ),
            ident: signature.ident.clone(),
            visibility: function.visibility.clone(),
            cfgs: function
                .attributes
                .iter()
                .filter(|attribute| attribute.path().is_ident("cfg"))
                .cloned()
                .collect(),
            execution_mode,
            self_type: self_type.cloned(),
            has_receiver: signature.receiver().is_some(),
            target,
            parameters,
            output: signature::check_return_type(kind, signature, errors),
            options,
        };
        text::check_handler_texts(&handler, errors);
        handler
    }
}

/// Checks the names of arguments in the options.
fn check_argument_names(
    kind: Kind,
    options: &Options,
    parameters: &[Parameter],
    errors: &mut Errors,
) {
    match options {
        Options::Tool(tool) => {
            argument_names::check_identifying_arguments(tool, parameters, errors);
        }
        Options::Resource(uri, _) if kind == Kind::ResourceTemplate => {
            argument_names::check_variables(uri, parameters, errors);
        }
        _ => {}
    }
}

fn execution_mode(
    signature: &syn::Signature,
    options: &Options,
    errors: &mut Errors,
) -> ExecutionMode {
    let blocking = match options {
        Options::Tool(tool) => tool.blocking.as_ref().filter(|blocking| blocking.value),
        _ => None,
    };
    match (signature.asyncness.is_some(), blocking) {
        (true, Some(blocking)) => {
            errors.push(syn::Error::new(
                blocking.key,
                "`blocking` cannot be combined with `async`; in an `async` tool use `spawn_blocking`",
            ));
            ExecutionMode::Async
        }
        (true, None) => ExecutionMode::Async,
        (false, Some(_)) => ExecutionMode::Blocking,
        (false, None) => ExecutionMode::Sync,
    }
}
