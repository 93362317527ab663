//! Enforces the constraints of `#[arg(…)]` or a schema on the JSON text of a value, independently of its type.

use std::borrow::Cow;

use mcp_schema::check::compile;
use mcp_schema::constraint::{Bound, Constraints};
use regex_lite::Regex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The constraints on a value, checked on its JSON text, independently of its type.
#[derive(Debug)]
pub(super) struct Demand {
    minimum: Option<Bound>,
    maximum: Option<Bound>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    pattern: Option<Regex>,
    items: Option<Box<Demand>>,
}

impl Demand {
    /// Returns `None` if there are no enforceable constraints.
    pub(super) fn new(constraints: &Constraints) -> Option<Self> {
        let demand = Self {
            minimum: constraints.minimum,
            maximum: constraints.maximum,
            min_length: constraints.min_length,
            max_length: constraints.max_length,
            // An invalid pattern has been reported with the schema.
            pattern: constraints
                .pattern
                .and_then(|pattern| compile(pattern).ok()),
            items: constraints.items.and_then(Self::new).map(Box::new),
        };
        demand.says_something().then_some(demand)
    }

    /// Returns a schema's constraints on numbers and sizes; those on items are not included. `None` if they cannot be
    /// expressed here.
    #[allow(
        clippy::option_option,
        reason = "a schema without constraints differs from one that cannot be expressed"
    )]
    pub(super) fn of_schema(schema: &Map<String, Value>) -> Option<Option<Self>> {
        let bound = |keyword: &str| match schema.get(keyword) {
            None => Some(None),
            Some(Value::Number(number)) => {
                let whole = number.as_i128().map(Bound::Integer);
                Some(Some(whole.or(number.as_f64().map(Bound::Float))?))
            }
            Some(_) => None,
        };
        let size = |of_text: &str, of_items: &str| match (schema.get(of_text), schema.get(of_items))
        {
            (None, None) => Some(None),
            (Some(size), None) | (None, Some(size)) => size.as_u64().map(Some),
            (Some(size), Some(other)) if size == other => size.as_u64().map(Some),
            _ => None,
        };
        let pattern = match schema.get("pattern") {
            None => None,
            Some(pattern) => Some(compile(pattern.as_str()?).ok()?),
        };
        let demand = Self {
            minimum: bound("minimum")?,
            maximum: bound("maximum")?,
            min_length: size("minLength", "minItems")?,
            max_length: size("maxLength", "maxItems")?,
            pattern,
            items: None,
        };
        Some(demand.says_something().then_some(demand))
    }

    fn says_something(&self) -> bool {
        self.minimum.is_some()
            || self.maximum.is_some()
            || self.min_length.is_some()
            || self.max_length.is_some()
            || self.pattern.is_some()
            || self.items.is_some()
    }

    pub(super) fn holds(&self, raw: &str) -> bool {
        let raw = raw.trim_ascii();
        match raw.as_bytes().first() {
            Some(b'"') => self.holds_for_text(raw),
            Some(b'[') => self.holds_for_items(raw),
            Some(b'-' | b'0'..=b'9') => self.holds_for_number(raw),
            _ => true,
        }
    }

    fn holds_for_text(&self, raw: &str) -> bool {
        if self.min_length.is_none() && self.max_length.is_none() && self.pattern.is_none() {
            return true;
        }
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or("");
        let text = if inner.contains('\\') {
            match serde_json::from_str::<String>(raw) {
                Ok(text) => Cow::Owned(text),
                Err(_) => return false,
            }
        } else {
            Cow::Borrowed(inner)
        };
        ((self.min_length.is_none() && self.max_length.is_none())
            || self.holds_for_size(text.chars().count()))
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(&text))
    }

    fn holds_for_items(&self, raw: &str) -> bool {
        if self.min_length.is_none() && self.max_length.is_none() && self.items.is_none() {
            return true;
        }
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
            return false;
        };
        self.holds_for_size(items.len())
            && self
                .items
                .as_ref()
                .is_none_or(|demand| items.iter().all(|item| demand.holds(item.get())))
    }

    fn holds_for_size(&self, size: usize) -> bool {
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        self.min_length.is_none_or(|minimum| size >= minimum)
            && self.max_length.is_none_or(|maximum| size <= maximum)
    }

    fn holds_for_number(&self, raw: &str) -> bool {
        if self.minimum.is_none() && self.maximum.is_none() {
            return true;
        }
        if let Ok(number) = raw.parse::<i128>() {
            #[allow(
                clippy::cast_precision_loss,
                reason = "compared with a bound that is no more precise"
            )]
            let above = |bound: Bound| match bound {
                Bound::Integer(bound) => number >= bound,
                Bound::Float(bound) => number as f64 >= bound,
            };
            #[allow(
                clippy::cast_precision_loss,
                reason = "compared with a bound that is no more precise"
            )]
            let below = |bound: Bound| match bound {
                Bound::Integer(bound) => number <= bound,
                Bound::Float(bound) => number as f64 <= bound,
            };
            return self.minimum.is_none_or(above) && self.maximum.is_none_or(below);
        }
        let Ok(number) = raw.parse::<f64>() else {
            return false;
        };
        #[allow(
            clippy::cast_precision_loss,
            reason = "the number has no more precision either"
        )]
        let float = |bound: Bound| match bound {
            Bound::Integer(bound) => bound as f64,
            Bound::Float(bound) => bound,
        };
        self.minimum.is_none_or(|bound| number >= float(bound))
            && self.maximum.is_none_or(|bound| number <= float(bound))
    }
}
