//! Who may use a definition.

use crate::model::Errors;
use crate::parse::access::Scopes;
use crate::parse::value::PathValue;

/// Who may use a definition.
#[derive(Default)]
pub(crate) struct Access {
    /// All of them are needed.
    pub(crate) scopes: Vec<syn::LitStr>,
    /// The function that says whether it is there for a caller.
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

/// A scope that is there twice was meant to be another one.
fn check_once(scopes: &[syn::LitStr], errors: &mut Errors) {
    for (index, scope) in scopes.iter().enumerate() {
        let mut earlier = scopes.iter().take(index);
        if earlier.any(|earlier| earlier.value() == scope.value()) {
            errors.push(syn::Error::new(
                scope.span(),
                format!("scope `{}` is there twice", scope.value()),
            ));
        }
    }
}
