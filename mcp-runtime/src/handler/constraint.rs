//! What `#[arg(…)]` can demand of an argument, and which types it makes sense for.

use std::marker::PhantomData;

/// What `#[arg(…)]` demands: in the schema and enforced.
#[derive(Clone, Copy, Debug)]
pub struct Constraints {
    /// The smallest number allowed.
    pub minimum: Option<Bound>,
    /// The largest number allowed.
    pub maximum: Option<Bound>,
    /// The fewest characters of a string, or items of an array.
    pub min_length: Option<u64>,
    /// The most characters of a string, or items of an array.
    pub max_length: Option<u64>,
    /// A regular expression the string matches somewhere.
    pub pattern: Option<&'static str>,
    /// The `format` keyword.
    pub format: Option<&'static str>,
    /// A sample value, as JSON.
    pub example: Option<&'static str>,
    /// What holds for each item of an array.
    pub items: Option<&'static Constraints>,
}

impl Constraints {
    /// Nothing demanded.
    pub const NONE: Self = Self {
        minimum: None,
        maximum: None,
        min_length: None,
        max_length: None,
        pattern: None,
        format: None,
        example: None,
        items: None,
    };
}

/// An end of a range: whole numbers stay exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

/// Asks the compiler whether a constraint suits `T`: inherent constants of known primitives beat those of
/// [`ConstraintFallback`], which allow everything.
#[derive(Debug)]
pub struct Probe<T: ?Sized>(PhantomData<T>);

/// What holds for types the probe does not know; those are checked against their schema at start-up.
pub trait ConstraintFallback {
    /// Whether `range` makes sense.
    const RANGE: bool = true;
    /// Whether `length` makes sense.
    const LENGTH: bool = true;
    /// Whether `pattern` and `format` make sense.
    const TEXT: bool = true;
    /// Whether `items` makes sense.
    const ITEMS: bool = true;
    /// Whether a header can mirror it: a string, a boolean or an integer.
    const HEADER: bool = true;
    /// The smallest value the type can hold.
    const MIN: i128 = i128::MIN;
    /// The largest value the type can hold.
    const MAX: i128 = i128::MAX;
}

impl<T: ?Sized> ConstraintFallback for Probe<T> {}

/// What holds for whole numbers: their ends, and no for all that is about text and lists.
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

/// Says no to these constraints for these types and their `Option`s.
macro_rules! no {
    ($($name:ident)*: $($type:ty)*) => { no!(@each [$($name)*] $($type)*); };
    (@each $names:tt $($type:ty)*) => { $(no!(@impl $names $type); no!(@impl $names Option<$type>);)* };
    (@impl [$($name:ident)*] $type:ty) => {
        impl Probe<$type> {
            $(
                /// It makes no sense for this type.
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
