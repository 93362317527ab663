//! The types of fields in `#[data]` types, for the compiler's error message only.
//!
//! The derives of serde and schemars require more, but their errors tell authors to derive traits of crates that they may
//! not depend on.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;

use schemars::JsonSchema;

use crate::handler::probe::{No, Yes};

/// A type that a field of a `#[data]` type can have.
///
/// `HasSchema` is [`Yes`] or [`No`], as determined by a [`Probe`](crate::handler::probe::Probe).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a field of a `#[data]` type",
    label = "put `#[data]` on `{Self}` as well",
    note = "a type of your own: put `#[data]` on it (or derive the traits of serde and schemars)",
    note = "another crate's type: enable the feature `chrono`, `decimal`, `jiff`, `url` or `uuid` of `mcp-runtime`, or put `#[schemars(with = \"String\")]` on the field if the type implements serde's traits"
)]
pub trait DataField<HasSchema> {}

impl<T: JsonSchema + ?Sized> DataField<Yes> for T {}

// Implemented for containers whose contents have no schema, so that the compiler's error names the contents.
impl<T: DataField<No>> DataField<No> for Vec<T> {}
impl<T: DataField<No>> DataField<No> for Option<T> {}
impl<T: DataField<No>> DataField<No> for Box<T> {}
impl<T: DataField<No>, const N: usize> DataField<No> for [T; N] {}
impl<K, T: DataField<No>, S> DataField<No> for HashMap<K, T, S> {}
impl<K, T: DataField<No>> DataField<No> for BTreeMap<K, T> {}

/// The compiler's answer for the type of a field: [`Yes`] if it has a schema, otherwise [`No`].
#[derive(Debug)]
pub struct FieldSchema<HasSchema>(PhantomData<fn() -> HasSchema>);

/// Determines whether a field's type has a schema, given the function of its [`Probe`](crate::handler::probe::Probe).
#[must_use]
pub const fn data_field<HasSchema>(_: fn() -> HasSchema) -> FieldSchema<HasSchema> {
    FieldSchema(PhantomData)
}

impl<HasSchema> FieldSchema<HasSchema> {
    /// Requires the type to be suitable. At this point, the compiler knows whether it has a schema.
    pub const fn check<T: DataField<HasSchema>>(self) {
        let _ = self.0;
    }
}
