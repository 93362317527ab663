//! `#[data]`: the derives that an argument or result needs, through the runtime's re-exports.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use crate::expand::handler::runtime;
use crate::expand::with_error;
use crate::model::Errors;
use crate::parse::item_options::parse_options;
use crate::parse::server::DataOptions;
use crate::parse::value::PathValue;

/// Expands `#[data]`.
pub(crate) fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    let options: DataOptions = match parse_options(options) {
        Ok(options) => options,
        Err(error) => return with_error(item, &error),
    };
    let Ok(mut ty) = syn::parse2::<syn::DeriveInput>(item.clone()) else {
        let error = syn::Error::new(
            Span::call_site(),
            "`#[data]` belongs on a struct or an enum",
        );
        return with_error(item, &error);
    };
    if let Some(above) = helper_above(&ty) {
        let error = syn::Error::new_spanned(
            above.path(),
            "this attribute has no meaning above `#[data]`; move it below",
        );
        return with_error(item, &error);
    }
    if let Err(error) = check(&options) {
        return with_error(item, &error);
    }
    let markers = take_markers(&mut ty);
    let runtime = runtime(options.runtime.as_ref().map(|PathValue(path)| path));
    let serialize = (!options.input.is_present()).then(|| quote!(#runtime::serde::Serialize,));
    let deserialize = (!options.output.is_present()).then(|| quote!(#runtime::serde::Deserialize,));
    let serde = path_text(&quote!(#runtime::serde));
    let schemars = path_text(&quote!(#runtime::schemars));
    let closed = is_closed(&options, &ty).then(|| quote!(, deny_unknown_fields));
    let derived = quote!(
        #[derive(#serialize #deserialize #runtime::schemars::JsonSchema)]
        #[serde(crate = #serde #closed)]
        #[schemars(crate = #schemars)]
        #ty
    );
    match markers {
        Ok(()) => derived,
        Err(error) => with_error(derived, &error),
    }
}

/// Removes parameter attributes from the fields; the errors say what to write instead.
fn take_markers(ty: &mut syn::DeriveInput) -> syn::Result<()> {
    let mut errors = Errors::default();
    let fields: Box<dyn Iterator<Item = &mut syn::Field>> = match &mut ty.data {
        syn::Data::Struct(data) => Box::new(data.fields.iter_mut()),
        syn::Data::Enum(data) => {
            let variants = data.variants.iter_mut();
            Box::new(variants.flat_map(|variant| variant.fields.iter_mut()))
        }
        syn::Data::Union(_) => return Ok(()),
    };
    for field in fields {
        for (marker, instead) in MARKERS {
            let at = field
                .attrs
                .iter()
                .position(|found| found.path().is_ident(marker));
            if let Some(at) = at {
                let found = field.attrs.remove(at);
                errors.push(syn::Error::new_spanned(found.path(), instead));
            }
        }
    }
    errors.finish()
}

/// Attributes of parameters, each with the error that names its replacement on fields.
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

fn check(options: &DataOptions) -> syn::Result<()> {
    if !options.output.is_present() {
        return Ok(());
    }
    if options.input.is_present() {
        return Err(syn::Error::new(
            options.output.span(),
            "`input` and `output` together are the default; remove both",
        ));
    }
    if options.allow_unknown_fields.is_present() {
        return Err(syn::Error::new(
            options.allow_unknown_fields.span(),
            "`allow_unknown_fields` has no effect with `output`; remove it",
        ));
    }
    Ok(())
}

/// Finds an attribute of serde or schemars above `#[data]`, where Rust does not know it, even though the derive follows.
fn helper_above(ty: &syn::DeriveInput) -> Option<&syn::Attribute> {
    // Outside the compiler, as in unit tests, spans have no positions to compare.
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

/// Returns `true` if unknown fields are to be rejected, so that a misspelt field is not mistaken for an omitted one.
///
/// Returns `false` where serde cannot tell which fields are unknown, and where the author has decided already.
fn is_closed(options: &DataOptions, ty: &syn::DeriveInput) -> bool {
    let said = |attributes: &[syn::Attribute]| {
        attributes
            .iter()
            .any(|attribute| says(attribute.meta.to_token_stream(), false))
    };
    let flattens = |fields: &syn::Fields| fields.iter().any(|field| said(&field.attrs));
    let inside = match &ty.data {
        syn::Data::Struct(data) => flattens(&data.fields),
        syn::Data::Enum(data) => data
            .variants
            .iter()
            .any(|variant| said(&variant.attrs) || flattens(&variant.fields)),
        syn::Data::Union(_) => false,
    };
    !options.output.is_present()
        && !options.allow_unknown_fields.is_present()
        && !said(&ty.attrs)
        && !inside
}

/// Returns `true` if a `serde(…)` among these tokens, also inside `cfg_attr(…)`, decides what happens to unknown fields.
fn says(tokens: TokenStream, mut within: bool) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(word) => {
            within |= word == "serde";
            within && (word == "flatten" || word == "deny_unknown_fields")
        }
        TokenTree::Group(group) => says(group.stream(), within),
        _ => false,
    })
}

/// Returns a path as the string that serde and schemars expect.
fn path_text(path: &TokenStream) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
