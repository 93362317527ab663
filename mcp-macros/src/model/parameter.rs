//! The model of a parameter.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;

use darling::FromAttributes;

use crate::model::default_value::{self, DefaultValue};
use crate::model::handler::Name;
use crate::model::{Errors, Kind};
use crate::parse::argument::{
    ArgumentOptions, Complete, DefaultOption, ItemOptions, Length, NumberValue, Range,
    parse_complete,
};
use crate::parse::doc_comment;
use crate::parse::reword::reworded;
use crate::parse::value::{Expression, Keyed};

/// A parameter other than `self`.
pub(crate) struct Parameter {
    pub(crate) name: Name,
    /// An expression of type `&'static str`.
    pub(crate) description: Option<TokenStream>,
    /// The type as written; for `&T`, the `T`.
    pub(crate) ty: syn::Type,
    /// `true` if the function borrows the value: `&T`.
    pub(crate) lent: bool,
    pub(crate) constraints: Constraints,
    /// A sample value, as JSON.
    pub(crate) example: Option<String>,
    pub(crate) default: Option<Keyed<DefaultValue>>,
    pub(crate) complete: Option<Complete>,
    pub(crate) header: Option<syn::LitStr>,
    pub(crate) flatten: bool,
    /// The span of `any_path`, which accepts values that lead out of a directory.
    pub(crate) any_path: Option<Span>,
    /// The span of `#[arg(…)]`, which is for arguments only.
    pub(crate) marker: Option<Span>,
}

/// The constraints of a value.
#[derive(Default)]
pub(crate) struct Constraints {
    pub(crate) range: Option<Keyed<Range>>,
    pub(crate) length: Option<Keyed<Length>>,
    pub(crate) pattern: Option<Keyed<syn::LitStr>>,
    pub(crate) format: Option<Keyed<syn::LitStr>>,
    pub(crate) items: Option<Keyed<Box<Constraints>>>,
}

impl Constraints {
    pub(crate) fn is_empty(&self) -> bool {
        self.range.is_none()
            && self.length.is_none()
            && self.pattern.is_none()
            && self.format.is_none()
            && self.items.is_none()
    }

    fn from_items(options: ItemOptions) -> Self {
        Self {
            range: options.range,
            length: options.length,
            pattern: options.pattern,
            format: options.format,
            items: options.items.map(|items| Keyed {
                key: items.key,
                value: Box::new(Self::from_items(*items.value)),
            }),
        }
    }

    /// Rejects empty ranges, which allow no value at all.
    fn check(&self, errors: &mut Errors) {
        if let Some(Keyed {
            key,
            value:
                Range {
                    start: Some(start),
                    end: Some(end),
                },
        }) = &self.range
        {
            let empty = match (start.value, end.value) {
                (NumberValue::Integer(start), NumberValue::Integer(end)) => start > end,
                (NumberValue::Float(start), NumberValue::Float(end)) => start > end,
                _ => {
                    errors.push(syn::Error::new(
                        *key,
                        "the ends of a range must both be whole numbers or both be decimal numbers",
                    ));
                    false
                }
            };
            if empty {
                errors.push(syn::Error::new(
                    *key,
                    "this range is empty, so it allows no value",
                ));
            }
        }
        if let Some(Keyed {
            key,
            value:
                Length {
                    min: Some(min),
                    max: Some(max),
                },
        }) = &self.length
            && min > max
        {
            errors.push(syn::Error::new(
                *key,
                "this range is empty, so it allows no length",
            ));
        }
        if let Some(items) = &self.items {
            items.value.check(errors);
        }
    }
}

impl Parameter {
    /// Returns the valid parameters of a signature. `markers` are the attributes that were removed from each parameter.
    pub(crate) fn from_signature(
        kind: Kind,
        signature: &syn::Signature,
        markers: &[Vec<syn::Attribute>],
        errors: &mut Errors,
    ) -> Vec<Self> {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(parameter) => Some(parameter),
            syn::FnArg::Receiver(_) => None,
        });
        typed
            .zip(markers)
            .filter_map(|(parameter, markers)| Self::from_syntax(kind, parameter, markers, errors))
            .collect()
    }

    fn from_syntax(
        kind: Kind,
        parameter: &syn::PatType,
        markers: &[syn::Attribute],
        errors: &mut Errors,
    ) -> Option<Self> {
        let options = errors.take(ArgumentOptions::from_attributes(markers).map_err(reworded));
        let complete = errors.take(parse_complete(markers)).flatten();
        let ident = errors.take(plain_name(kind, &parameter.pat));
        let ty = errors.take(lent_or_owned(kind, &parameter.ty));
        if let Some(attribute) = parameter.attrs.first() {
            errors.push(syn::Error::new_spanned(
                attribute,
                format!(
                    "a parameter of a {} takes only `#[arg(…)]`, `#[complete(…)]` and doc comments",
                    kind.noun()
                ),
            ));
        }
        if let Some(complete) = &complete
            && !matches!(kind, Kind::Prompt | Kind::ResourceTemplate)
        {
            errors.push(syn::Error::new(
                complete.key,
                format!("clients complete only arguments of prompts and resource templates, not of a {}; remove `complete`", kind.noun()),
            ));
        }
        let (options, ident, (lent, ty)) = (options?, ident?, ty?);
        check_options(kind, &options, errors);
        let example = options.example.and_then(|Expression(example)| {
            let json = default_value::to_json(&example);
            if json.is_none() {
                errors.push(syn::Error::new_spanned(
                    example,
                    "an example must be a literal",
                ));
            }
            json
        });
        let constraints = Constraints {
            range: options.range,
            length: options.length,
            pattern: options.pattern,
            format: options.format,
            items: options.items.map(|items| Keyed {
                key: items.key,
                value: Box::new(Constraints::from_items(items.value)),
            }),
        };
        constraints.check(errors);
        if let Some(DefaultOption::Value(value)) =
            options.default.as_ref().map(|default| &default.value)
        {
            default_value::check(value, &constraints, errors);
        }
        Some(Self {
            name: Name::new(options.name.as_ref(), &ident),
            description: match options.description {
                Some(Expression(description)) => Some(quote::quote!(#description)),
                None => doc_comment::from_attributes(markers),
            },
            ty,
            lent,
            constraints,
            example,
            default: options.default.map(|default| Keyed {
                key: default.key,
                value: DefaultValue::from_option(default.value),
            }),
            complete: complete.map(|complete| complete.value),
            header: options.header,
            flatten: options.flatten.is_present(),
            any_path: options
                .any_path
                .is_present()
                .then(|| options.any_path.span()),
            marker: markers
                .iter()
                .find(|marker| marker.path().is_ident("arg"))
                .map(|marker| marker.path().span()),
        })
    }
}

/// Checks that each option is used on its kind of handler only, and that `flatten` is not combined with options of a single
/// argument.
fn check_options(kind: Kind, options: &ArgumentOptions, errors: &mut Errors) {
    if let Some(header) = &options.header
        && kind != Kind::Tool
    {
        errors.push(syn::Error::new(
            header.span(),
            format!(
                "headers mirror only arguments of tools, not of a {}; remove `header`",
                kind.noun()
            ),
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
    let others = [
        options.name.as_ref().map(syn::LitStr::span),
        options.default.as_ref().map(|option| option.key),
        options.range.as_ref().map(|option| option.key),
        options.length.as_ref().map(|option| option.key),
        options.pattern.as_ref().map(|option| option.key),
        options.format.as_ref().map(|option| option.key),
        options.items.as_ref().map(|option| option.key),
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

/// Returns `true` and the `T` for a type `&T`, `false` and the type for any other.
fn lent_or_owned(kind: Kind, ty: &syn::Type) -> syn::Result<(bool, syn::Type)> {
    let (lent, ty) = match ty {
        // A `$type:ty` of `macro_rules!` expands to an invisible group.
        syn::Type::Group(group) => return lent_or_owned(kind, &group.elem),
        syn::Type::Paren(parentheses) => return lent_or_owned(kind, &parentheses.elem),
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
    if let Some(span) = find_impl(ty.to_token_stream()) {
        return Err(syn::Error::new(
            span,
            format!(
                "a {} argument cannot be `impl …`; name the type",
                kind.noun()
            ),
        ));
    }
    if let Some((span, owned)) = find_nested_reference(ty.to_token_stream()) {
        return Err(syn::Error::new(
            span,
            format!("a reference must be the whole parameter type; write `{owned}` here"),
        ));
    }
    Ok((lent, ty.clone()))
}

/// Finds a reference nested inside a type; returns its span and the owned type to write instead.
fn find_nested_reference(tokens: TokenStream) -> Option<(Span, String)> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        match tree {
            TokenTree::Punct(and) if and.as_char() == '&' => {
                let mut lifetime = None;
                if tokens
                    .next_if(
                        |tree| matches!(tree, TokenTree::Punct(quote) if quote.as_char() == '\''),
                    )
                    .is_some()
                {
                    lifetime = tokens.next();
                }
                // A `'static` reference outlives the call, so shared state may hold it.
                if matches!(lifetime, Some(TokenTree::Ident(name)) if name == "static") {
                    continue;
                }
                let referent = match tokens
                    .find(|tree| !matches!(tree, TokenTree::Ident(word) if word == "mut"))
                {
                    Some(TokenTree::Ident(name)) if name == "str" => "String".to_owned(),
                    Some(TokenTree::Ident(name)) if name == "Path" => "PathBuf".to_owned(),
                    Some(TokenTree::Ident(name)) => name.to_string(),
                    Some(TokenTree::Group(items)) => format!("Vec<{}>", items.stream()),
                    _ => "an owned type".to_owned(),
                };
                return Some((and.span(), referent));
            }
            // References in the parameters of a function pointer are allowed.
            TokenTree::Ident(word) if word == "fn" => return None,
            TokenTree::Group(group) => {
                if let Some(found) = find_nested_reference(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the span of the word `impl` in a type.
pub(crate) fn find_impl(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|tree| match tree {
        TokenTree::Ident(ident) if ident == "impl" => Some(ident.span()),
        TokenTree::Group(group) => find_impl(group.stream()),
        _ => None,
    })
}
