//! Models forms and choices.

use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::model::name::Name;
use crate::parse::choice::parse_word;
use crate::parse::doc_comment::Description;
use crate::parse::elicit::{ElicitedBody, ElicitedField, ElicitedType, ElicitedVariant};
use crate::parse::literal::find_signed_literal;
use crate::parse::rename::RenameRule;
use crate::parse::value::{Expression, Keyed, PathValue};

/// A type that derives `Elicit`, ready to be expanded.
pub(crate) struct Elicited {
    pub(crate) runtime: Option<PathValue>,
    pub(crate) ident: syn::Ident,
    pub(crate) contents: ElicitedContents,
}

/// The contents of a form or choice.
pub(crate) enum ElicitedContents {
    Form(Vec<FormField>),
    Choices(Vec<Choice>),
}

/// A form field.
pub(crate) struct FormField {
    pub(crate) name: Name,
    pub(crate) parsed: ElicitedField,
    /// The name of the `FieldFormat` variant.
    pub(crate) format: Option<&'static str>,
    /// The name of the `Literal` variant for the default.
    pub(crate) default: Option<&'static str>,
}

/// A choice in a form.
pub(crate) struct Choice {
    pub(crate) ident: syn::Ident,
    pub(crate) name: Name,
    pub(crate) title: Option<Description>,
}

impl Elicited {
    pub(crate) fn new(item: ElicitedType, errors: &mut Errors) -> Self {
        if !item.generics.params.is_empty() {
            errors.push(syn::Error::new_spanned(
                &item.generics,
                "a form cannot be generic, because its fields are known when the server is built; name the types",
            ));
        }
        let contents = match item.body {
            ElicitedBody::Fields(fields) => {
                ElicitedContents::Form(model_form_fields(fields, item.rename_all, errors))
            }
            ElicitedBody::Choices(variants) => {
                let choices = model_choices(&item.ident, variants, item.rename_all, errors);
                ElicitedContents::Choices(choices)
            }
            ElicitedBody::Unnamed(fields) => {
                errors.push(syn::Error::new_spanned(
                    fields,
                    "the fields of a form need names, because they become JSON properties",
                ));
                ElicitedContents::Form(Vec::new())
            }
            ElicitedBody::Union(union) => {
                errors.push(syn::Error::new(
                    union.span(),
                    "`#[derive(Elicit)]` belongs on a struct or an enum",
                ));
                ElicitedContents::Form(Vec::new())
            }
        };
        Self {
            runtime: item.runtime,
            ident: item.ident,
            contents,
        }
    }
}

fn model_form_fields(
    fields: Vec<ElicitedField>,
    rename_all: Option<RenameRule>,
    errors: &mut Errors,
) -> Vec<FormField> {
    let mut form: Vec<FormField> = Vec::new();
    for field in fields {
        let field = FormField::new(field, rename_all, errors);
        if form
            .iter()
            .any(|other| other.name.value == field.name.value)
        {
            errors.push(syn::Error::new(
                field.parsed.ident.span(),
                format!(
                    "field name `{}` is used twice; rename one of them",
                    field.name.value
                ),
            ));
        }
        form.push(field);
    }
    form
}

impl FormField {
    fn new(parsed: ElicitedField, rename_all: Option<RenameRule>, errors: &mut Errors) -> Self {
        let options = &parsed.options;
        let default = options.default.as_ref().map(|Expression(value)| {
            literal_kind(value).ok_or_else(|| {
                syn::Error::new_spanned(
                    value,
                    "the default of a field must be a literal: a string, a number, `true` or `false`",
                )
            })
        });
        if let Some(Keyed { key, value: range }) = &options.range
            && range.end.is_some()
            && range.last().is_none()
        {
            errors.push(syn::Error::new(
                *key,
                "a form cannot exclude the end of a decimal range; write `..=`",
            ));
        }
        let format = options
            .format
            .as_ref()
            .map(|name| field_format(&name.value));
        Self {
            name: Name::of_field(options.name.as_ref(), &parsed.ident, rename_all),
            default: default.and_then(|default| errors.ok_or_push(default)),
            format: format.and_then(|format| errors.ok_or_push(format)),
            parsed,
        }
    }
}

/// Returns the `FieldFormat` variant for a format name.
fn field_format(name: &syn::LitStr) -> syn::Result<&'static str> {
    let words = [
        ("email", "Email"),
        ("uri", "Uri"),
        ("date", "Date"),
        ("date-time", "DateTime"),
    ];
    Ok(parse_word("format", &syn::Lit::Str(name.clone()), &words)?)
}

/// Returns the `Literal` variant for a literal or a negative number, or `None` for any other expression.
fn literal_kind(value: &syn::Expr) -> Option<&'static str> {
    match find_signed_literal(value)? {
        (_, syn::Lit::Int(_) | syn::Lit::Float(_)) => Some("Number"),
        (_, syn::Lit::Str(_)) => Some("Text"),
        (_, syn::Lit::Bool(_)) => Some("Boolean"),
        _ => None,
    }
}

fn model_choices(
    name: &syn::Ident,
    variants: Vec<ElicitedVariant>,
    rename_all: Option<RenameRule>,
    errors: &mut Errors,
) -> Vec<Choice> {
    if variants.is_empty() {
        errors.push(syn::Error::new_spanned(
            name,
            "a choice needs at least one variant",
        ));
    }
    let choice = |variant: ElicitedVariant| {
        if !matches!(variant.fields, syn::Fields::Unit) {
            errors.push(syn::Error::new_spanned(
                &variant.fields,
                "a choice cannot hold data, because forms are flat; remove the fields",
            ));
        }
        Choice {
            name: Name::of_variant(variant.name.as_ref(), &variant.ident, rename_all),
            ident: variant.ident,
            title: variant.title,
        }
    };
    variants.into_iter().map(choice).collect()
}
