//! What stands on a form and its fields: `#[elicit(…)]`.

use darling::FromAttributes;

use crate::parse::argument::{Length, Range};
use crate::parse::value::{Expression, Keyed, PathValue};

/// What stands on the type.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct FormOptions {
    /// Where the runtime is.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// What stands on a field of a struct.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct FieldOptions {
    /// The name in the answer, if not that of the field.
    pub(crate) name: Option<syn::LitStr>,
    /// A name for people.
    pub(crate) title: Option<Expression>,
    /// What to fill in, if not the doc comment.
    pub(crate) description: Option<Expression>,
    /// What it is unless the person says otherwise.
    pub(crate) default: Option<Keyed<Expression>>,
    /// The numbers allowed.
    pub(crate) range: Option<Keyed<Range>>,
    /// How many characters or choices are allowed.
    pub(crate) length: Option<Keyed<Length>>,
    /// What the text looks like.
    pub(crate) format: Option<Keyed<syn::LitStr>>,
}

/// What stands on a variant of an enum.
#[derive(Default, FromAttributes)]
#[darling(attributes(elicit))]
pub(crate) struct ChoiceOptions {
    /// The value in the answer, if not the name of the variant.
    pub(crate) name: Option<syn::LitStr>,
    /// A name for people, if not the doc comment.
    pub(crate) title: Option<Expression>,
}
