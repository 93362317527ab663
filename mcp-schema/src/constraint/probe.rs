//! The types that constraints apply to, as far as the compiler knows them.

use std::marker::PhantomData;

/// Asks the compiler whether a constraint applies to `T`: the inherent constants of known primitives take precedence over
/// those of [`ConstraintFallback`], which allow everything.
#[derive(Debug)]
pub struct Probe<T: ?Sized>(PhantomData<T>);

/// The values for types that the probe does not know; these are checked against their schema at start-up.
pub trait ConstraintFallback {
    /// `true` if `range` applies.
    const RANGE: bool = true;
    /// `true` if `length` applies.
    const LENGTH: bool = true;
    /// `true` if `pattern` and `format` apply.
    const TEXT: bool = true;
    /// `true` if `items` applies.
    const ITEMS: bool = true;
    /// `true` if a header can mirror it: a string, a boolean or an integer.
    const HEADER: bool = true;
    /// The smallest value the type can hold.
    const MIN: i128 = i128::MIN;
    /// The largest value the type can hold.
    const MAX: i128 = i128::MAX;
}

impl<T: ?Sized> ConstraintFallback for Probe<T> {}

/// Defines the values for whole numbers: their minimum and maximum, and `false` for everything about strings and lists.
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

/// Defines these constraints as `false` for these types and their `Option`s.
macro_rules! no {
    ($($name:ident)*: $($type:ty)*) => { no!(@each [$($name)*] $($type)*); };
    (@each $names:tt $($type:ty)*) => { $(no!(@impl $names $type); no!(@impl $names Option<$type>);)* };
    (@impl [$($name:ident)*] $type:ty) => {
        impl Probe<$type> {
            $(
                /// It does not apply to this type.
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
