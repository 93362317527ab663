//! Rules for an argument's constraints and default.

use mcp_schema::rules;

use crate::errors::Errors;
use crate::parse::argument::Constraints;
use crate::parse::literal::find_literal;
use crate::parse::range::parse_number;
use crate::parse::value::Keyed;

/// Rejects empty ranges, because no value could match them, and patterns that cannot be compiled.
pub(crate) fn check_constraints(constraints: &Constraints, errors: &mut Errors) {
    if let Some(Keyed { key, value: range }) = &constraints.range
        && let (Some(start), Some(end)) = (&range.start, &range.end)
    {
        if !start.value.is_same_kind(end.value) {
            errors.push(syn::Error::new(
                *key,
                "the ends of a range must both be whole numbers or both be decimal numbers",
            ));
        } else if end.value.is_less_than(start.value) {
            errors.push(syn::Error::new(
                *key,
                "this range is empty, so it allows no values",
            ));
        }
    }
    if let Some(Keyed { key, value: length }) = &constraints.length
        && let (Some(min), Some(max)) = (length.min, length.max)
        && min > max
    {
        errors.push(syn::Error::new(
            *key,
            "this range is empty, so it allows no lengths",
        ));
    }
    if let Some(Keyed { value: pattern, .. }) = &constraints.pattern {
        let verdict = rules::pattern(&pattern.value());
        if !verdict.holds() {
            errors.push(syn::Error::new(pattern.span(), verdict.text()));
        }
    }
    if let Some(items) = &constraints.items {
        check_constraints(&items.value, errors);
    }
}

/// Checks a default that is a literal against the argument's constraints. Other expressions are checked when the server
/// starts.
pub(crate) fn check_default(
    expression: &syn::Expr,
    constraints: &Constraints,
    errors: &mut Errors,
) {
    let broken = match expression {
        syn::Expr::Group(group) => return check_default(&group.expr, constraints, errors),
        syn::Expr::Array(array) => {
            if let Some(items) = &constraints.items {
                for item in &array.elems {
                    check_default(item, &items.value, errors);
                }
            }
            length_error(array.elems.len(), constraints)
        }
        other => match find_literal(other) {
            Some(syn::Lit::Str(text)) => length_error(text.value().chars().count(), constraints),
            _ => range_error(other, constraints),
        },
    };
    if let Some(broken) = broken {
        errors.push(syn::Error::new_spanned(expression, broken));
    }
}

/// Returns an error if `length` does not allow the given number of characters or items; otherwise, returns `None`.
fn length_error(size: usize, constraints: &Constraints) -> Option<String> {
    let length = &constraints.length.as_ref()?.value;
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    match (length.min, length.max) {
        (Some(min), _) if size < min => Some(format!(
            "a length of {size} is less than {min}, the minimum of `length`"
        )),
        (_, Some(max)) if size > max => Some(format!(
            "a length of {size} is more than {max}, the maximum of `length`"
        )),
        _ => None,
    }
}

/// Returns the error for a number that `range` does not allow, or `None` if `range` allows it or the expression is not
/// a number literal.
fn range_error(expression: &syn::Expr, constraints: &Constraints) -> Option<String> {
    let range = &constraints.range.as_ref()?.value;
    let number = parse_number(expression).ok()?.value;
    let start = range.start.as_ref().map(|start| start.value);
    let end = range.end.as_ref().map(|end| end.value);
    match (start, end) {
        (Some(start), _) if number.is_less_than(start) => Some(format!(
            "`{number}` is less than {start}, the minimum of `range`"
        )),
        (_, Some(end)) if end.is_less_than(number) => Some(format!(
            "`{number}` is more than {end}, the maximum of `range`"
        )),
        _ => None,
    }
}
