//! Models a type for arguments and results.

use proc_macro2::Span;

use crate::errors::Errors;
use crate::parse::data::{DataOptions, decides_about_unknown_fields, is_written_as_a_name};
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
}

impl Data {
    pub(crate) fn new(mut ty: syn::DeriveInput, options: DataOptions, errors: &mut Errors) -> Self {
        if let Some(above) = misplaced_helper_attribute(&ty) {
            errors.push(syn::Error::new_spanned(
                above.path(),
                "this attribute has no effect above `#[data]`; move it below",
            ));
        }
        check_data_options(&options, errors);
        check_display(&options, &ty, errors);
        take_markers(&mut ty, errors);
        let (input, output) = (options.input.is_present(), options.output.is_present());
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
            ty,
        }
    }
}

/// Removes parameter attributes from the fields. The errors explain what to write instead.
fn take_markers(ty: &mut syn::DeriveInput, errors: &mut Errors) {
    let fields: Box<dyn Iterator<Item = &mut syn::Field>> = match &mut ty.data {
        syn::Data::Struct(data) => Box::new(data.fields.iter_mut()),
        syn::Data::Enum(data) => {
            let variants = data.variants.iter_mut();
            Box::new(variants.flat_map(|variant| variant.fields.iter_mut()))
        }
        syn::Data::Union(_) => return,
    };
    for field in fields {
        for (marker, instead) in MARKERS {
            field.attrs.retain(|found| {
                let is_marker = found.path().is_ident(marker);
                if is_marker {
                    errors.push(syn::Error::new_spanned(found.path(), instead));
                }
                !is_marker
            });
        }
    }
}

/// Parameter attributes, each with an error that suggests what to write on a field instead.
const MARKERS: [(&str, &str); 2] = [
    (
        "arg",
        "`#[arg(…)]` is for parameters; on a field write `#[schemars(range(min = 1, max = 9))]`, `#[schemars(length(…))]` or \
         `#[schemars(regex(pattern = \"…\"))]` to constrain it, `#[serde(default)]` to make it optional, \
         `#[serde(rename = \"…\")]` to rename it, and a doc comment to describe it",
    ),
    (
        "complete",
        "`#[complete(…)]` is for parameters of prompts and resource templates; for a field, use an enum: its values are in the \
         schema",
    ),
];

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
