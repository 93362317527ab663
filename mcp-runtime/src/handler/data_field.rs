//! The types of fields in `#[data]` types. Used only for the compiler's error message.
//!
//! The derives of serde and schemars have further requirements, but their errors tell authors to derive traits from
//! crates on which they may not depend.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;

use schemars::JsonSchema;

use crate::handler::probe::{No, Yes};

/// A type that is allowed for fields of a `#[data]` type.
///
/// `HasSchema` is [`Yes`] or [`No`], as determined by a [`Probe`](crate::handler::probe::Probe).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used in a field of a `#[data]` type",
    label = "put `#[data]` on `{Self}` as well",
    note = "your own type: put `#[data]` on it (or derive the serde and schemars traits)",
    note = "another crate's type: enable the `chrono` (0.4), `decimal` (`rust_decimal` 1), `jiff` (0.2), `url` (2) or `uuid` (1) feature of `mcp-runtime`, for types of that version of the crate, or put `#[schemars(with = \"String\")]` on the field if the type implements the serde traits"
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

/// Determines whether a field's type has a schema, given the function of the type's
/// [`Probe`](crate::handler::probe::Probe).
#[must_use]
pub const fn data_field<HasSchema>(_: fn() -> HasSchema) -> FieldSchema<HasSchema> {
    FieldSchema(PhantomData)
}

impl<HasSchema> FieldSchema<HasSchema> {
    /// Requires the type to be suitable. At this point, the compiler knows whether the type has a schema.
    pub const fn check<T: DataField<HasSchema>>(self) {
        let _ = self.0;
    }
}
