//! Models forms and choices.

use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::model::argument::check_argument;
use crate::model::name::Name;
use crate::parse::argument::{ArgumentOptions, Constraints, DefaultValue};
use crate::parse::choice::parse_word;
use crate::parse::doc_comment::Description;
use crate::parse::elicit::{ElicitedBody, ElicitedField, ElicitedType, ElicitedVariant};
use crate::parse::literal::find_signed_literal;
use crate::parse::range::{Number, NumberValue};
use crate::parse::rename::RenameRule;
use crate::parse::value::PathValue;

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
    /// The name of the `Literal` variant for a default that is a literal.
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
        check_argument(options, errors);
        check_flat(options, errors);
        check_excluded_ends(&options.constraints, errors);
        let default = options.default.as_ref().and_then(|default| match &default.value {
            DefaultValue::OfType | DefaultValue::Rust(_) => None,
            DefaultValue::Json(value, _) => Some(literal_kind(value).ok_or_else(|| {
                syn::Error::new_spanned(
                    value,
                    "a form has only strings, numbers, `true`, `false` and lists of strings as defaults",
                )
            })),
        });
        let format = &options.constraints.format;
        let format = format.as_ref().map(|name| field_format(&name.value));
        Self {
            name: Name::of_field(options.name.as_ref(), &parsed.ident, rename_all),
            default: default.and_then(|default| errors.ok_or_push(default)),
            format: format.and_then(|format| errors.ok_or_push(format)),
            parsed,
        }
    }
}

/// Rejects options that the protocol's forms cannot carry. Clients would not tell the user about them.
fn check_flat(options: &ArgumentOptions, errors: &mut Errors) {
    let constraints = &options.constraints;
    let written = [
        (
            constraints.pattern.as_ref().map(|option| option.key),
            "the protocol's forms have no patterns; use `length` or `format`, describe the form of the answer, or take an enum",
        ),
        (
            constraints.items.as_ref().map(|option| option.key),
            "a list in a form is a choice among known values, so its items have no constraints; remove it",
        ),
        (
            options.example.as_ref().map(|option| option.key),
            "the protocol's forms have no examples; put it into the description",
        ),
        (
            options.header.as_ref().map(syn::LitStr::span),
            "`header` is for parameters of tools; an answer to a form has no headers, so remove it",
        ),
        (
            options.flatten.is_present().then(|| options.flatten.span()),
            "forms are flat, so a field cannot hold others; list the fields one by one",
        ),
        (
            options
                .any_path
                .is_present()
                .then(|| options.any_path.span()),
            "`any_path` is for variables of resource templates; a field accepts any string, so remove it",
        ),
    ];
    for (span, message) in written {
        if let Some(span) = span {
            errors.push(syn::Error::new(span, message));
        }
    }
}

/// Rejects decimal ends that are excluded. For whole numbers, the next number is the end.
fn check_excluded_ends(constraints: &Constraints, errors: &mut Errors) {
    let is_decimal = |number: &Number| matches!(number.value, NumberValue::Float(_));
    let range = constraints.range.as_ref();
    let end = range.filter(|range| {
        range.value.excludes_end && range.value.end.as_ref().is_some_and(is_decimal)
    });
    let start = constraints.exclusive_minimum.as_ref();
    let start = start.filter(|start| is_decimal(&start.value));
    for key in [end.map(|end| end.key), start.map(|start| start.key)]
        .into_iter()
        .flatten()
    {
        errors.push(syn::Error::new(
            key,
            "the protocol's forms cannot exclude the end of a decimal range; write `range(0.0..=1.0)`",
        ));
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

/// Returns the `Literal` variant for a literal, a negative number or a list of strings, or `None` for any other expression.
fn literal_kind(value: &syn::Expr) -> Option<&'static str> {
    if let syn::Expr::Array(list) = value {
        let is_text = |item| literal_kind(item) == Some("Text");
        return list.elems.iter().all(is_text).then_some("List");
    }
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
