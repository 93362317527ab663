//! Names as seen by clients.

use proc_macro2::Span;
use syn::ext::IdentExt;

use crate::parse::rename::RenameRule;

/// A name that appears on the wire.
pub(crate) struct Name {
    pub(crate) value: String,
    /// The span of the literal or identifier.
    pub(crate) span: Span,
}

impl Name {
    /// Creates the name of a field or parameter. Without the option, a rule turns the identifier into the name.
    pub(crate) fn of_field(
        option: Option<&syn::LitStr>,
        ident: &syn::Ident,
        rule: Option<RenameRule>,
    ) -> Self {
        Self::renamed(option, ident, |name| match rule {
            Some(rule) => rename_field(rule, &name),
            None => name,
        })
    }

    /// Creates the name of a variant. Without the option, a rule turns the identifier into the name.
    pub(crate) fn of_variant(
        option: Option<&syn::LitStr>,
        ident: &syn::Ident,
        rule: Option<RenameRule>,
    ) -> Self {
        Self::renamed(option, ident, |name| match rule {
            Some(rule) => rename_variant(rule, &name),
            None => name,
        })
    }

    fn renamed(
        option: Option<&syn::LitStr>,
        ident: &syn::Ident,
        rename: impl FnOnce(String) -> String,
    ) -> Self {
        let mut name = Self::new(option, ident);
        if option.is_none() {
            name.value = rename(name.value);
        }
        name
    }

    /// Creates a name from the option's value if there is one, and from the identifier otherwise.
    pub(crate) fn new(option: Option<&syn::LitStr>, ident: &syn::Ident) -> Self {
        match option {
            Some(name) => Self {
                value: name.value(),
                span: name.span(),
            },
            None => Self {
                value: ident.unraw().to_string(),
                span: ident.span(),
            },
        }
    }
}

/// Applies a rule to a name in `snake_case`, as serde does.
fn rename_field(rule: RenameRule, name: &str) -> String {
    match rule {
        RenameRule::Lower | RenameRule::Snake => name.to_owned(),
        RenameRule::Upper | RenameRule::ScreamingSnake => name.to_ascii_uppercase(),
        RenameRule::Pascal => {
            let words = name.split('_').map(|word| {
                let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
                first.to_ascii_uppercase() + rest
            });
            words.collect()
        }
        RenameRule::Camel => lower_first(&rename_field(RenameRule::Pascal, name)),
        RenameRule::Kebab => name.replace('_', "-"),
        RenameRule::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
    }
}

/// Applies a rule to a name in `PascalCase`, as serde does.
fn rename_variant(rule: RenameRule, name: &str) -> String {
    match rule {
        RenameRule::Pascal => name.to_owned(),
        RenameRule::Lower => name.to_ascii_lowercase(),
        RenameRule::Upper => name.to_ascii_uppercase(),
        RenameRule::Camel => lower_first(name),
        RenameRule::Snake => {
            let mut snake = String::new();
            for (index, character) in name.char_indices() {
                if index > 0 && character.is_uppercase() {
                    snake.push('_');
                }
                snake.push(character.to_ascii_lowercase());
            }
            snake
        }
        RenameRule::ScreamingSnake => rename_variant(RenameRule::Snake, name).to_ascii_uppercase(),
        RenameRule::Kebab => rename_variant(RenameRule::Snake, name).replace('_', "-"),
        RenameRule::ScreamingKebab => {
            rename_variant(RenameRule::ScreamingSnake, name).replace('_', "-")
        }
    }
}

fn lower_first(name: &str) -> String {
    let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    first.to_ascii_lowercase() + rest
}

#[cfg(test)]
mod tests {
    use super::{RenameRule, rename_field, rename_variant};

    #[test]
    fn rename_rules_agree_with_serde() {
        for (rule, field, variant) in [
            (RenameRule::Lower, "given_to", "givenaway"),
            (RenameRule::Upper, "GIVEN_TO", "GIVENAWAY"),
            (RenameRule::Pascal, "GivenTo", "GivenAway"),
            (RenameRule::Camel, "givenTo", "givenAway"),
            (RenameRule::Snake, "given_to", "given_away"),
            (RenameRule::ScreamingSnake, "GIVEN_TO", "GIVEN_AWAY"),
            (RenameRule::Kebab, "given-to", "given-away"),
            (RenameRule::ScreamingKebab, "GIVEN-TO", "GIVEN-AWAY"),
        ] {
            assert_eq!(rename_field(rule, "given_to"), field, "{rule:?}");
            assert_eq!(rename_variant(rule, "GivenAway"), variant, "{rule:?}");
        }
        assert_eq!(rename_field(RenameRule::Camel, "_x1__äb"), "x1äb");
    }
}
