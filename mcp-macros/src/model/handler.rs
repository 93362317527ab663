//! The model of an annotated function of any kind.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;

use crate::model::access::Access;
use crate::model::completer::Completer;
use crate::model::parameter::Parameter;
use crate::model::prompt::Prompt;
use crate::model::resource::Resource;
use crate::model::tool::Tool;
use crate::model::{Errors, check};
use crate::parse::doc_comment;
use crate::parse::function::Function;
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Expression, PathValue};

/// The kind of a handler, by its attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
    ResourceTemplate,
    Completer,
}

impl Kind {
    /// Returns the kind of a marker such as `#[tool]` or `#[mcp_runtime::tool(…)]`.
    pub(crate) fn of_attribute(attribute: &syn::Attribute) -> Option<Self> {
        let name = &attribute.path().segments.last()?.ident;
        [
            Self::Tool,
            Self::Prompt,
            Self::Resource,
            Self::ResourceTemplate,
            Self::Completer,
        ]
        .into_iter()
        .find(|kind| name == kind.attribute())
    }

    /// Returns the name of the attribute.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource_template",
            Self::Completer => "completer",
        }
    }

    /// Returns the noun for such a function in messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::ResourceTemplate => "resource template",
            other => other.attribute(),
        }
    }
}

/// An annotated function, ready to be expanded.
pub(crate) struct Handler {
    pub(crate) kind: Kind,
    /// The path of the runtime crate. Default: `::mcp_runtime`.
    pub(crate) runtime: Option<syn::Path>,
    pub(crate) ident: syn::Ident,
    pub(crate) visibility: syn::Visibility,
    pub(crate) cfgs: Vec<syn::Attribute>,
    pub(crate) flavor: Flavor,
    /// The type of the `impl` block, for an associated function.
    pub(crate) self_type: Option<syn::Type>,
    /// `true` if it takes `&self`.
    pub(crate) has_receiver: bool,
    pub(crate) name: Name,
    /// An expression of type `&'static str`.
    pub(crate) description: Option<TokenStream>,
    pub(crate) guards: GuardOptions,
    pub(crate) access: Access,
    pub(crate) options: Options,
    pub(crate) parameters: Vec<Parameter>,
    /// The return type; `None` if the function returns nothing.
    pub(crate) output: Option<syn::Type>,
}

/// The way a handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    Sync,
    Async,
    Blocking,
}

/// A name on the wire.
pub(crate) struct Name {
    pub(crate) value: String,
    /// The span of the literal or identifier.
    pub(crate) span: Span,
    /// `true` if it comes from an option rather than an identifier.
    pub(crate) chosen: bool,
}

impl Name {
    /// Takes the value of the option, or else the identifier.
    pub(crate) fn new(option: Option<&syn::LitStr>, ident: &syn::Ident) -> Self {
        match option {
            Some(name) => Self {
                value: name.value(),
                span: name.span(),
                chosen: true,
            },
            None => Self {
                value: ident.unraw().to_string(),
                span: ident.span(),
                chosen: false,
            },
        }
    }
}

/// The options of one kind of handler.
pub(crate) enum Options {
    Tool(Box<Tool>),
    Prompt(Prompt),
    Resource(Box<Resource>),
    Completer(Completer),
}

/// The options that all kinds have in common.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) name: Option<syn::LitStr>,
    pub(crate) description: Option<Expression>,
    pub(crate) guards: GuardOptions,
    pub(crate) runtime: Option<PathValue>,
    pub(crate) access: Access,
}

impl Handler {
    /// Builds the model of a function. `markers` are the attributes that were removed from its parameters.
    pub(crate) fn from_function(
        kind: Kind,
        options: TokenStream,
        function: &Function,
        markers: &[Vec<syn::Attribute>],
        self_type: Option<&syn::Type>,
    ) -> syn::Result<Self> {
        let mut errors = Errors::default();
        let signature = &function.signature;
        let parsed = match kind {
            Kind::Tool => Tool::from_tokens(options, &mut errors),
            Kind::Prompt => Prompt::from_tokens(options, &mut errors),
            Kind::Resource | Kind::ResourceTemplate => {
                Resource::from_tokens(kind, options, &mut errors)
            }
            Kind::Completer => Completer::from_tokens(options, &mut errors),
        };
        check::check_signature(kind, signature, self_type, &mut errors);
        let parameters = Parameter::from_signature(kind, signature, markers, &mut errors);
        check::check_parameters(kind, signature, &parameters, &mut errors);
        let flavor = flavor(kind, signature, parsed.as_ref(), &mut errors);
        let output = match &signature.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) => {
                check::check_output(kind, ty, &mut errors);
                Some((**ty).clone())
            }
        };
        errors.finish()?;
        // Unreachable: without options there was an error, and `finish` has returned it.
        let Some((common, options)) = parsed else {
            return Err(syn::Error::new_spanned(&signature.ident, "no options"));
        };
        Ok(Self {
            kind,
            runtime: common.runtime.map(|PathValue(path)| path),
            name: Name::new(common.name.as_ref(), &signature.ident),
            description: match common.description {
                Some(Expression(description)) => Some(quote::quote!(#description)),
                None => doc_comment::from_attributes(&function.attributes),
            },
            ident: signature.ident.clone(),
            visibility: function.visibility.clone(),
            cfgs: function
                .attributes
                .iter()
                .filter(|attribute| attribute.path().is_ident("cfg"))
                .cloned()
                .collect(),
            flavor,
            self_type: self_type.cloned(),
            has_receiver: signature.receiver().is_some(),
            guards: common.guards,
            access: common.access,
            options,
            parameters,
            output,
        })
    }
}

fn flavor(
    kind: Kind,
    signature: &syn::Signature,
    options: Option<&(Common, Options)>,
    errors: &mut Errors,
) -> Flavor {
    let blocking = match options {
        Some((_, Options::Tool(tool))) => tool.blocking,
        _ => None,
    };
    match (signature.asyncness.is_some(), blocking) {
        (true, Some(key)) => {
            errors.push(syn::Error::new(
                key,
                format!(
                    "`blocking` cannot be combined with `async`; in an `async` {} use `spawn_blocking`",
                    kind.noun()
                ),
            ));
            Flavor::Async
        }
        (true, None) => Flavor::Async,
        (false, Some(_)) => Flavor::Blocking,
        (false, None) => Flavor::Sync,
    }
}
