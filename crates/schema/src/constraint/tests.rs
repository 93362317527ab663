//! Tests that constraints give the same result for the text of a value as for the value itself.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::check::Validator;
use crate::generate::{Properties, Property};

/// Returns a schema that contains only these constraints.
fn schema(constraints: &Constraints) -> Value {
    let property = Property {
        name: "a",
        description: "",
        schema: |_| None,
        constraints,
        default: None,
    };
    let mut problems = Vec::new();
    let schema = Properties::new(&[]).property(property, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    schema
}

/// Asserts that checking the text and checking the value give the same result, and returns that result.
fn holds(constraints: &Constraints, value: &Value) -> bool {
    let schema = schema(constraints);
    let text = value.to_string();
    let expected = Validator::new(schema.clone())
        .unwrap()
        .check(value)
        .is_empty();
    for schema in [schema, constraints.to_schema()] {
        let of_schema = TextConstraints::of_schema(schema.as_object().unwrap());
        let holds = of_schema.is_none_or(|constraints| match value {
            Value::Array(items) => constraints.holds_for_items(items.len()),
            _ => constraints.holds(&text),
        });
        // The items themselves are left to the schema of the items.
        if constraints.items.is_none() || !value.is_array() {
            assert_eq!(holds, expected, "{schema} {text}");
        }
    }
    expected
}

#[test]
fn bounds_are_part_of_the_range() {
    let range = Constraints {
        minimum: Some(Bound::Integer(1)),
        maximum: Some(Bound::Float(2.5)),
        ..Constraints::NONE
    };
    for (value, expected) in [
        (json!(1), true),
        (json!(1.0), true),
        (json!(2.5), true),
        (json!(0), false),
        (json!(0.999), false),
        (json!(3), false),
        (json!(-1e300), false),
        (json!("0"), true),
        (json!([0]), true),
        (json!(null), true),
    ] {
        assert_eq!(holds(&range, &value), expected, "{value}");
    }
    let exact = Constraints {
        minimum: Some(Bound::Integer((1 << 53) + 1)),
        ..Constraints::NONE
    };
    assert!(!holds(&exact, &json!(1_i64 << 53)));
    assert!(holds(&exact, &json!((1_i64 << 53) + 1)));
}

#[test]
fn exclusive_bounds_are_not_part_of_the_range() {
    let range = Constraints {
        exclusive_minimum: Some(Bound::Integer(0)),
        exclusive_maximum: Some(Bound::Float(1.0)),
        ..Constraints::NONE
    };
    for (value, expected) in [
        (json!(0.001), true),
        (json!(0.999), true),
        (json!(0), false),
        (json!(0.0), false),
        (json!(1), false),
        (json!(1.0), false),
        (json!("0"), true),
    ] {
        assert_eq!(holds(&range, &value), expected, "{value}");
    }
}

#[test]
fn size_constraints_apply_to_strings_and_lists() {
    let length = Constraints {
        min_length: Some(1),
        max_length: Some(2),
        ..Constraints::NONE
    };
    for (value, expected) in [
        (json!(""), false),
        (json!("ä"), true),
        (json!("\n\""), true),
        (json!("abc"), false),
        (json!([]), false),
        (json!([[1, 2, 3]]), true),
        (json!([1, 2, 3]), false),
        (json!(3), true),
        (json!({}), true),
    ] {
        assert_eq!(holds(&length, &value), expected, "{value}");
    }
}

#[test]
fn patterns_apply_to_strings_and_item_constraints_to_list_items() {
    const ITEM: Constraints = Constraints {
        pattern: Some("^a"),
        max_length: Some(2),
        ..Constraints::NONE
    };
    let list = Constraints {
        items: Some(&ITEM),
        ..Constraints::NONE
    };
    for (value, expected) in [
        (json!([]), true),
        (json!(["a", "ab"]), true),
        (json!(["a", "b"]), false),
        (json!(["abc"]), false),
        (json!("b"), true),
    ] {
        assert_eq!(holds(&list, &value), expected, "{value}");
    }
    assert!(holds(&ITEM, &json!("a\n")));
    assert!(!holds(&ITEM, &json!("\na")));
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-4_i64..4).prop_map(Value::from),
        (-8_i32..8).prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        any::<f64>().prop_map(Value::from),
    ]
}

/// Generates bounds as an author might write them, including whole numbers written as floats.
fn bound() -> impl Strategy<Value = Option<Bound>> {
    (number(), any::<bool>()).prop_map(|(value, is_float)| {
        let number = value.as_number()?;
        let bound = match number.as_i128() {
            Some(whole) if !is_float => Bound::Integer(whole),
            _ => Bound::Float(number.as_f64()?),
        };
        bound.to_json().map(|_| bound)
    })
}

#[test]
fn whole_floats_are_compared_exactly_with_integer_bounds() {
    let two_to_53 = 9_007_199_254_740_992_i128;
    let range = |minimum, maximum| Constraints {
        minimum,
        maximum,
        ..Constraints::NONE
    };
    #[allow(clippy::cast_precision_loss, reason = "a power of two")]
    let float = Bound::Float(two_to_53 as f64);
    assert!(!holds(
        &range(None, Some(float)),
        &json!(9_007_199_254_740_993_i64)
    ));
    assert!(holds(
        &range(None, Some(float)),
        &json!(9_007_199_254_740_992_i64)
    ));
    let above = range(Some(Bound::Integer(two_to_53 + 1)), None);
    assert!(!holds(&above, &json!(9_007_199_254_740_992.0)));
    let schema = range(Some(Bound::Integer(2)), None).to_schema();
    let on_text = TextConstraints::of_schema(schema.as_object().unwrap()).unwrap();
    for (text, expected) in [
        ("2e0", true),
        ("2.0e0", true),
        ("20e-1", true),
        ("-0", false),
        ("1e0", false),
    ] {
        assert_eq!(on_text.holds(text), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn constraints_on_json_text_and_on_its_value_agree(minimum in bound(), maximum in bound(), value in number()) {
        let range = Constraints { minimum, maximum, ..Constraints::NONE };
        holds(&range, &value);
    }
}
