//! Rules for an argument's constraints and default.

use mcp_schema::rules;

use crate::errors::Errors;
use crate::parse::argument::Constraints;
use crate::parse::literal::find_literal;
use crate::parse::range::{Number, Range, parse_number};
use crate::parse::value::Keyed;

/// Rejects empty ranges, because no value could match them, and patterns that cannot be compiled.
pub(crate) fn check_constraints(constraints: &Constraints, errors: &mut Errors) {
    if let Some(range) = &constraints.range {
        check_range(range, constraints.exclusive_minimum.as_ref(), errors);
    }
    if let Some(Keyed { key, value: length }) = &constraints.length
        && let (Some(min), Some(max)) = (length.min, length.max)
        && min > max
    {
        errors.push(syn::Error::new(
            *key,
            "this range is empty, so it allows no lengths; raise its end or lower its start",
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

/// Rejects a range that is empty, whose ends are of different kinds, or that has two lower ends.
fn check_range(range: &Keyed<Range>, above: Option<&Keyed<Number>>, errors: &mut Errors) {
    let Keyed { key, value: range } = range;
    let start = match (&range.start, above) {
        (Some(_), Some(above)) => {
            errors.push(syn::Error::new(
                above.key,
                "`range` already has a minimum; write `range(..=100)` to limit only the maximum",
            ));
            return;
        }
        (start, above) => start.as_ref().or(above.map(|above| &above.value)),
    };
    let (Some(start), Some(end)) = (start, &range.end) else {
        return;
    };
    let excludes_an_end = range.excludes_end || above.is_some();
    if !start.value.is_same_kind(end.value) {
        errors.push(syn::Error::new(
            *key,
            "the ends of a range must both be whole numbers or both be decimal numbers",
        ));
    } else if end.value.is_less_than(start.value)
        || (excludes_an_end && !start.value.is_less_than(end.value))
    {
        errors.push(syn::Error::new(
            *key,
            "this range is empty, so it allows no values; raise its end or lower its start",
        ));
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

/// Returns the error for a number that is out of range, or `None` if it is allowed or the expression is not a number
/// literal.
fn range_error(expression: &syn::Expr, constraints: &Constraints) -> Option<String> {
    let number = parse_number(expression).ok()?.value;
    if let Some(above) = &constraints.exclusive_minimum
        && !above.value.value.is_less_than(number)
    {
        let above = above.value.value;
        return Some(format!(
            "`{number}` is not more than {above}, the `exclusive_minimum`"
        ));
    }
    let range = &constraints.range.as_ref()?.value;
    let start = range.start.as_ref().map(|start| start.value);
    let end = range.end.as_ref().map(|end| end.value);
    match (start, end) {
        (Some(start), _) if number.is_less_than(start) => Some(format!(
            "`{number}` is less than {start}, the minimum of `range`"
        )),
        (_, Some(end)) if range.excludes_end && !number.is_less_than(end) => Some(format!(
            "`{number}` is not less than {end}, the excluded end of `range`"
        )),
        (_, Some(end)) if end.is_less_than(number) => Some(format!(
            "`{number}` is more than {end}, the maximum of `range`"
        )),
        _ => None,
    }
}
