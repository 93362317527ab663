//! Enforces the parts of a schema that the Rust type does not enforce. For example, serde may accept a number where the
//! schema requires a string, and it accepts an array of field values for any struct.
//!
//! Most parameters need only the constraints of their attribute, if any, because their types are known to accept exactly
//! what their schema allows (`exact`). For the other parameters, it is the whole schema. It is converted at start-up to a
//! [`PlainSchema`], against which a value's text is checked in a single pass. Schemas with choices or recursion are left to
//! the validator that also explains mistakes.

use std::collections::HashMap;

use mcp_schema::check::SentValue;
use mcp_schema::constraint::TextConstraints;
use serde_json::{Map, Value};

use crate::jsonrpc::{Decimal, Scan};

/// The part of a parameter's schema that its type does not enforce.
#[derive(Debug)]
pub(super) enum SchemaBeyondType {
    /// A shape against which a value's text is checked. It leaves names to the type, which may accept others than the schema
    /// mentions, such as aliases.
    Shape(Box<PlainSchema>),
    /// The entire schema, which has choices or references.
    Whole,
}

impl SchemaBeyondType {
    /// Returns the part of a valid schema that must be enforced, or `None` if no part needs to be.
    pub(super) fn new(schema: &Value) -> Option<Self> {
        match PlainSchema::read(schema) {
            Some(shape) => shape.says_something().then(|| Self::Shape(Box::new(shape))),
            None => Some(Self::Whole),
        }
    }

    /// Returns `true` if a value, known to be valid JSON, matches. `examine` compares it with the entire schema.
    pub(super) fn matches(&self, json: &str, examine: impl FnOnce(&Value) -> SentValue) -> bool {
        match self {
            Self::Shape(shape) => shape.matches(json),
            Self::Whole => {
                serde_json::from_str(json).is_ok_and(|value| examine(&value).faults.is_empty())
            }
        }
    }
}

/// The allowed types of a value, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypeSet(u8);

impl TypeSet {
    const NULL: u8 = 1;
    const BOOLEAN: u8 = 2;
    const INTEGER: u8 = 4;
    /// Any number.
    const NUMBER: u8 = 8;
    const STRING: u8 = 16;
    const ARRAY: u8 = 32;
    const OBJECT: u8 = 64;
    const ANY: Self = Self(127);

    fn read(kind: Option<&Value>) -> Option<Self> {
        let bit = |name: &Value| {
            Some(match name.as_str()? {
                "null" => Self::NULL,
                "boolean" => Self::BOOLEAN,
                "integer" => Self::INTEGER,
                "number" => Self::NUMBER,
                "string" => Self::STRING,
                "array" => Self::ARRAY,
                "object" => Self::OBJECT,
                _ => return None,
            })
        };
        match kind {
            None => Some(Self::ANY),
            Some(Value::Array(names)) => names
                .iter()
                .try_fold(Self(0), |kinds, name| Some(Self(kinds.0 | bit(name)?))),
            Some(name) => bit(name).map(Self),
        }
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// Keywords that are interpreted elsewhere, do not assert anything, or are left to the type. `enum` is left to the type
/// because a variant may be accepted under several names.
const KEYWORDS_LEFT_TO_TYPE: [&str; 14] = [
    "type",
    "required",
    "enum",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "contentEncoding",
    "contentMediaType",
];

/// The assertions in a schema that contains neither choices nor references.
#[derive(Debug)]
pub(super) struct PlainSchema {
    kinds: TypeSet,
    constraints: Option<TextConstraints>,
    members: HashMap<String, PlainMember>,
    /// The shape of all members that are not listed in `members`.
    others: Option<Box<PlainSchema>>,
    /// The shapes of the first items.
    first: Vec<PlainSchema>,
    /// The shape of all other items.
    items: Option<Box<PlainSchema>>,
}

/// A member of an object.
#[derive(Debug)]
struct PlainMember {
    shape: PlainSchema,
    /// `true` if the member is optional, so that `null` counts as absent.
    optional: bool,
}

impl PlainSchema {
    /// Converts a schema, or returns `None` if it contains anything that a shape cannot express.
    fn read(schema: &Value) -> Option<Self> {
        let object = match schema {
            Value::Bool(true) => &Map::new(),
            other => other.as_object()?,
        };
        if let Some(shape) = Self::read_nullable(object) {
            return Some(shape);
        }
        let mut shape = Self {
            kinds: TypeSet::read(object.get("type"))?,
            constraints: TextConstraints::of_schema(object),
            members: HashMap::new(),
            others: None,
            first: Vec::new(),
            items: None,
        };
        let required = object.get("required").and_then(Value::as_array);
        for (keyword, value) in object {
            match keyword.as_str() {
                "properties" => {
                    for (name, schema) in value.as_object()? {
                        let is_required =
                            |names: &Vec<Value>| names.iter().any(|other| other == name);
                        let member = PlainMember {
                            shape: Self::read(schema)?,
                            optional: !required.is_some_and(is_required),
                        };
                        if member.shape.says_something() {
                            shape.members.insert(name.clone(), member);
                        }
                    }
                }
                "additionalProperties" => Self::read_into(value, &mut shape.others)?,
                "items" => Self::read_into(value, &mut shape.items)?,
                "prefixItems" => {
                    shape.first = value
                        .as_array()?
                        .iter()
                        .map(Self::read)
                        .collect::<Option<_>>()?;
                }
                keyword
                    if KEYWORDS_LEFT_TO_TYPE.contains(&keyword)
                        || TextConstraints::KEYWORDS.contains(&keyword)
                        || keyword.starts_with("x-") => {}
                _ => return None,
            }
        }
        Some(shape)
    }

    /// Reads the shape of all other members or items. A boolean schema is skipped because the type determines whether
    /// other members or items are allowed.
    fn read_into(schema: &Value, slot: &mut Option<Box<Self>>) -> Option<()> {
        if !schema.is_boolean() {
            let shape = Self::read(schema)?;
            *slot = shape.says_something().then(|| Box::new(shape));
        }
        Some(())
    }

    /// Reads an `anyOf` with one schema and `null`, which is the usual way to represent an optional value.
    fn read_nullable(object: &Map<String, Value>) -> Option<Self> {
        let Value::Array(branches) = object.get("anyOf")? else {
            return None;
        };
        let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
        let others: Vec<&Value> = branches.iter().filter(|branch| !is_null(branch)).collect();
        let says_more = object
            .keys()
            .any(|keyword| !matches!(keyword.as_str(), "anyOf" | "description" | "title"));
        let [only] = others.as_slice() else {
            return None;
        };
        if says_more {
            return None;
        }
        let mut shape = Self::read(only)?;
        shape.kinds.0 |= TypeSet::NULL;
        Some(shape)
    }

    fn says_something(&self) -> bool {
        self.kinds != TypeSet::ANY
            || self.constraints.is_some()
            || !self.members.is_empty()
            || self.others.is_some()
            || !self.first.is_empty()
            || self.items.is_some()
    }

    /// Returns `true` if a value, known to be valid JSON, matches.
    fn matches(&self, json: &str) -> bool {
        let json = json.trim_ascii();
        match json.as_bytes().first() {
            Some(b'{' | b'[') => self.read_value(&mut Scan::new(json)).is_some(),
            _ => self.matches_scalar(json),
        }
    }

    /// Reads the next value, or returns `None` if it does not match.
    fn read_value(&self, scan: &mut Scan<'_>) -> Option<()> {
        let is_match = match scan.peek()? {
            b'{' if self.kinds.has(TypeSet::OBJECT) => return self.read_object(scan),
            b'[' if self.kinds.has(TypeSet::ARRAY) => return self.read_array(scan),
            b'{' | b'[' => false,
            b'-' | b'0'..=b'9' => self.matches_scalar(scan.next_number()?),
            _ => self.matches_scalar(scan.next_value()?),
        };
        is_match.then_some(())
    }

    /// Returns `true` if a string, number, boolean or `null`, without whitespace around it, matches.
    fn matches_scalar(&self, json: &str) -> bool {
        let kind = match json.as_bytes().first() {
            Some(b'"') => TypeSet::STRING,
            Some(b'n') => TypeSet::NULL,
            Some(b't' | b'f') => TypeSet::BOOLEAN,
            _ => self.kind_of_number(json),
        };
        let holds = |constraints: &TextConstraints| constraints.holds(json);
        self.kinds.has(kind) && self.constraints.as_ref().is_none_or(holds)
    }

    fn kind_of_number(&self, number: &str) -> u8 {
        let is_whole = || {
            !number.contains(['.', 'e', 'E'])
                || Decimal::read(number).is_some_and(|number| number.is_whole())
        };
        if !self.kinds.has(TypeSet::NUMBER) && is_whole() {
            TypeSet::INTEGER
        } else {
            TypeSet::NUMBER
        }
    }

    fn read_object(&self, scan: &mut Scan<'_>) -> Option<()> {
        if self.members.is_empty() && self.others.is_none() {
            return scan.next_value().map(drop);
        }
        scan.members(
            |scan, name| match (self.members.get(&*name), &self.others) {
                (Some(member), _) if member.optional && scan.peek() == Some(b'n') => {
                    scan.next_value().map(drop)
                }
                (Some(member), _) => member.shape.read_value(scan),
                (None, Some(others)) => others.read_value(scan),
                (None, None) => scan.next_value().map(drop),
            },
        )
    }

    fn read_array(&self, scan: &mut Scan<'_>) -> Option<()> {
        if self.first.is_empty() && self.items.is_none() && self.constraints.is_none() {
            return scan.next_value().map(drop);
        }
        let mut index = 0_usize;
        scan.items(|scan| {
            let shape = self.first.get(index).or(self.items.as_deref());
            index = index.saturating_add(1);
            match shape {
                Some(shape) => shape.read_value(scan),
                None => scan.next_value().map(drop),
            }
        })?;
        let holds = |constraints: &TextConstraints| constraints.holds_for_items(index);
        self.constraints.as_ref().is_none_or(holds).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use mcp_schema::check::Validator;
    use mcp_schema::constraint::{Bound, Constraints};
    use serde_json::json;

    use super::*;

    fn fits(schema: &Value, text: &str) -> bool {
        let shape = PlainSchema::read(schema).unwrap_or_else(|| panic!("{schema} has a shape"));
        shape.matches(text)
    }

    #[test]
    fn a_plain_schema_agrees_with_its_json_schema() {
        let schemas = [
            json!({"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"}),
            json!({"type": "integer", "minimum": 0, "maximum": 9}),
            json!({"type": ["number", "null"]}),
            json!({"type": "boolean"}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}),
            json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}}),
            json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}),
            json!({
                "type": "object", "required": ["a"],
                "properties": {"a": {"type": "string"}, "b": {"type": "object", "properties": {"c": {"type": "integer"}}}}
            }),
            json!({}),
        ];
        let values = [
            json!("a"),
            json!("ab"),
            json!("abc"),
            json!("b"),
            json!(""),
            json!(0),
            json!(9),
            json!(10),
            json!(-1),
            json!(1.5),
            json!(2.0),
            json!(null),
            json!(true),
            json!(false),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([1, 2, 3]),
            json!(["a"]),
            json!([1, "a"]),
            json!([1, "a", null]),
            json!([1, "a", 2]),
            json!({}),
            json!({"a": "x"}),
            json!({"a": 1}),
            json!({"a": ["x", "y"]}),
            json!({"a": [1]}),
            json!({"a": "x", "b": {"c": 1, "d": [{"e": 1.5}]}}),
            json!({"a": "x", "b": {"c": "1"}}),
            json!({"a": "x", "b": {"c": null}}),
            json!({"a": "x", "b": null}),
            json!({"a": null}),
        ];
        for schema in &schemas {
            let validator = Validator::new(schema.clone()).unwrap();
            for value in &values {
                let mut faults = validator.examine_sent(None, value).faults;
                // Required members are left to the type.
                faults.retain(|fault| !fault.message.starts_with("missing"));
                for text in [
                    value.to_string(),
                    serde_json::to_string_pretty(value).unwrap(),
                ] {
                    assert_eq!(
                        fits(schema, &text),
                        faults.is_empty(),
                        "{schema} {text} {faults:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn constraints_alone_agree_with_their_schema() {
        const ITEM: Constraints = Constraints {
            pattern: Some("^a"),
            minimum: Some(Bound::Integer(2)),
            max_length: Some(2),
            ..Constraints::NONE
        };
        const LIST: Constraints = Constraints {
            min_length: Some(1),
            max_length: Some(2),
            items: Some(&ITEM),
            ..Constraints::NONE
        };
        assert!(SchemaBeyondType::new(&Constraints::NONE.to_schema()).is_none());
        for constraints in [ITEM, LIST] {
            let schema = constraints.to_schema();
            let validator = Validator::new(schema.clone()).unwrap();
            for text in [
                "[]",
                "[1]",
                "[2, 2e0]",
                "[ 2 , 3 , 4 ]",
                r#"["a","ab"]"#,
                r#"["a","b"]"#,
                r#"["abc"]"#,
                r#" ["a\n"] "#,
                "[null, {}]",
                "[[2], []]",
                "[[1, 2, 3]]",
                r#""a""#,
                r#""b""#,
                r#" "\u0061bc" "#,
                "1",
                " 2.0 ",
                "true",
                "null",
                r#"{"a": 1}"#,
            ] {
                let faults = validator.check(&serde_json::from_str(text).unwrap());
                assert_eq!(fits(&schema, text), faults.is_empty(), "{text} {faults:?}");
            }
        }
    }

    #[test]
    fn schemas_with_choices_or_references_are_not_plain() {
        for schema in [
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"type": "object", "properties": {"a": {"oneOf": [{"const": 1}]}}}),
            json!({"type": "array", "items": {"$ref": "#/$defs/a"}}),
            json!({"type": "integer", "multipleOf": 2}),
            json!(false),
        ] {
            assert!(PlainSchema::read(&schema).is_none(), "{schema}");
        }
        assert!(SchemaBeyondType::new(&json!({"description": "anything"})).is_none());
    }
}
