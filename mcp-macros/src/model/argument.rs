//! Rules for the options in `#[arg(…)]` that are the same wherever the attribute is written.

use crate::errors::Errors;
use crate::model::constraints::{check_constraints, check_default};
use crate::parse::argument::{ArgumentOptions, DefaultValue};
use crate::parse::literal::to_json;
use crate::parse::value::{Expression, Keyed};

/// Checks the constraints, and the default against them. Returns the example as JSON.
pub(crate) fn check_argument(options: &ArgumentOptions, errors: &mut Errors) -> Option<String> {
    check_constraints(&options.constraints, errors);
    if let Some(Keyed {
        value: DefaultValue::Json(value, _),
        ..
    }) = &options.default
    {
        check_default(value, &options.constraints, errors);
    }
    let Expression(example) = &options.example.as_ref()?.value;
    let json = to_json(example);
    if json.is_none() {
        errors.push(syn::Error::new_spanned(
            example,
            "an example must be written out: a number, a string, `true`, `false` or a list of these",
        ));
    }
    json
}
