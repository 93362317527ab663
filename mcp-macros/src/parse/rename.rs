//! Parses rules for renaming, such as `rename_all = "camelCase"`, and the names that serde's attributes specify.

use darling::{FromMeta, Result};
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::parse::choice::parse_word;
use crate::parse::literal::find_literal;

/// A rule that turns Rust names into names on the wire. The rules are those of serde.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RenameRule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl FromMeta for RenameRule {
    fn from_value(value: &syn::Lit) -> Result<Self> {
        let words = [
            ("lowercase", Self::Lower),
            ("UPPERCASE", Self::Upper),
            ("PascalCase", Self::Pascal),
            ("camelCase", Self::Camel),
            ("snake_case", Self::Snake),
            ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
            ("kebab-case", Self::Kebab),
            ("SCREAMING-KEBAB-CASE", Self::ScreamingKebab),
        ];
        parse_word("rename_all", value, &words)
    }
}

/// Returns the rule in `#[serde(rename_all = "…")]`, if there is one.
pub(crate) fn serde_rename_all(
    attributes: &[syn::Attribute],
    errors: &mut Errors,
) -> Option<RenameRule> {
    let rule = serde_text(attributes, "rename_all", errors)?;
    let rule = RenameRule::from_value(&syn::Lit::Str(rule));
    errors.ok_or_push(rule.map_err(syn::Error::from))
}

/// Returns the name in `#[serde(rename = "…")]`, if there is one.
pub(crate) fn serde_rename(
    attributes: &[syn::Attribute],
    errors: &mut Errors,
) -> Option<syn::LitStr> {
    serde_text(attributes, "rename", errors)
}

/// Returns the value of one of serde's options that rename.
fn serde_text(
    attributes: &[syn::Attribute],
    option: &str,
    errors: &mut Errors,
) -> Option<syn::LitStr> {
    let mut found = None;
    for attribute in attributes {
        if !attribute.path().is_ident("serde") {
            continue;
        }
        // Attributes that cannot be parsed are reported by serde's derives.
        let _ = attribute.parse_nested_meta(|meta| {
            let is_wanted = meta.path.is_ident(option);
            if meta.input.peek(syn::Token![=]) {
                let value: syn::Expr = meta.value()?.parse()?;
                if let Some(syn::Lit::Str(text)) = find_literal(&value).filter(|_| is_wanted) {
                    found = Some(text.clone());
                }
            } else if meta.input.peek(syn::token::Paren) {
                let list;
                syn::parenthesized!(list in meta.input);
                list.parse::<proc_macro2::TokenStream>()?;
                if is_wanted {
                    errors.push(syn::Error::new(
                        meta.path.span(),
                        format!(
                            "a form has the same names when it is sent and when it is answered; write `{option} = \"…\"`, or \
                             `#[arg(name = \"…\")]`"
                        ),
                    ));
                }
            }
            Ok(())
        });
    }
    found
}
