//! Models a parameter.

use crate::errors::Errors;
use crate::model::argument::check_argument;
use crate::model::name::Name;
use crate::parse::annotations::ParameterAnnotations;
use crate::parse::argument::ArgumentOptions;
use crate::parse::kind::Kind;
use crate::parse::rename::RenameRule;
use crate::parse::types::{find_impl, find_nested_reference};

/// A parameter other than `self`.
pub(crate) struct Parameter {
    pub(crate) name: Name,
    /// The type as written; for `&T`, this is `T`.
    pub(crate) ty: syn::Type,
    /// `true` if the parameter's type is `&T`, so the function borrows the value.
    pub(crate) lent: bool,
    /// The sample value, as JSON.
    pub(crate) example: Option<String>,
    pub(crate) annotations: ParameterAnnotations,
}

impl Parameter {
    /// Returns the valid parameters of a signature. A rule turns their names into those of arguments.
    pub(crate) fn from_signature(
        handler: (Kind, Option<RenameRule>),
        signature: &syn::Signature,
        annotations: Vec<ParameterAnnotations>,
        errors: &mut Errors,
    ) -> Vec<Self> {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(parameter) => Some(parameter),
            syn::FnArg::Receiver(_) => None,
        });
        typed
            .zip(annotations)
            .filter_map(|(parameter, annotations)| {
                Self::new(handler, parameter, annotations, errors)
            })
            .collect()
    }

    fn new(
        (kind, rename_all): (Kind, Option<RenameRule>),
        parameter: &syn::PatType,
        annotations: ParameterAnnotations,
        errors: &mut Errors,
    ) -> Option<Self> {
        let ident = errors.ok_or_push(plain_name(kind, &parameter.pat));
        let ty = errors.ok_or_push(split_reference(kind, &parameter.ty));
        if let Some(attribute) = parameter.attrs.first() {
            errors.push(syn::Error::new_spanned(
                attribute,
                format!(
                    "a parameter of a {} takes only `#[arg(…)]`, `#[complete(…)]` and doc comments",
                    kind.noun()
                ),
            ));
        }
        if let Some(complete) = &annotations.complete
            && !matches!(kind, Kind::Prompt | Kind::ResourceTemplate)
        {
            errors.push(syn::Error::new(
                complete.key,
                format!("clients complete arguments only for prompts and resource templates, not for a {}; remove `complete`", kind.noun()),
            ));
        }
        let options = &annotations.options;
        check_options(kind, options, errors);
        let example = check_argument(options, errors);
        let (ident, (lent, ty)) = (ident?, ty?);
        Some(Self {
            name: Name::of_field(options.name.as_ref(), &ident, rename_all),
            ty,
            lent,
            example,
            annotations,
        })
    }
}

/// Checks that each option is supported for this kind of handler, and that `flatten` is not combined with options that
/// apply to a single argument.
fn check_options(kind: Kind, options: &ArgumentOptions, errors: &mut Errors) {
    if let Some(header) = &options.header
        && kind != Kind::Tool
    {
        errors.push(syn::Error::new(
            header.span(),
            format!(
                "headers can mirror only the arguments of tools, not those of a {}; remove `header`",
                kind.noun()
            ),
        ));
    }
    if let Some(title) = &options.title {
        errors.push(syn::Error::new(
            title.key,
            "only the fields of forms have a `title`; the model reads the name and the description",
        ));
    }
    if options.any_path.is_present() && kind != Kind::ResourceTemplate {
        errors.push(syn::Error::new(
            options.any_path.span(),
            format!(
                "`any_path` is for variables of resource templates; an argument of a {} accepts any string",
                kind.noun()
            ),
        ));
    }
    if !options.flatten.is_present() {
        return;
    }
    if kind != Kind::Tool {
        errors.push(syn::Error::new(
            options.flatten.span(),
            format!(
                "`flatten` is for tools; list the arguments of a {} one by one",
                kind.noun()
            ),
        ));
    }
    let constraints = &options.constraints;
    let others = [
        options.name.as_ref().map(syn::LitStr::span),
        options.default.as_ref().map(|option| option.key),
        constraints.range.as_ref().map(|option| option.key),
        constraints
            .exclusive_minimum
            .as_ref()
            .map(|option| option.key),
        constraints.length.as_ref().map(|option| option.key),
        constraints.pattern.as_ref().map(|option| option.key),
        constraints.format.as_ref().map(|option| option.key),
        constraints.items.as_ref().map(|option| option.key),
        options.header.as_ref().map(syn::LitStr::span),
    ];
    for span in others.into_iter().flatten() {
        errors.push(syn::Error::new(
            span,
            "this option does not apply to a flattened parameter; put it on the fields of the parameter's type",
        ));
    }
}

fn plain_name(kind: Kind, pattern: &syn::Pat) -> syn::Result<syn::Ident> {
    match pattern {
        syn::Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            Ok(name.ident.clone())
        }
        other => Err(syn::Error::new_spanned(
            other,
            format!(
                "a {} argument needs a plain name, because the name becomes a JSON property",
                kind.noun()
            ),
        )),
    }
}

/// Returns `(true, T)` for a type `&T`, and `(false, ty)` for any other type.
fn split_reference(kind: Kind, ty: &syn::Type) -> syn::Result<(bool, syn::Type)> {
    let (lent, ty) = match ty {
        // A `$ty:ty` fragment of `macro_rules!` expands to an invisible group.
        syn::Type::Group(group) => return split_reference(kind, &group.elem),
        syn::Type::Paren(parentheses) => return split_reference(kind, &parentheses.elem),
        syn::Type::Reference(reference) => {
            if let Some(mutability) = &reference.mutability {
                return Err(syn::Error::new(
                    mutability.span,
                    format!(
                        "a {} argument cannot be `&mut`, because it belongs to one call; take it by value, and write `mut` before its name",
                        kind.noun()
                    ),
                ));
            }
            if let Some(lifetime) = &reference.lifetime
                && lifetime.ident == "static"
            {
                return Err(syn::Error::new(
                    lifetime.span(),
                    format!(
                        "a {} argument lives only as long as the call; remove `'static`, or take an owned type",
                        kind.noun()
                    ),
                ));
            }
            (true, &*reference.elem)
        }
        other => (false, other),
    };
    if let Some(span) = find_impl(ty) {
        return Err(syn::Error::new(
            span,
            format!(
                "a {} argument cannot be `impl …`; name the type",
                kind.noun()
            ),
        ));
    }
    if let Some((span, owned)) = find_nested_reference(ty) {
        return Err(syn::Error::new(
            span,
            format!("a reference must be the whole parameter type; write `{owned}` here"),
        ));
    }
    Ok((lent, ty.clone()))
}
