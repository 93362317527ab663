//! Models a type for arguments and results.

use proc_macro2::Span;

use crate::errors::Errors;
use crate::model::data_field::{DataField, FieldOwner};
use crate::parse::data::{DataOptions, decides_about_unknown_fields, is_written_as_a_name};
use crate::parse::data_field::{ParsedDataField, derives_elicit, fields_mut};
use crate::parse::value::PathValue;

/// Whether values of a type are received or sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Input,
    Output,
    Both,
}

/// A type for arguments and results, ready to be expanded.
pub(crate) struct Data {
    pub(crate) runtime: Option<PathValue>,
    pub(crate) ty: syn::DeriveInput,
    pub(crate) direction: Direction,
    /// `true` if unknown fields are rejected, so that a misspelled field is not mistaken for an omitted field. `false`
    /// if serde cannot determine which fields are unknown, or if the author has already decided how to treat them.
    pub(crate) closed: bool,
    /// `true` if `Display` prints serde's name for the variant.
    pub(crate) display: bool,
    /// The fields with `#[arg(…)]`.
    pub(crate) fields: Vec<DataField>,
}

impl Data {
    pub(crate) fn new(
        mut ty: syn::DeriveInput,
        fields: Vec<ParsedDataField>,
        options: DataOptions,
        errors: &mut Errors,
    ) -> Self {
        if let Some(above) = misplaced_helper_attribute(&ty) {
            errors.push(syn::Error::new_spanned(
                above.path(),
                "this attribute has no effect above `#[data]`; move it below",
            ));
        }
        check_data_options(&options, errors);
        check_display(&options, &ty, errors);
        take_completers(&mut ty, errors);
        take_options_of_variants(&mut ty, errors);
        let (input, output) = (options.input.is_present(), options.output.is_present());
        let owner = FieldOwner::new(&ty, output);
        let fields = fields.into_iter();
        let fields = fields
            .map(|field| DataField::new(field, &owner, errors))
            .collect();
        Self {
            runtime: options.runtime,
            direction: match (input, output) {
                (true, false) => Direction::Input,
                (false, true) => Direction::Output,
                _ => Direction::Both,
            },
            closed: !output
                && !options.allow_unknown_fields.is_present()
                && !decides_about_unknown_fields(&ty),
            display: options.display.is_present() && !input,
            fields,
            ty,
        }
    }
}

/// Removes `#[complete(…)]` from the fields. The errors explain what to write instead.
fn take_completers(ty: &mut syn::DeriveInput, errors: &mut Errors) {
    for field in fields_mut(ty) {
        field.attrs.retain(|found| {
            let is_completer = found.path().is_ident("complete");
            if is_completer {
                errors.push(syn::Error::new_spanned(
                    found.path(),
                    "`#[complete(…)]` is for parameters of prompts and resource templates; for a field, use an enum: its values \
                     are in the schema",
                ));
            }
            !is_completer
        });
    }
}

/// Removes `#[arg(…)]` from variants, except for those that are choices in a form.
fn take_options_of_variants(ty: &mut syn::DeriveInput, errors: &mut Errors) {
    if derives_elicit(ty) {
        return;
    }
    let syn::Data::Enum(data) = &mut ty.data else {
        return;
    };
    for variant in &mut data.variants {
        variant.attrs.retain(|found| {
            let is_arg = found.path().is_ident("arg");
            if is_arg {
                errors.push(syn::Error::new_spanned(
                    found.path(),
                    "`#[arg(…)]` describes the fields of a variant; to rename the variant, write `#[serde(rename = \"…\")]`, and \
                     to describe it, a doc comment",
                ));
            }
            !is_arg
        });
    }
}

fn check_data_options(options: &DataOptions, errors: &mut Errors) {
    if !options.output.is_present() {
        return;
    }
    if options.input.is_present() {
        errors.push(syn::Error::new(
            options.output.span(),
            "`input` and `output` together are the default; remove both",
        ));
    } else if options.allow_unknown_fields.is_present() {
        errors.push(syn::Error::new(
            options.allow_unknown_fields.span(),
            "`allow_unknown_fields` has no effect with `output`; remove it",
        ));
    }
}

fn check_display(options: &DataOptions, ty: &syn::DeriveInput, errors: &mut Errors) {
    if !options.display.is_present() {
        return;
    }
    if !is_written_as_a_name(ty) {
        errors.push(syn::Error::new(
            options.display.span(),
            "`display` prints the name of a variant, so it is for enums that serde writes as names: without data in the \
             variants and without a tag; remove it, and implement `Display` if you need it",
        ));
    } else if options.input.is_present() {
        errors.push(syn::Error::new(
            options.display.span(),
            "`display` needs the names for output; remove `input`",
        ));
    }
}

/// Finds a serde or schemars attribute above `#[data]`. Rust does not recognize the attribute there, because the derive
/// that introduces it comes later.
fn misplaced_helper_attribute(ty: &syn::DeriveInput) -> Option<&syn::Attribute> {
    // Outside the compiler, as in unit tests, spans do not have positions that could be compared.
    if !proc_macro::is_available() {
        return None;
    }
    let here = Span::call_site().unwrap();
    let above = |attribute: &&syn::Attribute| {
        let there = attribute.pound_token.span.unwrap();
        there.file() == here.file() && (there.line(), there.column()) < (here.line(), here.column())
    };
    ty.attrs
        .iter()
        .filter(|attribute| {
            attribute.path().is_ident("serde") || attribute.path().is_ident("schemars")
        })
        .find(above)
}
