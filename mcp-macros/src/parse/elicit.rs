//! The options of `#[elicit(…)]`, on forms, choices and their fields.

use darling::FromAttributes;

use crate::parse::argument::{Length, Range};
use crate::parse::value::{Expression, Keyed, PathValue};

/// The options on the type.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct FormOptions {
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// The options on a field of a struct.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct FieldOptions {
    /// The name in the client's answer. Default: the field's name.
    pub(crate) name: Option<syn::LitStr>,
    /// The display name.
    pub(crate) title: Option<Expression>,
    /// Instructions for the user, instead of the doc comment.
    pub(crate) description: Option<Expression>,
    /// The value that the form starts with.
    pub(crate) default: Option<Keyed<Expression>>,
    /// The allowed numbers.
    pub(crate) range: Option<Keyed<Range>>,
    /// The allowed number of characters or choices.
    pub(crate) length: Option<Keyed<Length>>,
    /// The format of the string.
    pub(crate) format: Option<Keyed<syn::LitStr>>,
}

/// The options on a variant of an enum.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct ChoiceOptions {
    /// The value in the client's answer. Default: the variant's name.
    pub(crate) name: Option<syn::LitStr>,
    /// The display name, instead of the doc comment.
    pub(crate) title: Option<Expression>,
}
