//! Finds errors marked with `#[expose]` in an error's chain of causes.

use std::error::Error as StdError;
use std::io;

use crate::handler::safe_path::UnsafePath;

/// A function that returns an error's text if the error's type and variant are marked. Created only by the macro.
#[derive(Debug)]
pub struct ExposedError(pub fn(&(dyn StdError + 'static)) -> Option<String>);

inventory::collect!(ExposedError);

// Its texts say what is wrong with a path that the client has chosen.
inventory::submit! {
    ExposedError(|error| exposed_text::<UnsafePath>(error, |_| true))
}

/// Maximum number of causes to examine.
const MAX_CAUSES: usize = 64;

/// Returns the text that the model may read: the text of the first marked error in the chain of causes starting with
/// `error`.
pub(super) fn text_for_model(error: &(dyn StdError + 'static)) -> Option<String> {
    let errors = std::iter::successors(Some(error), |&error| cause(error));
    errors.take(MAX_CAUSES).find_map(|error| {
        let mut marked = inventory::iter::<ExposedError>();
        marked.find_map(|marked| (marked.0)(error))
    })
}

/// Returns the cause of an error. An I/O error that was made from another error names that error's source as its own, and
/// not the error itself.
fn cause<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    let io_error: Option<&io::Error> = error.downcast_ref();
    match io_error.and_then(io::Error::get_ref) {
        Some(error) => Some(error),
        None => error.source(),
    }
}

/// Returns the text of an error of type `E` for which the function returns `true`.
pub fn exposed_text<E: MayBeExposed>(
    error: &(dyn StdError + 'static),
    is_exposed: fn(&E) -> bool,
) -> Option<String> {
    E::exposed_text(error, is_exposed)
}

/// A type that can be annotated with `#[expose]`, as every error type can. This trait exists only to improve the
/// compiler's message for other types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be `#[expose]`: it must implement `Display`, `std::error::Error`, `Send` and `Sync`",
    label = "not an error type",
    note = "implement `Display` and `std::error::Error` for it, for example with `#[derive(Debug, thiserror::Error)]`"
)]
pub trait MayBeExposed: Sized + 'static {
    /// Returns the text of an error of this type for which the function returns `true`.
    fn exposed_text(
        error: &(dyn StdError + 'static),
        is_exposed: fn(&Self) -> bool,
    ) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl<E: StdError + Send + Sync + 'static> MayBeExposed for E {
    fn exposed_text(
        error: &(dyn StdError + 'static),
        is_exposed: fn(&Self) -> bool,
    ) -> Option<String> {
        let error: &E = error.downcast_ref()?;
        is_exposed(error).then(|| format!("{error:#}"))
    }
}
