//! Which Rust types are known to take exactly what their schema says.

use std::any::TypeId;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::handler::safe_path::SafePath;

/// Whether every value that a type takes from JSON fits the schema it has, so that nothing more need be enforced: numbers, texts and
/// the like, and options, lists and maps of them.
///
/// It is asked once for each parameter, at start-up. Of other types nothing is known: what serde takes and what schemars says is up
/// to their authors.
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
