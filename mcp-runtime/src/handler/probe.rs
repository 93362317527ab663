//! Compile-time queries about a parameter's type: which traits it implements and which constraints apply to it.

use std::marker::PhantomData;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::{AsyncFromContext, FromContext};
use crate::handler::parameter::ValueIdentity;
use crate::handler::rules::{ApplicableConstraints, RuleVerdict};

/// A type that represents the answer "yes".
#[derive(Debug)]
#[must_use]
pub enum Yes {}

/// A type that represents the answer "no".
#[derive(Debug)]
#[must_use]
pub enum No {}

/// Answers queries about `T`. Inherent items, which exist only for some types, take precedence over the items of
/// [`ProbeFallback`].
///
/// The functions are never called; their return types indicate whether `T` implements a trait.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// The items for types that do not implement the trait in question and for types unknown to this module.
pub trait ProbeFallback {
    /// The constraints that apply to `T`. All constraints are accepted here because they are checked against the schema
    /// of `T` at start-up.
    const CONSTRAINTS: ApplicableConstraints = ApplicableConstraints::ALL;

    /// The reason, if any, why a model cannot write values of `T`.
    const SUITABILITY: RuleVerdict = RuleVerdict::HOLDS;

    /// `T` cannot be both read and written.
    const IDENTITY: Option<ValueIdentity> = None;

    /// `T` does not implement `FromContext`.
    fn from_context() -> No {
        unreachable!("only its return type is used")
    }

    /// `T` does not implement `AsyncFromContext`.
    fn async_from_context() -> No {
        unreachable!("only its return type is used")
    }

    /// `T` does not implement `Deserialize`.
    fn deserialize() -> No {
        unreachable!("only its return type is used")
    }

    /// `T` does not implement `JsonSchema`.
    fn json_schema() -> No {
        unreachable!("only its return type is used")
    }
}

impl<T> ProbeFallback for Probe<T> {}

impl<T: DeserializeOwned + Serialize> Probe<T> {
    /// Reads a value and writes it.
    pub const IDENTITY: Option<ValueIdentity> = Some(|text| {
        let value: T = serde_json::from_str(text).ok()?;
        serde_json::to_value(value).ok()
    });
}

impl<T: FromContext> Probe<T> {
    /// `T` implements `FromContext`.
    pub fn from_context() -> Yes {
        unreachable!("only its return type is used")
    }
}

impl<T: AsyncFromContext> Probe<T> {
    /// `T` implements `AsyncFromContext`.
    pub fn async_from_context() -> Yes {
        unreachable!("only its return type is used")
    }
}

impl<T: DeserializeOwned> Probe<T> {
    /// `T` implements `Deserialize`.
    pub fn deserialize() -> Yes {
        unreachable!("only its return type is used")
    }
}

impl<T: JsonSchema> Probe<T> {
    /// `T` implements `JsonSchema`.
    pub fn json_schema() -> Yes {
        unreachable!("only its return type is used")
    }
}

/// Defines the constraints that apply to a type and to an `Option` of that type.
macro_rules! constraints {
    ($($type:ty)* => $constraints:expr) => {$(
        impl Probe<$type> {
            /// The constraints that apply to this type.
            pub const CONSTRAINTS: ApplicableConstraints = $constraints;
        }
        impl Probe<Option<$type>> {
            /// The constraints that apply to this type.
            pub const CONSTRAINTS: ApplicableConstraints = <Probe<$type>>::CONSTRAINTS;
        }
    )*};
}

/// Defines the constraints that apply to integers.
macro_rules! integers {
    ($($type:ty)*) => {$(
        constraints!($type => {
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, reason = "every type listed fits into i128")]
            ApplicableConstraints {
                min: <$type>::MIN as i128,
                max: <$type>::MAX as i128,
                ..NUMBER
            }
        });
    )*};
}

const NUMBER: ApplicableConstraints = ApplicableConstraints {
    length: false,
    text: false,
    items: false,
    ..ApplicableConstraints::ALL
};

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
constraints!(f32 f64 => ApplicableConstraints { header: false, ..NUMBER });
constraints!(bool => ApplicableConstraints { range: false, ..NUMBER });
constraints!(String => ApplicableConstraints {
    range: false,
    items: false,
    ..ApplicableConstraints::ALL
});
constraints!(char => ApplicableConstraints {
    length: false,
    ..<Probe<String>>::CONSTRAINTS
});

/// Defines the reason why a type, an `Option` of it, and a list of it are unsuitable as parameters.
macro_rules! unsuitable {
    ($type:ty: $reason:literal) => {
        unsuitable!(each $reason: $type, Option<$type>, Vec<$type>, Option<Vec<$type>>);
    };
    (each $reason:literal: $($type:ty),*) => {$(
        impl Probe<$type> {
            /// The reason why a model cannot write values of this type.
            pub const SUITABILITY: RuleVerdict = RuleVerdict::wrong(&[$reason]);
        }
    )*};
}

unsuitable!(Duration: "a model would have to write this `Duration` as an object of seconds and nanoseconds; take \
    `mcp_runtime::values::HumanDuration` (feature `duration`) for `90s` or `1h 30m`, or `jiff::SignedDuration` (feature `jiff`)");
unsuitable!(SystemTime: "a model would have to write this `SystemTime` as an object of seconds and nanoseconds; take \
    `jiff::Timestamp` (feature `jiff`) or `chrono::DateTime<chrono::Utc>` (feature `chrono`)");
