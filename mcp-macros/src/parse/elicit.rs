//! Parses types with `#[derive(Elicit)]`, and the `#[arg(…)]` options on their fields and variants.

use darling::FromAttributes;
use proc_macro2::TokenStream;
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::parse::argument::ArgumentOptions;
use crate::parse::data_field::option_names;
use crate::parse::doc_comment::Description;
use crate::parse::rename::{RenameRule, serde_rename, serde_rename_all};
use crate::parse::reword::reworded_error;
use crate::parse::value::{Expression, PathValue, text};

/// Options on the type.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct FormOptions {
    /// The path to the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// Options on an enum variant.
#[derive(Default, FromAttributes)]
#[darling(attributes(arg))]
pub(crate) struct ChoiceOptions {
    /// The value in the client's answer. Defaults to serde's name.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// A display name that replaces the doc comment.
    pub(crate) title: Option<Expression>,
}

/// A type that derives `Elicit`.
pub(crate) struct ElicitedType {
    pub(crate) ident: syn::Ident,
    pub(crate) generics: syn::Generics,
    pub(crate) runtime: Option<PathValue>,
    /// The rule in `#[serde(rename_all = "…")]`.
    pub(crate) rename_all: Option<RenameRule>,
    pub(crate) body: ElicitedBody,
}

/// The contents of a type that derives `Elicit`.
pub(crate) enum ElicitedBody {
    /// The fields of a tuple struct.
    Unnamed(syn::FieldsUnnamed),
    /// The fields of any other struct.
    Fields(Vec<ElicitedField>),
    /// The variants of an enum.
    Choices(Vec<ElicitedVariant>),
    Union(syn::Token![union]),
}

/// A field of a struct that derives `Elicit`.
pub(crate) struct ElicitedField {
    pub(crate) ident: syn::Ident,
    pub(crate) ty: syn::Type,
    pub(crate) description: Option<Description>,
    pub(crate) options: ArgumentOptions,
}

/// A variant of an enum that derives `Elicit`.
pub(crate) struct ElicitedVariant {
    pub(crate) ident: syn::Ident,
    pub(crate) fields: syn::Fields,
    pub(crate) name: Option<syn::LitStr>,
    pub(crate) title: Option<Description>,
}

/// Parses a type with `#[derive(Elicit)]`.
pub(crate) fn parse_elicit(item: TokenStream, errors: &mut Errors) -> syn::Result<ElicitedType> {
    let item: syn::DeriveInput = syn::parse2(item)?;
    let FormOptions { runtime } = parse_attributes(&item.attrs, errors);
    if let Some(attribute) = item.attrs.iter().find(|it| it.path().is_ident("arg")) {
        errors.push(syn::Error::new_spanned(
            attribute.path(),
            "`#[arg(…)]` describes the fields of a form and the variants of a choice, not the type; to set the path of the \
             runtime crate, write `#[elicit(crate = path)]`",
        ));
    }
    let rename_all = serde_rename_all(&item.attrs, errors);
    let body = match item.data {
        syn::Data::Struct(data) => match data.fields {
            syn::Fields::Unnamed(fields) => ElicitedBody::Unnamed(fields),
            fields => {
                let fields = fields.into_iter();
                ElicitedBody::Fields(
                    fields
                        .filter_map(|field| parse_field(field, errors))
                        .collect(),
                )
            }
        },
        syn::Data::Enum(data) => {
            let variants = data.variants.into_iter();
            ElicitedBody::Choices(
                variants
                    .map(|variant| parse_variant(variant, errors))
                    .collect(),
            )
        }
        syn::Data::Union(data) => ElicitedBody::Union(data.union_token),
    };
    Ok(ElicitedType {
        ident: item.ident,
        generics: item.generics,
        runtime,
        rename_all,
        body,
    })
}

/// Parses the options of a field; returns `None` if the field has no name.
fn parse_field(mut field: syn::Field, errors: &mut Errors) -> Option<ElicitedField> {
    read_as_arg(&mut field.attrs, errors);
    let mut options: ArgumentOptions = parse_attributes(&field.attrs, errors);
    if options.name.is_none() {
        options.name = serde_rename(&field.attrs, errors);
    }
    Some(ElicitedField {
        ident: field.ident?,
        ty: field.ty,
        description: Description::new(options.description.as_ref(), &field.attrs),
        options,
    })
}

fn parse_variant(mut variant: syn::Variant, errors: &mut Errors) -> ElicitedVariant {
    read_as_arg(&mut variant.attrs, errors);
    let ChoiceOptions { name, title } = parse_attributes(&variant.attrs, errors);
    ElicitedVariant {
        ident: variant.ident,
        fields: variant.fields,
        name: name.or_else(|| serde_rename(&variant.attrs, errors)),
        title: Description::new(title.as_ref(), &variant.attrs),
    }
}

/// Reports `#[elicit(…)]` on a field or variant, and reads it as the `#[arg(…)]` that it should be, so that nothing else is
/// reported.
fn read_as_arg(attributes: &mut [syn::Attribute], errors: &mut Errors) {
    for attribute in attributes {
        let (syn::Meta::Path(path) | syn::Meta::List(syn::MetaList { path, .. })) =
            &mut attribute.meta
        else {
            continue;
        };
        if !path.is_ident("elicit") {
            continue;
        }
        let span = path.span();
        *path = syn::Ident::new("arg", span).into();
        let names = option_names(&attribute.meta).join("…, ");
        errors.push_and_expand(syn::Error::new(
            span,
            format!("write `#[arg({names}…)]`; the fields of forms take the options of parameters"),
        ));
    }
}

/// Parses the options in an attribute. If there is an error, no options are set.
fn parse_attributes<T: Default + FromAttributes>(
    attributes: &[syn::Attribute],
    errors: &mut Errors,
) -> T {
    let options = T::from_attributes(attributes).map_err(reworded_error);
    errors.ok_or_push(options).unwrap_or_default()
}
