//! The Rust types that are known to accept exactly what their schema allows.

use std::any::TypeId;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::handler::safe_path::SafePath;

/// Returns `true` if every value that a type decodes from JSON matches its schema, so that no further checks are
/// needed. This is the case for numbers, strings and similar types, and for options, lists and maps of these.
///
/// This is called once for each parameter at start-up. For all other types, the result is `false`, because the values
/// that they accept depend on their implementations of the serde and schemars traits.
pub(crate) fn is_exact(id: TypeId) -> bool {
    macro_rules! any {
        ($($type:ty)*) => { false $(|| among::<$type>(id))* };
    }
    any!(
        bool char String PathBuf SafePath i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64
    )
}

fn among<T: 'static>(id: TypeId) -> bool {
    [
        TypeId::of::<T>(),
        TypeId::of::<Option<T>>(),
        TypeId::of::<Vec<T>>(),
        TypeId::of::<Option<Vec<T>>>(),
        TypeId::of::<HashMap<String, T>>(),
        TypeId::of::<Option<HashMap<String, T>>>(),
        TypeId::of::<BTreeMap<String, T>>(),
        TypeId::of::<Option<BTreeMap<String, T>>>(),
    ]
    .contains(&id)
}
