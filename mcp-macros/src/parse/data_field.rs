//! Parses `#[arg(…)]` on the fields of a `#[data]` type, and removes it from them.

use darling::FromAttributes;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::parse::argument::ArgumentOptions;
use crate::parse::reword::reworded_error;

/// A field with `#[arg(…)]`.
pub(crate) struct ParsedDataField {
    /// The position among all fields of the type, in order.
    pub(crate) position: usize,
    pub(crate) ty: syn::Type,
    pub(crate) is_named: bool,
    pub(crate) options: ArgumentOptions,
    /// The span of the attribute's name.
    pub(crate) marker: Span,
    /// The options in the field's other attributes.
    pub(crate) others: OtherOptions,
}

/// The options that the author has written in the attributes of serde and schemars.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OtherOptions {
    /// The names of the options in `#[serde(…)]`.
    pub(crate) of_serde: Vec<String>,
    /// The names of the options in `#[schemars(…)]`, and in the attributes that schemars also reads.
    pub(crate) of_schemars: Vec<String>,
    /// The keywords that `extend("…" = …)` adds to the schema.
    pub(crate) keywords: Vec<String>,
}

/// Returns all fields of a struct or enum, in order.
pub(crate) fn fields_mut(ty: &mut syn::DeriveInput) -> Vec<&mut syn::Field> {
    match &mut ty.data {
        syn::Data::Struct(data) => data.fields.iter_mut().collect(),
        syn::Data::Enum(data) => {
            let variants = data.variants.iter_mut();
            variants
                .flat_map(|variant| variant.fields.iter_mut())
                .collect()
        }
        syn::Data::Union(_) => Vec::new(),
    }
}

/// Takes `#[arg(…)]` from the fields. If the type also derives `Elicit`, the attribute stays there for that derive.
pub(crate) fn take_data_fields(
    ty: &mut syn::DeriveInput,
    errors: &mut Errors,
) -> Vec<ParsedDataField> {
    let derives_a_form = derives_elicit(ty);
    let mut found = Vec::new();
    for (position, field) in fields_mut(ty).into_iter().enumerate() {
        let is_arg = |attribute: &&syn::Attribute| attribute.path().is_ident("arg");
        let Some(marker) = field.attrs.iter().find(is_arg) else {
            continue;
        };
        let marker = marker.path().span();
        let options = ArgumentOptions::from_attributes(&field.attrs).map_err(reworded_error);
        let mut options = errors.ok_or_push(options).unwrap_or_default();
        if derives_a_form {
            options.title = None;
        } else {
            field
                .attrs
                .retain(|attribute| !attribute.path().is_ident("arg"));
        }
        found.push(ParsedDataField {
            position,
            ty: field.ty.clone(),
            is_named: field.ident.is_some(),
            options,
            marker,
            others: OtherOptions::of(&field.attrs),
        });
    }
    found
}

/// Returns `true` if a derive below `#[data]` makes the type a form or a choice.
pub(crate) fn derives_elicit(ty: &syn::DeriveInput) -> bool {
    ty.attrs.iter().any(|attribute| {
        attribute.path().is_ident("derive")
            && matches!(&attribute.meta, syn::Meta::List(list)
                if list.tokens.clone().into_iter().any(|tree| matches!(tree, TokenTree::Ident(word) if word == "Elicit")))
    })
}

impl OtherOptions {
    /// Reads the attributes of serde and schemars, and those of other crates that schemars reads.
    pub(crate) fn of(attributes: &[syn::Attribute]) -> Self {
        let mut found = Self::default();
        for attribute in attributes {
            if let syn::Meta::List(list) = &attribute.meta {
                let name = list.path.get_ident().map(ToString::to_string);
                found.add_attribute(&name.unwrap_or_default(), &list.tokens);
            }
        }
        found
    }

    /// Returns the first of these options that is there.
    pub(crate) fn find<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        let is_there = |name: &&str| {
            let mut all = self.of_serde.iter().chain(&self.of_schemars);
            all.any(|other| other == name)
        };
        names.iter().copied().find(is_there)
    }

    fn add_attribute(&mut self, name: &str, options: &TokenStream) {
        match name {
            "serde" | "schemars" | "validate" | "garde" => {
                for (option, value) in named_groups(options) {
                    if option == "extend" {
                        self.keywords.extend(value.into_iter().flat_map(literals));
                    }
                    match name {
                        "serde" => self.of_serde.push(option),
                        _ => self.of_schemars.push(option),
                    }
                }
            }
            "cfg_attr" => {
                for (name, options) in named_groups(options) {
                    self.add_attribute(&name, &options.unwrap_or_default());
                }
            }
            _ => {}
        }
    }
}

/// Returns the names of the options in an attribute.
pub(crate) fn option_names(attribute: &syn::Meta) -> Vec<String> {
    match attribute {
        syn::Meta::List(list) => {
            let options = named_groups(&list.tokens).into_iter();
            options.map(|(name, _)| name).collect()
        }
        _ => Vec::new(),
    }
}

/// Splits a list at its commas. Returns the word with which each part begins, and the group in parentheses after it.
fn named_groups(list: &TokenStream) -> Vec<(String, Option<TokenStream>)> {
    let trees: Vec<TokenTree> = list.clone().into_iter().collect();
    let is_comma =
        |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',');
    let parts = trees.split(is_comma);
    parts
        .filter_map(|part| match part {
            [TokenTree::Ident(word), TokenTree::Group(group), ..]
                if group.delimiter() == Delimiter::Parenthesis =>
            {
                Some((word.to_string(), Some(group.stream())))
            }
            [TokenTree::Ident(word), ..] => Some((word.to_string(), None)),
            _ => None,
        })
        .collect()
}

/// Returns the string literals in a list.
fn literals(list: TokenStream) -> Vec<String> {
    let texts = list.into_iter().filter_map(|tree| match tree {
        TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
        _ => None,
    });
    texts.map(|text| text.value()).collect()
}

#[cfg(test)]
mod tests {
    use super::OtherOptions;

    #[test]
    fn options_of_serde_and_schemars_are_found_by_name() {
        let field: syn::Field = syn::parse_quote!(
            #[serde(rename = "range", default = "length")]
            #[cfg_attr(test, schemars(regex(pattern = "a"), extend("minimum" = 1, "x" = [2])))]
            #[doc = "format"]
            field: u8
        );
        let found = OtherOptions::of(&field.attrs);
        assert_eq!(
            found,
            OtherOptions {
                of_serde: ["rename", "default"].map(str::to_owned).to_vec(),
                of_schemars: ["regex", "extend"].map(str::to_owned).to_vec(),
                keywords: ["minimum", "x"].map(str::to_owned).to_vec(),
            }
        );
    }
}
