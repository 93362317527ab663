//! Restrictions on who may use a definition.

use crate::model::Errors;
use crate::parse::access::Scopes;
use crate::parse::value::PathValue;

/// Restrictions on who may use a definition.
#[derive(Default)]
pub(crate) struct Access {
    /// The required scopes, all of them.
    pub(crate) scopes: Vec<syn::LitStr>,
    /// The function that decides whether a caller can see the definition.
    pub(crate) visible_if: Option<syn::Path>,
}

impl Access {
    pub(crate) fn new(
        scopes: Option<Scopes>,
        visible_if: Option<PathValue>,
        errors: &mut Errors,
    ) -> Self {
        let scopes = scopes.map(|Scopes(scopes)| scopes).unwrap_or_default();
        check_once(&scopes, errors);
        Self {
            scopes,
            visible_if: visible_if.map(|PathValue(path)| path),
        }
    }
}

/// Rejects duplicates, because the second scope was probably meant to be a different one.
fn check_once(scopes: &[syn::LitStr], errors: &mut Errors) {
    for (index, scope) in scopes.iter().enumerate() {
        let mut earlier = scopes.iter().take(index);
        if earlier.any(|earlier| earlier.value() == scope.value()) {
            errors.push(syn::Error::new(
                scope.span(),
                format!("scope `{}` is listed twice", scope.value()),
            ));
        }
    }
}
