//! Sizes of strings, arrays and objects.

use serde_json::{Map, Value};

use super::to_count;

/// The units in which sizes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeUnit {
    Characters,
    Items,
    Properties,
}

impl SizeUnit {
    /// Returns the keywords for the minimum and the maximum.
    pub(crate) const fn keywords(self) -> (&'static str, &'static str) {
        match self {
            Self::Characters => ("minLength", "maxLength"),
            Self::Items => ("minItems", "maxItems"),
            Self::Properties => ("minProperties", "maxProperties"),
        }
    }

    fn noun(self, size: usize) -> &'static str {
        match (self, size) {
            (Self::Characters, 1) => "character",
            (Self::Characters, _) => "characters",
            (Self::Items, 1) => "item",
            (Self::Items, _) => "items",
            (Self::Properties, 1) => "property",
            (Self::Properties, _) => "properties",
        }
    }
}

/// The allowed sizes of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    counted: SizeUnit,
    minimum: Option<usize>,
    maximum: Option<usize>,
}

impl Size {
    /// Returns the sizes up to a maximum.
    pub(crate) const fn at_most(counted: SizeUnit, maximum: usize) -> Self {
        Self {
            counted,
            minimum: None,
            maximum: Some(maximum),
        }
    }

    /// Returns the sizes that a schema allows.
    pub(crate) fn of_schema(keywords: &Map<String, Value>, counted: SizeUnit) -> Self {
        let (minimum, maximum) = counted.keywords();
        Self {
            counted,
            minimum: keywords.get(minimum).and_then(to_count),
            maximum: keywords.get(maximum).and_then(to_count),
        }
    }

    /// Returns `true` if there is a minimum or a maximum.
    #[inline]
    pub(crate) fn is_limited(self) -> bool {
        self.minimum.is_some() || self.maximum.is_some()
    }

    /// Returns `true` if a size is allowed.
    #[inline]
    pub(crate) fn is_satisfied(self, size: usize) -> bool {
        self.minimum.is_none_or(|minimum| size >= minimum)
            && self.maximum.is_none_or(|maximum| size <= maximum)
    }

    /// Returns the message for a size that is not allowed.
    pub(crate) fn violation_message(self, size: usize) -> String {
        let allowed = match (self.minimum, self.maximum) {
            (Some(minimum), Some(maximum)) if minimum == maximum => {
                format!("must have exactly {minimum}")
            }
            (Some(minimum), Some(maximum)) => format!("must have {minimum} to {maximum}"),
            (Some(minimum), None) => format!("must have at least {minimum}"),
            (None, Some(maximum)) => format!("may have at most {maximum}"),
            (None, None) => "may have any number".to_owned(),
        };
        format!("has {size} {}, but {allowed}", self.counted.noun(size))
    }
}
