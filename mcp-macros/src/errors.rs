//! Collects errors from all stages so that the compiler reports them in a single run.

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors {
    found: Option<syn::Error>,
    keep_from_expanding: bool,
}

impl Errors {
    /// Adds an error that prevents the item from being expanded.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.keep_from_expanding = true;
        self.push_and_expand(error);
    }

    /// Adds an error but still expands the item, so that the compiler reports type errors in the same run.
    pub(crate) fn push_and_expand(&mut self, error: syn::Error) {
        match &mut self.found {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns the value if the result is `Ok`. Otherwise, adds the error and returns `None`.
    pub(crate) fn ok_or_push<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// Returns `true` if no error prevents the item from being expanded.
    pub(crate) fn can_expand(&self) -> bool {
        !self.keep_from_expanding
    }

    /// Combines all errors into a single error. Returns `None` if there are no errors.
    pub(crate) fn into_error(self) -> Option<syn::Error> {
        self.found
    }
}
