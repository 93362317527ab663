//! Applies `#[arg(…)]` on a field of a type to the field's schema, as for an argument.

use schemars::Schema;
use serde_json::Value;

use super::constrain::apply_constraints;
use super::normalise::{NullMeaning, normalise_schema};
use crate::check::Validator;
use crate::constraint::Constraints;

/// The keyword for mistakes in the options of a field. A schema that contains it is never valid, so that the author reads
/// the mistakes when the server is built.
pub(crate) const MISTAKES: &str = "$mistakes";

/// Applies constraints and a default to the schema of a field. The schema still contains `null` if the field is optional.
///
/// A derived schema cannot be refused, so mistakes become a keyword of the schema, which [`Validator`] refuses.
pub fn constrain_field(
    schema: &mut Schema,
    constraints: &Constraints,
    default: Option<Result<Value, String>>,
) {
    let mut value = std::mem::take(schema).to_value();
    let mut mistakes = Vec::new();
    normalise_schema(&mut value, NullMeaning::Kept);
    apply_constraints(&mut value, constraints, &mut mistakes);
    match default {
        Some(Ok(default)) => {
            if mistakes.is_empty() {
                mistakes.extend(default_mistake(&value, &default));
            }
            if let Some(object) = value.as_object_mut() {
                object.insert("default".to_owned(), default);
            }
        }
        Some(Err(mistake)) => mistakes.push(mistake),
        None => {}
    }
    if let Some(object) = value.as_object_mut().filter(|_| !mistakes.is_empty()) {
        object.insert(MISTAKES.to_owned(), mistakes.join("; ").into());
    }
    *schema = Schema::try_from(value).unwrap_or_default();
}

/// Returns the message for a default that the schema does not allow. A schema with references is not complete yet, so it
/// is not checked.
fn default_mistake(schema: &Value, default: &Value) -> Option<String> {
    let validator = Validator::new(schema.clone()).ok()?;
    let faults = validator.check(default).into_iter();
    let faults: Vec<String> = faults.map(|fault| fault.message).collect();
    (!faults.is_empty()).then(|| {
        format!(
            "the default `{default}` is not allowed by the field's schema: {}",
            faults.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::constraint::Bound;

    fn constrained(
        schema: Value,
        constraints: &Constraints,
        default: Option<Value>,
    ) -> Result<Value, String> {
        let mut schema = Schema::try_from(schema).unwrap();
        constrain_field(&mut schema, constraints, default.map(Ok));
        let schema = schema.to_value();
        Validator::new(schema.clone()).map(|_| schema)
    }

    const FROM_ONE: Constraints = Constraints {
        minimum: Some(Bound::Integer(1)),
        ..Constraints::NONE
    };

    #[test]
    fn an_optional_field_is_constrained_and_stays_optional() {
        assert_eq!(
            constrained(
                json!({"type": ["integer", "null"], "format": "uint8", "minimum": 0}),
                &FROM_ONE,
                Some(json!(3)),
            ),
            Ok(json!({"type": ["integer", "null"], "minimum": 1, "maximum": 255, "default": 3})),
        );
    }

    #[test]
    fn mistakes_make_the_schema_invalid() {
        assert_eq!(
            constrained(json!({"type": "string"}), &FROM_ONE, None).unwrap_err(),
            "/: `range` applies to numbers, but the schema does not allow numbers; if its strings are numbers, as those of \
             `Decimal` are, take a newtype whose `TryFrom` checks the range, with `#[serde(try_from = \"…\")]`",
        );
        assert_eq!(
            constrained(json!({"type": "integer"}), &FROM_ONE, Some(json!(0))).unwrap_err(),
            "/: the default `0` is not allowed by the field's schema: 0 is less than 1",
        );
    }
}
