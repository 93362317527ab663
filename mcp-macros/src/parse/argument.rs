//! Options in `#[arg(…)]`, wherever it is written: on a parameter, on a field of a `#[data]` type, or on a field of a
//! form. Which of them apply there is decided by the models.

use darling::util::Flag;
use darling::{FromAttributes, FromMeta, Result};

use crate::parse::literal::to_json;
use crate::parse::range::{Length, Number, Range};
use crate::parse::value::{Expression, Keyed, keyed_text, needs_value_error, text};

/// Options in `#[arg(…)]`.
#[derive(Default, FromAttributes)]
#[darling(attributes(arg))]
pub(crate) struct ArgumentOptions {
    /// A description that replaces the doc comment.
    pub(crate) description: Option<Expression>,
    /// The display name in a form.
    pub(crate) title: Option<Keyed<Expression>>,
    /// The name on the wire. Defaults to the name of the parameter or field.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// The value used if the client omits the argument.
    pub(crate) default: Option<Keyed<DefaultValue>>,
    /// A sample value.
    pub(crate) example: Option<Keyed<Expression>>,
    /// The name of the HTTP header that mirrors the argument.
    #[darling(with = text)]
    pub(crate) header: Option<syn::LitStr>,
    /// The parameter receives the entire argument object.
    pub(crate) flatten: Flag,
    /// The parameter accepts paths that lead out of a directory. The parameter must be a template variable.
    pub(crate) any_path: Flag,
    #[darling(flatten)]
    pub(crate) constraints: Constraints,
}

/// Constraints on an argument, also used as the options in `items(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct Constraints {
    /// The allowed range of numbers.
    pub(crate) range: Option<Keyed<Range>>,
    /// A limit that numbers must exceed.
    pub(crate) exclusive_minimum: Option<Keyed<Number>>,
    /// The allowed number of characters or items.
    pub(crate) length: Option<Keyed<Length>>,
    /// A regular expression that must match somewhere in the string.
    #[darling(with = keyed_text)]
    pub(crate) pattern: Option<Keyed<syn::LitStr>>,
    /// The `format` keyword.
    #[darling(with = keyed_text)]
    pub(crate) format: Option<Keyed<syn::LitStr>>,
    /// Constraints on each item of an array.
    pub(crate) items: Option<Keyed<Box<Constraints>>>,
}

/// The `default` or `default = value` option. A literal is converted to JSON; any other expression remains a Rust
/// expression.
#[derive(Clone, Debug)]
pub(crate) enum DefaultValue {
    /// The value returned by the type's `Default` implementation.
    OfType,
    /// A literal, as an expression and as JSON.
    Json(syn::Expr, String),
    /// A Rust expression.
    Rust(syn::Expr),
}

impl FromMeta for DefaultValue {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        match item {
            syn::Meta::Path(_) => Ok(Self::OfType),
            syn::Meta::NameValue(pair) => {
                let value = pair.value.clone();
                Ok(match to_json(&value) {
                    Some(json) => Self::Json(value, json),
                    None => Self::Rust(value),
                })
            }
            syn::Meta::List(_) => Err(needs_value_error(item)),
        }
    }
}
