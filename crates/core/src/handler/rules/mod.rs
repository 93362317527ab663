//! Rules that compare the parts of a function's definition with each other and with its types. They are written as
//! constant functions, which are evaluated in macro expansions.
//!
//! The rules for single strings are in `mcp_schema::rules`: the macros apply them to attributes, and the registry to
//! dynamic definitions.
#![expect(
    clippy::missing_panics_doc,
    reason = "checks panic only while the author's crate is being compiled"
)]

mod parameters;

use crate::types::Icon;

pub use mcp_schema::rules::{icon, scope, tool_name, uri};
pub use mcp_schema::verdict::{RuleVerdict, check};
pub use parameters::{
    completed_argument, identifying_argument, is_argument, partial_text, resource_parameter,
    template_parameter, template_variable,
};

/// Returns an error message for each icon that violates the rules.
pub(crate) fn icon_problems(icons: &[Icon]) -> impl Iterator<Item = String> {
    icons
        .iter()
        .filter_map(|each| icon(&each.src).into_result().err())
}

// --- The constraints that apply to an argument's type.
//
// A failed check is reported at the location of its caller, which is an assertion in a macro's expansion.

/// The constraints that apply to a type.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one for each constraint")]
pub struct ApplicableConstraints {
    /// `true` if `range` applies.
    pub(crate) range: bool,
    /// `true` if `length` applies.
    pub(crate) length: bool,
    /// `true` if `pattern` and `format` apply.
    pub(crate) text: bool,
    /// `true` if `items` applies.
    pub(crate) items: bool,
    /// `true` if a header can mirror the argument, that is, if it is a string, a boolean or an integer.
    pub(crate) header: bool,
    /// The smallest integer that the type can hold.
    pub(crate) min: i128,
    /// The largest integer that the type can hold.
    pub(crate) max: i128,
}

impl ApplicableConstraints {
    /// Accepts every constraint.
    pub(crate) const ALL: Self = Self {
        range: true,
        length: true,
        text: true,
        items: true,
        header: true,
        min: i128::MIN,
        max: i128::MAX,
    };

    /// Checks that `range` applies.
    #[track_caller]
    pub const fn check_range(self) {
        assert!(
            self.range,
            "`range` applies to numbers; for strings use `length` or `pattern`"
        );
    }

    /// Checks that an integer endpoint of a range fits into the type.
    #[track_caller]
    pub const fn check_number(self, number: i128) {
        assert!(
            self.min <= number && number <= self.max,
            "the type cannot hold this number; change the number or the type"
        );
    }

    /// Checks that `length` applies.
    #[track_caller]
    pub const fn check_length(self) {
        assert!(
            self.length,
            "`length` applies to strings and lists; for numbers use `range`"
        );
    }

    /// Checks that `pattern` and `format` apply.
    #[track_caller]
    pub const fn check_text(self) {
        assert!(
            self.text,
            "`pattern` and `format` apply to strings; for numbers use `range`"
        );
    }

    /// Checks that `items` applies.
    #[track_caller]
    pub const fn check_items(self) {
        assert!(
            self.items,
            "`items` applies to lists; write its options without `items(…)`"
        );
    }

    /// Checks that `header` applies.
    #[track_caller]
    pub const fn check_header(self) {
        assert!(
            self.header,
            "`header` applies to strings, booleans and whole numbers; remove it"
        );
    }

    /// Checks that `any_path` applies.
    #[track_caller]
    pub const fn check_any_path(self) {
        assert!(
            self.text,
            "`any_path` applies to strings; a number cannot lead out of a directory"
        );
    }

    /// Checks that the first parameter of a completer can accept the text typed so far.
    #[track_caller]
    pub const fn check_partial_text(self) {
        assert!(
            self.text,
            "the first parameter of a completer must be a string, the text typed so far: `partial: &str`"
        );
    }
}
