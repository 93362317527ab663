//! Enforces constraints on a value's JSON text, regardless of the value's type.

use std::borrow::Cow;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::{Bound, PATTERN, RangeKeyword, Size, SizeUnit, compile_pattern};

/// Constraints that can be checked on a value's JSON text without building the value.
#[derive(Debug)]
pub struct TextConstraints {
    bounds: Vec<(RangeKeyword, Bound)>,
    characters: Size,
    items: Size,
    pattern: Option<Regex>,
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

    /// Reads a valid schema's constraints on numbers, strings and the number of items. Returns `None` if the schema
    /// contains none of them.
    #[must_use]
    pub fn of_schema(keywords: &Map<String, Value>) -> Option<Self> {
        let bound = |keyword: RangeKeyword| {
            let bound = keywords.get(keyword.name()).and_then(Value::as_number)?;
            Some((keyword, Bound::from_number(bound)))
        };
        let own = Self {
            bounds: RangeKeyword::ALL.into_iter().filter_map(bound).collect(),
            characters: Size::of_schema(keywords, SizeUnit::Characters),
            items: Size::of_schema(keywords, SizeUnit::Items),
            pattern: keywords
                .get(PATTERN)
                .and_then(Value::as_str)
                .and_then(|pattern| compile_pattern(pattern).ok()),
        };
        let has_constraints = !own.bounds.is_empty()
            || own.characters.is_limited()
            || own.items.is_limited()
            || own.pattern.is_some();
        has_constraints.then_some(own)
    }

    /// Returns `true` if a string, number, boolean or `null` satisfies the constraints. The text must be valid JSON without
    /// whitespace around it.
    #[inline]
    #[must_use]
    pub fn holds(&self, json: &str) -> bool {
        match json.as_bytes().first() {
            Some(b'"') => self.holds_for_string(json),
            Some(b'-' | b'0'..=b'9') => self.holds_for_number(json),
            _ => true,
        }
    }

    /// Returns `true` if an array with this number of items satisfies the constraints.
    #[must_use]
    pub fn holds_for_items(&self, count: usize) -> bool {
        self.items.is_satisfied(count)
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
