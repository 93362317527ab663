//! Rules for scopes.

use crate::errors::Errors;
use crate::parse::access::Scopes;
use crate::parse::listed::ListedOptions;

/// Rejects duplicates, because the author probably meant the second scope to be a different one.
pub(crate) fn check_scopes(options: &ListedOptions, errors: &mut Errors) {
    let Some(Scopes(scopes)) = &options.scopes else {
        return;
    };
    for (index, scope) in scopes.iter().enumerate() {
        let mut earlier = scopes.iter().take(index);
        if earlier.any(|earlier| earlier.value() == scope.value()) {
            errors.push(syn::Error::new(
                scope.span(),
                format!("scope `{}` is listed twice; keep one", scope.value()),
            ));
        }
    }
}
