//! Enforces constraints on a value's JSON text, regardless of the value's type.

use std::borrow::Cow;

use regex_lite::Regex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Bound, Constraints, PATTERN, RangeKeyword, Size, SizeUnit, compile_pattern};

/// Constraints that can be checked on a value's JSON text without building the value.
#[derive(Debug)]
pub struct TextConstraints {
    bounds: Vec<(RangeKeyword, Bound)>,
    characters: Size,
    size: Size,
    pattern: Option<Regex>,
    items: Option<Box<Self>>,
}

impl TextConstraints {
    /// The schema keywords that [`of_schema`](Self::of_schema) reads.
    pub const KEYWORDS: [&str; 9] = [
        RangeKeyword::Minimum.name(),
        RangeKeyword::Maximum.name(),
        RangeKeyword::ExclusiveMinimum.name(),
        RangeKeyword::ExclusiveMaximum.name(),
        SizeUnit::Characters.keywords().0,
        SizeUnit::Characters.keywords().1,
        SizeUnit::Items.keywords().0,
        SizeUnit::Items.keywords().1,
        PATTERN,
    ];

    /// Prepares constraints for checking; returns `None` if none of them can be enforced.
    #[must_use]
    pub fn new(constraints: &Constraints) -> Option<Self> {
        let size = |counted| Size::new(counted, constraints.min_length, constraints.max_length);
        let own = Self {
            bounds: constraints
                .bounds()
                .map(|(keyword, bound)| (keyword, bound.normalized()))
                .collect(),
            characters: size(SizeUnit::Characters),
            size: size(SizeUnit::Items),
            // An invalid pattern has already been reported during schema generation.
            pattern: constraints
                .pattern
                .and_then(|pattern| compile_pattern(pattern).ok()),
            items: constraints.items.and_then(Self::new).map(Box::new),
        };
        own.has_constraints().then_some(own)
    }

    /// Reads a valid schema's constraints on numbers, strings and the number of items, ignoring constraints on the
    /// items themselves. Returns `None` if the schema contains none of these constraints.
    #[must_use]
    pub fn of_schema(keywords: &Map<String, Value>) -> Option<Self> {
        let bound = |keyword: RangeKeyword| {
            let bound = keywords.get(keyword.name()).and_then(Value::as_number)?;
            Some((keyword, Bound::from_number(bound)))
        };
        let own = Self {
            bounds: RangeKeyword::ALL.into_iter().filter_map(bound).collect(),
            characters: Size::of_schema(keywords, SizeUnit::Characters),
            size: Size::of_schema(keywords, SizeUnit::Items),
            pattern: keywords
                .get(PATTERN)
                .and_then(Value::as_str)
                .and_then(|pattern| compile_pattern(pattern).ok()),
            items: None,
        };
        own.has_constraints().then_some(own)
    }

    fn has_constraints(&self) -> bool {
        !self.bounds.is_empty()
            || self.characters.is_limited()
            || self.size.is_limited()
            || self.pattern.is_some()
            || self.items.is_some()
    }

    /// Returns `true` if a value satisfies the constraints. The text must be valid JSON.
    #[inline]
    #[must_use]
    pub fn holds(&self, json: &str) -> bool {
        let json = json.trim_ascii();
        match json.as_bytes().first() {
            Some(b'"') => self.holds_for_string(json),
            Some(b'[') => self.holds_for_array(json),
            Some(b'-' | b'0'..=b'9') => self.holds_for_number(json),
            _ => true,
        }
    }

    fn holds_for_string(&self, json: &str) -> bool {
        if !self.characters.is_limited() && self.pattern.is_none() {
            return true;
        }
        let inner = json.get(1..json.len().saturating_sub(1)).unwrap_or("");
        let text = if inner.contains('\\') {
            match serde_json::from_str::<String>(json) {
                Ok(text) => Cow::Owned(text),
                Err(_) => return false,
            }
        } else {
            Cow::Borrowed(inner)
        };
        (!self.characters.is_limited() || self.characters.is_satisfied(text.chars().count()))
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(&text))
    }

    fn holds_for_array(&self, json: &str) -> bool {
        if !self.size.is_limited() && self.items.is_none() {
            return true;
        }
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) else {
            return false;
        };
        self.size.is_satisfied(items.len())
            && self
                .items
                .as_ref()
                .is_none_or(|own| items.iter().all(|item| own.holds(item.get())))
    }

    fn holds_for_number(&self, json: &str) -> bool {
        if self.bounds.is_empty() {
            return true;
        }
        let Some(number) = Bound::parse(json) else {
            return false;
        };
        let mut bounds = self.bounds.iter();
        bounds.all(|(keyword, bound)| keyword.is_satisfied(number, *bound))
    }
}
