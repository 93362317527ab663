//! Determines at compile time which constraints apply to a type, as far as the compiler can tell.

use std::marker::PhantomData;

/// Determines at compile time whether a constraint applies to `T`. The inherent constants for known primitives take
/// precedence over the constants in [`ConstraintFallback`], which allow everything.
#[derive(Debug)]
pub struct Probe<T: ?Sized>(PhantomData<T>);

/// The defaults for types that the probe does not know. Constraints on these types are checked against the schema at
/// start-up.
pub trait ConstraintFallback {
    /// `true` if `range` applies.
    const RANGE: bool = true;
    /// `true` if `length` applies.
    const LENGTH: bool = true;
    /// `true` if `pattern` and `format` apply.
    const TEXT: bool = true;
    /// `true` if `items` applies.
    const ITEMS: bool = true;
    /// `true` if a header can mirror the value, which must be a string, a boolean or an integer.
    const HEADER: bool = true;
    /// The smallest value the type can hold.
    const MIN: i128 = i128::MIN;
    /// The largest value the type can hold.
    const MAX: i128 = i128::MAX;
}

impl<T: ?Sized> ConstraintFallback for Probe<T> {}

/// Defines the constants for integer types: their minimum and maximum, and `false` for all constraints on strings and
/// lists.
macro_rules! integers {
    ($($type:ty)*) => {$(
        no!(LENGTH TEXT ITEMS: $type);
        impl Probe<$type> {
            /// The smallest value the type can hold.
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, reason = "every type listed fits into i128")]
            pub const MIN: i128 = <$type>::MIN as i128;
            /// The largest value the type can hold.
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, reason = "every type listed fits into i128")]
            pub const MAX: i128 = <$type>::MAX as i128;
        }
        impl Probe<Option<$type>> {
            /// The smallest value the type can hold.
            pub const MIN: i128 = <Probe<$type>>::MIN;
            /// The largest value the type can hold.
            pub const MAX: i128 = <Probe<$type>>::MAX;
        }
    )*};
}

/// Defines the given constants as `false` for the given types and their `Option`s.
macro_rules! no {
    ($($name:ident)*: $($type:ty)*) => { no!(@each [$($name)*] $($type)*); };
    (@each $names:tt $($type:ty)*) => { $(no!(@impl $names $type); no!(@impl $names Option<$type>);)* };
    (@impl [$($name:ident)*] $type:ty) => {
        impl Probe<$type> {
            $(
                /// `false`, because the constraint does not apply to this type.
                pub const $name: bool = false;
            )*
        }
    };
}

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
no!(LENGTH TEXT ITEMS HEADER: f32 f64);
no!(RANGE ITEMS: String);
no!(RANGE LENGTH TEXT ITEMS: bool);
no!(RANGE LENGTH ITEMS: char);
